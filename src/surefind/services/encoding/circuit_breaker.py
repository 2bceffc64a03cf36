"""A circuit breaker: what fails again and again is left alone for a while.

Callers are told at once instead of waiting for one more failure, and what fails gets the time to
recover. After the pause one call goes through: it decides for all.
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
    IndexStore,
    IndexWriter,
    Matrix,
    ReadBytes,
    Reranker,
    SparseQuery,
    StoreFacts,
    Vector,
    VectorIndex,
    VerifiedFiles,
)

FAILURES = 5
PAUSE_S = 10.0
KNOWN_S = 60.0
"""For so long the last failure says something about now."""


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    def __init__(
        self,
        what: str,
        failures: int = FAILURES,
        pause_s: float = PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._most = failures
        self._pause_s = pause_s
        self._clock = clock
        self._failures = 0
        self._last = ""
        self._opened_at = 0.0
        self._probing = False

    @property
    def circuit(self) -> Circuit:
        if self._failures < self._most:
            return Circuit.CLOSED
        return Circuit.OPEN if self._left_s > 0 or self._probing else Circuit.HALF_OPEN

    @property
    def failing(self) -> bool:
        """The last call failed, and not long ago.

        Where nobody calls any more, since a load balancer acts on it, it must not stay so for ever.
        """
        return self._failures > 0 and self._clock() < self._opened_at + KNOWN_S

    def watching(self, kind: type[SurefindError]) -> "_Watch":
        """Errors of that kind count; while the circuit is open, one is raised at once."""
        return _Watch(self, kind)

    def enter(self, kind: type[SurefindError]) -> bool:
        """Whether this call is the one that decides for all."""
        circuit = self.circuit
        if circuit is Circuit.OPEN:
            raise self._refusal(kind)
        probing = circuit is Circuit.HALF_OPEN
        self._probing = self._probing or probing
        return probing

    def leave(
        self, error: BaseException | None, kind: type[SurefindError], *, probing: bool
    ) -> None:
        if error is None:
            self._failures = 0
        elif isinstance(error, kind):
            self._failures += 1
            self._last = str(error)
            self._opened_at = self._clock()
        if probing:  # also when it was given up: then the next one decides
            self._probing = False

    @property
    def _left_s(self) -> float:
        return self._opened_at + self._pause_s - self._clock()

    def _refusal(self, kind: type[SurefindError]) -> SurefindError:
        wait_s = max(1, math.ceil(self._left_s))
        error = kind(
            f"{self._what} failed {self._failures} times in a row; it is left alone for {wait_s} s."
            f" The last time: {self._last}"
        )
        error.retry_after_s = wait_s
        return error


class _Watch:
    """One call under the eyes of a breaker. A class, since every search has several."""

    __slots__ = ("_breaker", "_kind", "_probing")

    def __init__(self, breaker: CircuitBreaker, kind: type[SurefindError]) -> None:
        self._breaker = breaker
        self._kind = kind
        self._probing = False

    def __enter__(self) -> None:
        self._probing = self._breaker.enter(self._kind)

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._breaker.leave(error, self._kind, probing=self._probing)


class BreakingEmbedder:
    """An embedder behind a breaker."""

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
        return await self._embedder.embed_passages(passages)  # an ingest has retries of its own

    async def embed_query(self, query: str) -> Vector:
        with self._breaker.watching(EmbeddingError):
            return await self._embedder.embed_query(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        with self._breaker.watching(EmbeddingError):
            return await self._embedder.embed_queries(queries)

    async def close(self) -> None:
        await self._embedder.close()


class BreakingReranker:
    """A reranker behind a breaker."""

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
    """An index that is open for reading, behind a breaker."""

    def __init__(self, index: VectorIndex, breaker: CircuitBreaker) -> None:
        self._index = index
        self._breaker = breaker

    def number(self, point_id: UUID) -> int:
        return self._index.number(point_id)

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        return await self._index.point_ids(numbers)

    async def search(self, leg_queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        with self._breaker.watching(StoreError):
            return await self._index.search(leg_queries)

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


class BreakingIndexStore:
    """Each generation has a breaker of its own: a broken one does not keep the next one away."""

    def __init__(
        self, store: IndexStore, breaker: Callable[[GenerationRef], CircuitBreaker]
    ) -> None:
        self._store = store
        self._breaker = breaker
        self._latest: tuple[GenerationRef, CircuitBreaker] | None = None

    async def open(self, ref: GenerationRef) -> VectorIndex:
        if self._latest is None or self._latest[0] != ref:
            self._latest = (ref, self._breaker(ref))
        breaker = self._latest[1]
        with breaker.watching(StoreError):
            return BreakingIndex(await self._store.open(ref), breaker)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return await self._store.verify(ref, read)

    async def facts(self) -> StoreFacts:
        return await self._store.facts()

    async def held(self) -> list[GenerationRef]:
        return await self._store.held()

    async def require_room(self, points: int, dimensions: int) -> None:
        await self._store.require_room(points, dimensions)

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter:
        return await self._store.create(ref, dimensions, copy_of)

    async def drop(self, ref: GenerationRef) -> None:
        await self._store.drop(ref)

    async def published(self, ref: GenerationRef) -> None:
        await self._store.published(ref)

    async def close(self) -> None:
        await self._store.close()
