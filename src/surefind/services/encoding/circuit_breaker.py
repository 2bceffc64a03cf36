"""A circuit breaker, which stops calling a failing service for a while.

Callers get an immediate error instead of waiting for another failure, and the service gets time to
recover. After the pause, one trial call decides whether the circuit closes.

Only remote services have a breaker: embedders, rerankers and Qdrant servers.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from uuid import UUID

from surefind.errors import EmbeddingError, RerankingError, StoreError, SurefindError
from surefind.model import ChunkRecord, EmbedderFingerprint, GenerationRef, Ranking
from surefind.ports import (
    DenseQuery,
    EmbeddedQuery,
    Embedder,
    Matrix,
    OpensIndex,
    Reranker,
    SparseQuery,
    Vector,
    VectorIndex,
)

FAILURES = 5
PAUSE_S = 10.0
RECENT_S = 60.0
"""How long `failing` reports a failure."""


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    def __init__(
        self,
        service: str,
        failures: int = FAILURES,
        pause_s: float = PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The circuit opens after this number of `failures` in a row."""
        self._service = service
        self._max_failures = failures
        self._pause_s = pause_s
        self._clock = clock
        self._failures = 0
        self._last_error = ""
        self._failed_at = 0.0
        self._trying = False

    @property
    def circuit(self) -> Circuit:
        if self._failures < self._max_failures:
            return Circuit.CLOSED
        return Circuit.OPEN if self._left_s > 0 or self._trying else Circuit.HALF_OPEN

    @property
    def failing(self) -> bool:
        """Whether the last call failed within the last minute.

        For health checks. It expires, because a node that a load balancer has removed gets no calls
        that could succeed.
        """
        return self._failures > 0 and self._clock() < self._failed_at + RECENT_S

    def watching(self, kind: type[SurefindError]) -> "_WatchedCall":
        """Count errors of this kind; while the circuit is open, raise one immediately."""
        return _WatchedCall(self, kind)

    def enter(self, kind: type[SurefindError]) -> bool:
        """Whether this is the trial call."""
        circuit = self.circuit
        if circuit is Circuit.OPEN:
            raise self._refusal(kind)
        trying = circuit is Circuit.HALF_OPEN
        self._trying = self._trying or trying
        return trying

    def leave(
        self, error: BaseException | None, kind: type[SurefindError], *, trying: bool
    ) -> None:
        if error is None:
            self._failures = 0
        elif isinstance(error, kind):
            self._failures += 1
            self._last_error = str(error)
            self._failed_at = self._clock()
        if trying:  # after a cancelled trial, the next call is the trial
            self._trying = False

    @property
    def _left_s(self) -> float:
        return self._failed_at + self._pause_s - self._clock()

    def _refusal(self, kind: type[SurefindError]) -> SurefindError:
        wait_s = max(1, math.ceil(self._left_s))
        error = kind(
            f"{self._service} failed {self._failures} times in a row; retrying in "
            f"{wait_s} s. Last error: {self._last_error}"
        )
        error.retry_after_s = wait_s
        return error


class _WatchedCall:
    """A class instead of a generator, because it is faster and every search needs several."""

    __slots__ = ("_breaker", "_kind", "_trying")

    def __init__(self, breaker: CircuitBreaker, kind: type[SurefindError]) -> None:
        self._breaker = breaker
        self._kind = kind
        self._trying = False

    def __enter__(self) -> None:
        self._trying = self._breaker.enter(self._kind)

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._breaker.leave(error, self._kind, trying=self._trying)


class BreakingEmbedder:
    def __init__(self, embedder: Embedder, breaker: CircuitBreaker) -> None:
        self._embedder = embedder
        self._breaker = breaker

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return self._embedder.fingerprint

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    def count_tokens(self, passage: str) -> int:
        return self._embedder.count_tokens(passage)

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        return await self._embedder.embed_passages(passages)  # ingest has its own retries

    async def embed_query(self, query: str) -> Vector:
        with self._breaker.watching(EmbeddingError):
            return await self._embedder.embed_query(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        with self._breaker.watching(EmbeddingError):
            return await self._embedder.embed_queries(queries)

    async def close(self) -> None:
        await self._embedder.close()


class BreakingReranker:
    def __init__(self, reranker: Reranker, breaker: CircuitBreaker) -> None:
        self._reranker = reranker
        self._breaker = breaker

    @property
    def name(self) -> str:
        return self._reranker.name

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        with self._breaker.watching(RerankingError):
            return await self._reranker.rerank(query, passages)

    async def close(self) -> None:
        await self._reranker.close()


class BreakingIndex:
    def __init__(self, index: VectorIndex, breaker: CircuitBreaker) -> None:
        self._index = index
        self._breaker = breaker

    def number(self, point_id: UUID) -> int:
        return self._index.number(point_id)

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        return await self._index.point_ids(numbers)

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        with self._breaker.watching(StoreError):
            return await self._index.search(queries)

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        with self._breaker.watching(StoreError):
            return await self._index.payloads(point_ids)

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        with self._breaker.watching(StoreError):
            return await self._index.vectors(point_ids)

    async def count(self) -> int:
        with self._breaker.watching(StoreError):
            return await self._index.count()

    async def indexed(self) -> int:
        with self._breaker.watching(StoreError):
            return await self._index.indexed()

    async def close(self) -> None:
        await self._index.close()


class BreakingIndexes:
    """Opens remote indexes behind circuit breakers, and local ones directly.

    Each generation has its own breaker, so a broken one does not block the next.
    """

    def __init__(
        self,
        indexes: OpensIndex,
        is_remote: Callable[[GenerationRef], bool],
        new_breaker: Callable[[GenerationRef], CircuitBreaker],
    ) -> None:
        self._indexes = indexes
        self._is_remote = is_remote
        self._new_breaker = new_breaker
        self._latest: dict[str, tuple[GenerationRef, CircuitBreaker]] = {}

    async def open(self, ref: GenerationRef) -> VectorIndex:
        if not self._is_remote(ref):
            return await self._indexes.open(ref)
        latest = self._latest.get(ref.collection)
        if latest is None or latest[0] != ref:
            latest = self._latest[ref.collection] = (ref, self._new_breaker(ref))
        breaker = latest[1]
        with breaker.watching(StoreError):
            return BreakingIndex(await self._indexes.open(ref), breaker)
