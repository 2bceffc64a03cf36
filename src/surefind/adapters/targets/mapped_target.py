"""A target whose answers are read by a mapping, with bounded concurrency, retries and a pace."""

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol

from surefind.adapters.remote_calls import AdaptiveLimiter, AttemptFailed, RetryPolicy
from surefind.errors import TargetError, TargetUnreachable
from surefind.mapping.result_inference import ResultInference, infer_results
from surefind.mapping.results import check_paths, results_of
from surefind.model import (
    AnswerForm,
    JsonValue,
    ResultMapping,
    Role,
    TargetAnswer,
    TargetQuery,
    TargetSpec,
)
from surefind.ports import Notify

SAMPLES = 3
"""How many questions are asked in advance if the mapping has to be inferred."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_LONGEST_WAIT_S = 60.0
_IDENTITIES = {Role.URL, Role.SOURCE_PATH, Role.ID, Role.DOCUMENT, Role.TITLE, Role.TEXT}


class TargetWire(Protocol):
    """One kind of connection. `is_timed` is false if its answers were made elsewhere."""

    takes_limit: bool
    is_timed: bool

    async def ask(self, query: TargetQuery) -> JsonValue:
        """One attempt. Raise AttemptFailed without an answer, TargetError for a wrong one."""
        ...


class MappedTarget:
    takes_filters = False

    def __init__(self, spec: TargetSpec, wire: TargetWire, notify: Notify) -> None:
        if spec.results is not None:
            check_paths(spec.results)
        self.name = spec.label
        self.takes_limit = wire.takes_limit
        self.mapping: ResultMapping | None = spec.results if _is_whole(spec.results) else None
        self._spec = spec
        self._wire = wire
        policy = RetryPolicy(
            spec.retries + 1,
            _FIRST_PAUSE_S,
            _LONGEST_PAUSE_S,
            _LONGEST_WAIT_S,
            concurrency=spec.concurrency,
        )
        self._calls = AdaptiveLimiter(self.name, policy, notify)
        self._pace = _Pace(spec.requests_per_second)

    async def infer(self, queries: Sequence[TargetQuery]) -> ResultInference | None:
        """Infer the mapping from the answers to a few questions, unless it is known."""
        if self.mapping is not None:
            return None
        try:
            inference = infer_results(await self._samples(queries), self._spec.results)
        except TargetError as error:
            raise type(error)(f"{self.name}: {error}") from error
        self.mapping = inference.mapping
        return inference

    async def _samples(self, queries: Sequence[TargetQuery]) -> list[JsonValue]:
        """A few answers; some questions may fail, but not all of the first ones."""
        answers: list[JsonValue] = []
        failure = TargetError("there are no questions to learn its answers from")
        for query in queries[: 2 * SAMPLES]:
            try:
                answers.append((await self._answer(query))[0])
            except TargetUnreachable:
                raise
            except TargetError as error:
                failure = error
            if len(answers) == SAMPLES:
                break
        if not answers:
            raise failure
        return answers

    async def search(self, query: TargetQuery) -> TargetAnswer:
        if self.mapping is None:
            await self.infer([query])
        assert self.mapping is not None
        answer, took_ms = await self._answer(query)
        hits = results_of(answer, self.mapping)
        return TargetAnswer(hits, took_ms if self._wire.is_timed else None)

    async def _answer(self, query: TargetQuery) -> tuple[JsonValue, float]:
        try:
            return await self._calls.call(lambda: self._attempt(query))
        except AttemptFailed as failure:
            tried = f"; tried {failure.tries} times" if failure.tries > 1 else ""
            raise TargetUnreachable(f"{failure.reason}{tried}") from failure

    async def _attempt(self, query: TargetQuery) -> tuple[JsonValue, float]:
        await self._pace.wait()
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._spec.timeout_s):
                answer = await self._wire.ask(query)
        except TimeoutError as error:
            raise AttemptFailed(f"no answer within {self._spec.timeout_s:g} s") from error
        return answer, 1000 * (time.perf_counter() - began)


def _is_whole(mapping: ResultMapping | None) -> bool:
    """Whether nothing has to be inferred."""
    if mapping is None:
        return False
    if mapping.form is AnswerForm.TEXT:
        return True
    return mapping.items is not None and bool(_IDENTITIES & mapping.keys.keys())


class _Pace:
    """Limits the requests that start per second; None for no limit."""

    def __init__(self, requests_per_second: float | None) -> None:
        self._gap_s = 0.0 if requests_per_second is None else 1 / requests_per_second
        self._next = 0.0

    async def wait(self) -> None:
        if not self._gap_s:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._gap_s
        if start > now:
            await asyncio.sleep(start - now)
