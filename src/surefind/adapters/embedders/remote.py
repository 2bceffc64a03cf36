"""Embedders that call a remote service, except for the wire format.

A provider consists of a `Wire` and a `RemoteModel`. Batching, pacing, retries, response checks and
error messages are shared and live here.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from surefind.adapters.embedders import token_estimate
from surefind.adapters.remote_calls import AdaptiveLimiter, AttemptFailed, CallPolicy, all_or_none
from surefind.errors import EmbeddingError, InputError
from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddedQuery, Matrix, Vector

InputType = Literal["passage", "query"]
_BLANK = "."  # services reject blank texts; passages are never blank, but queries can be


class Wire(Protocol):
    """The wire format of one provider."""

    async def embed(self, texts: Sequence[str], input_type: InputType) -> object:
        """Rows of numbers as received, in order; AttemptFailed if there are none."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The user's settings for the model; None means the provider's default."""

    name: str | None = None
    dimensions: int | None = None
    max_tokens: int | None = None
    batch_size: int | None = None


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """`service` and `key_setting` name the provider and its API key in messages.

    `cuts` is true if the service truncates long texts; otherwise they are truncated before sending.
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
        self._reported_truncation = False

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
        """A high estimate, because the model's tokenizer is not available locally."""
        return token_estimate.count(passage)

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        if not passages:
            return np.empty((0, self.fingerprint.dimensions), dtype=np.float32)
        size = self.batch_size
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        rows = await all_or_none(self._embed(self._passages, one, "passage") for one in batches)
        return np.concatenate(rows)

    async def embed_query(self, query: str) -> Vector:
        """Concurrent queries are batched into one call."""
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
        """Each query is reported with the duration of its whole call."""
        embedded: list[EmbeddedQuery] = []
        for start in range(0, len(queries), self.batch_size):
            batch = queries[start : start + self.batch_size]
            rows, took_ms = await self._called(self._queries, batch, "query")
            embedded += [EmbeddedQuery(row, took_ms) for row in rows]
        return embedded

    async def close(self) -> None:
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self._wire.close()

    # --- questions ----------------------------------------------------------------------------

    async def _ask_waiting(self) -> None:
        await asyncio.sleep(0)  # let concurrent callers add their queries
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
        except Exception as error:  # noqa: BLE001 - every kind is passed on to the callers
            if len(queries) > 1 and _may_be_of_one(error):  # retry one by one
                await asyncio.gather(*(self._answer([query], waiting) for query in queries))
                return
            for query in queries:
                waiting[query].set_exception(error)
                waiting[query].exception()  # mark as retrieved: the caller may be gone
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
        """The answer and the milliseconds of the successful attempt."""
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
        whole = text.encode("utf-8", "replace").decode()  # lone surrogates are invalid in JSON
        if not whole.strip():
            return _BLANK
        tokens = self.count_tokens(whole)
        if tokens <= self.max_tokens:
            return whole
        if not self._reported_truncation:
            self._reported_truncation = True
            self._notify(
                f"a text of about {tokens} tokens exceeds the limit of {self.max_tokens} of "
                f"{self.fingerprint.model}; the rest is not embedded (reported once)"
            )
        return whole if self._model.cuts else token_estimate.cut(whole, self.max_tokens)


def _may_be_of_one(error: Exception) -> bool:
    cause = error.__cause__
    return isinstance(cause, AttemptFailed) and not (cause.may_pass or cause.is_about_the_key)


def sendable_key(key: str, setting: str) -> str:
    """The key without surrounding white space; InputError if it can't be sent."""
    stripped = key.strip()
    if not (stripped.isascii() and stripped.isprintable() and stripped):
        raise InputError(f"{setting} is empty or has invalid characters; set it to an API key")
    return stripped


def explained(failure: AttemptFailed, service: str, key_setting: str) -> str:
    """A message with the service, the reason and the next step."""
    if failure.is_about_the_key:
        return (
            f"{service} rejected the API key ({failure.status}); check {key_setting} in the "
            "environment or in .env"
        )
    if failure.may_pass:
        times = "once" if failure.tries == 1 else f"{failure.tries} times"
        return (
            f"{service} failed {times}; the last error was: {failure.reason}. "
            "Try again later; finished embeddings are cached"
        )
    return f"{service} rejected the request: {failure.reason}"


def checked_size(rows: object, service: str) -> int:
    """The dimensions of the single vector in a response."""
    first = rows[0] if isinstance(rows, list) and rows else None
    size = len(first) if isinstance(first, list) else 0
    checked(rows, 1, max(1, size), service)
    return size


def checked(rows: object, count: int, dimensions: int, service: str) -> Matrix:
    """Check and normalize the rows; EmbeddingError if they would corrupt an index."""
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{service} did not return vectors; check embed_url") from error
    if matrix.ndim != 2:
        raise EmbeddingError(f"{service} did not return a list of vectors; check embed_url")
    if len(matrix) != count:
        raise EmbeddingError(f"{service} returned {len(matrix)} vectors for {count} texts")
    if matrix.shape[1] != dimensions:
        raise EmbeddingError(
            f"{service} returned vectors of {matrix.shape[1]} dimensions instead of {dimensions}; "
            "check the settings embed_model and embed_dimensions"
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbeddingError(f"{service} returned a vector that is zero or not finite")
    unit: Matrix = (matrix / lengths).astype(np.float32)
    return unit
