"""An embedder whose model runs elsewhere: everything but the words on the wire.

A provider is a `Wire` and a `RemoteModel`. Batches, pacing, retries, the checks of what comes back
and the messages about what does not are the same for all of them, and live here.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from surefind.adapters.embedders import token_estimate
from surefind.adapters.remote_calls import AdaptiveLimiter, AttemptFailed, CallPolicy
from surefind.errors import EmbeddingError, InputError
from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddedQuery, Matrix, Vector

InputType = Literal["passage", "query"]
_BLANK = "."  # services refuse a text without a word; a passage is never blank, but may be asked


class Wire(Protocol):
    """What one provider says and hears."""

    async def embed(self, texts: Sequence[str], input_type: InputType) -> object:
        """Rows of numbers as they came, in order; AttemptFailed where there are none."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a user says of the model; None where the provider's own facts will do."""

    name: str | None = None
    dimensions: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """`service` and `key_setting` are what messages call the provider and its key.

    `cuts` says that the service cuts what is too long; otherwise it is cut before it is sent.
    """

    service: str
    key_setting: str
    fingerprint: EmbedderFingerprint
    max_tokens: int
    batch_size: int
    cuts: bool


class RemoteEmbedder:
    def __init__(self, model: RemoteModel, wire: Wire, policy: CallPolicy) -> None:
        self._model = model
        self._wire = wire
        self._notify = policy.notify
        self._passages = AdaptiveLimiter(model.service, policy.ingesting, policy.notify)
        self._queries = AdaptiveLimiter(model.service, policy.searching, policy.notify)
        self._waiting: dict[str, asyncio.Future[Vector]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._told_of_cutting = False

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return self._model.fingerprint

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    @property
    def batch_size(self) -> int:
        return self._model.batch_size

    def count_tokens(self, passage: str) -> int:
        """An estimate, and rather too many: the model's own tokenizer is not here."""
        return token_estimate.count(passage)

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        if not passages:
            return np.empty((0, self.fingerprint.dimensions), dtype=np.float32)
        size = self.batch_size
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        asked = [
            asyncio.ensure_future(self._embed(self._passages, batch, "passage"))
            for batch in batches
        ]
        try:
            return np.concatenate(await asyncio.gather(*asked))
        finally:
            for one in asked:
                one.cancel()

    async def embed_query(self, query: str) -> Vector:
        """Questions that are asked at the same moment go out together, in one call."""
        answer = self._waiting.get(query)
        if answer is None:
            answer = asyncio.get_running_loop().create_future()
            self._waiting[query] = answer
            if len(self._waiting) == 1:
                task = asyncio.ensure_future(self._ask_waiting())
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
        return await asyncio.shield(answer)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        """A call takes what it takes, for one question as for many."""
        told: list[EmbeddedQuery] = []
        for start in range(0, len(queries), self.batch_size):
            batch = queries[start : start + self.batch_size]
            rows, took_ms = await self._called(self._queries, batch, "query")
            told += [EmbeddedQuery(row, took_ms) for row in rows]
        return told

    async def close(self) -> None:
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self._wire.close()

    # --- questions ----------------------------------------------------------------------------

    async def _ask_waiting(self) -> None:
        await asyncio.sleep(0)  # the others of this moment
        waiting, self._waiting = self._waiting, {}
        queries, size = list(waiting), self.batch_size
        try:
            await asyncio.gather(
                *(
                    self._answer(queries[start : start + size], waiting)
                    for start in range(0, len(queries), size)
                )
            )
        finally:
            for answer in waiting.values():
                answer.cancel()

    async def _answer(
        self, queries: Sequence[str], waiting: dict[str, "asyncio.Future[Vector]"]
    ) -> None:
        try:
            rows = await self._embed(self._queries, queries, "query")
        except Exception as error:  # noqa: BLE001 - of any kind: whoever asked is to hear of it
            if len(queries) > 1 and _may_be_of_one(error):  # which is not the fault of the others
                await asyncio.gather(*(self._answer([query], waiting) for query in queries))
                return
            for query in queries:
                waiting[query].set_exception(error)
                waiting[query].exception()  # seen: whoever asked may have gone
        else:
            for query, row in zip(queries, rows, strict=True):
                waiting[query].set_result(row)

    # --- one call -----------------------------------------------------------------------------

    async def _embed(
        self, calls: AdaptiveLimiter, texts: Sequence[str], input_type: InputType
    ) -> Matrix:
        rows, _ = await self._called(calls, texts, input_type)
        return rows

    async def _called(
        self, calls: AdaptiveLimiter, texts: Sequence[str], input_type: InputType
    ) -> tuple[Matrix, float]:
        """With the milliseconds of the call that was answered, not of those before it."""
        sent = [self._sendable(text) for text in texts]
        begun = 0.0

        async def attempt() -> object:
            nonlocal begun
            begun = time.perf_counter()
            return await self._wire.embed(sent, input_type)

        try:
            rows = await calls.call(attempt)
        except AttemptFailed as failure:
            raise EmbeddingError(
                explained(failure, self._model.service, self._model.key_setting)
            ) from failure
        took_ms = (time.perf_counter() - begun) * 1000
        return checked(rows, len(sent), self.fingerprint.dimensions, self._model.service), took_ms

    def _sendable(self, text: str) -> str:
        whole = text.encode("utf-8", "replace").decode()  # half a character is none to others
        if not whole.strip():
            return _BLANK
        tokens = self.count_tokens(whole)
        if tokens <= self.max_tokens:
            return whole
        if not self._told_of_cutting:
            self._told_of_cutting = True
            self._notify(
                f"a text of about {tokens} tokens is longer than the {self.max_tokens} that "
                f"{self.fingerprint.model} reads: its end is not embedded (said once)"
            )
        return whole if self._model.cuts else token_estimate.cut(whole, self.max_tokens)


def _may_be_of_one(error: Exception) -> bool:
    cause = error.__cause__
    return isinstance(cause, AttemptFailed) and not (cause.may_pass or cause.is_about_the_key)


def sendable_key(key: str, setting: str) -> str:
    """A key that came with white space around it is the same key."""
    stripped = key.strip()
    if not (stripped.isascii() and stripped.isprintable() and stripped):
        raise InputError(f"{setting}: it is empty, or has characters that no key has")
    return stripped


def explained(failure: AttemptFailed, service: str, key_setting: str) -> str:
    """A sentence for a person: the thing, the reason, the next step."""
    if failure.is_about_the_key:
        return (
            f"{service} refuses the key ({failure.status}): check {key_setting}, in the "
            "environment or in .env"
        )
    if failure.may_pass:
        times = "once" if failure.tries == 1 else f"{failure.tries} times"
        return (
            f"{service} failed {times}, the last time with: {failure.reason}. "
            "Try again later; what was embedded before is kept"
        )
    return f"{service} refuses the request: {failure.reason}"


def checked_size(rows: object, service: str) -> int:
    """The dimensions of the one vector in an answer."""
    first = rows[0] if isinstance(rows, list) and rows else None
    size = len(first) if isinstance(first, list) else 0
    checked(rows, 1, max(1, size), service)
    return size


def checked(rows: object, count: int, dimensions: int, service: str) -> Matrix:
    """Unit rows; EmbeddingError for what would poison an index."""
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{service} answered with something that is no vectors") from error
    if matrix.ndim != 2:
        raise EmbeddingError(f"{service} answered with something that is no list of vectors")
    if len(matrix) != count:
        raise EmbeddingError(f"{service} answered with {len(matrix)} vectors for {count} texts")
    if matrix.shape[1] != dimensions:
        raise EmbeddingError(
            f"{service} answered with vectors of {matrix.shape[1]} dimensions, {dimensions} were "
            "expected; check the settings embed_model and embed_dimensions"
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbeddingError(f"{service} answered with a vector that is not finite, or zero")
    unit: Matrix = (matrix / lengths).astype(np.float32)
    return unit
