"""Any index with added faults: it fails after some calls, loses results, or writes wrong data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from surefind.errors import StoreError
from surefind.model import ChunkRecord, GenerationRef, Ranking, Replication
from surefind.ports import (
    DenseQuery,
    IndexStore,
    IndexWriter,
    Matrix,
    ReadBytes,
    SparseQuery,
    StoreFacts,
    VectorIndex,
    VerifiedFiles,
)

Probes = Sequence[DenseQuery | SparseQuery]


@dataclass
class FaultyIndexStore:
    """`left` is the number of calls that still succeed; None for all.

    `loses` selects the points that approximate searches miss; exact ones find them. If it is set,
    all vectors count as indexed. `written_by` wraps the writer of each new generation.
    """

    inner: IndexStore
    left: int | None = None
    loses: Callable[[int], bool] | None = None
    written_by: Callable[[IndexWriter], IndexWriter] | None = None
    uncountable: bool = False
    opened: list[GenerationRef] = field(default_factory=list)

    def call(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise StoreError("the index is unavailable")

    async def facts(self) -> StoreFacts:
        self.call()
        return await self.inner.facts()

    async def held(self) -> list[GenerationRef]:
        self.call()
        return await self.inner.held()

    async def require_room(self, points: int, dimensions: int) -> None:
        await self.inner.require_room(points, dimensions)

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter:
        writer = await self.inner.create(ref, dimensions, copy_of)
        return writer if self.written_by is None else self.written_by(writer)

    async def open(self, ref: GenerationRef) -> VectorIndex:
        self.opened.append(ref)
        return FaultyIndex(await self.inner.open(ref), self)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return await self.inner.verify(ref, read)

    async def replication(self, ref: GenerationRef) -> Replication | None:
        return await self.inner.replication(ref)

    async def published(self, ref: GenerationRef) -> None:
        await self.inner.published(ref)

    async def drop(self, ref: GenerationRef) -> None:
        await self.inner.drop(ref)

    async def close(self) -> None:
        await self.inner.close()


class FaultyIndex:
    def __init__(self, inner: VectorIndex, store: FaultyIndexStore) -> None:
        self._inner = inner
        self._store = store

    def number(self, point_id: UUID) -> int:
        return self._inner.number(point_id)

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        self._store.call()
        return await self._inner.point_ids(numbers)

    async def search(self, queries: Probes) -> list[Ranking]:
        self._store.call()
        rankings = await self._inner.search(queries)
        return [self._lossy(*pair) for pair in zip(queries, rankings, strict=True)]

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        self._store.call()
        return await self._inner.payloads(point_ids)

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        self._store.call()
        return await self._inner.vectors(point_ids)

    async def count(self) -> int:
        if self._store.uncountable:
            raise StoreError("the index is unavailable")
        return await self._inner.count()

    async def indexed(self) -> int:
        return await self._inner.indexed() if self._store.loses is None else await self.count()

    async def close(self) -> None:
        await self._inner.close()

    def _lossy(self, query: DenseQuery | SparseQuery, ranking: Ranking) -> Ranking:
        loses = self._store.loses
        exact = isinstance(query, SparseQuery) or query.exact or query.restrict_to is not None
        if loses is None or exact:
            return ranking
        pairs = zip(ranking.points, ranking.scores, strict=True)
        kept = [(point, score) for point, score in pairs if not loses(point)]
        return Ranking([point for point, _ in kept], [score for _, score in kept])
