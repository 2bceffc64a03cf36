"""An exact index in memory: what the real one is compared with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np

from surefind.errors import StoreError
from surefind.model import (
    ChunkRecord,
    GenerationRef,
    Ranking,
    Replication,
)
from surefind.ports import (
    DenseQuery,
    IndexEntry,
    Matrix,
    ReadBytes,
    SparseQuery,
    StoreFacts,
    VerifiedFiles,
)
from surefind.services.search.filters import failing


class MemoryIndexStore:
    """An exact index: what the real one is compared with."""

    def __init__(self) -> None:
        self.generations: dict[GenerationRef, dict[UUID, IndexEntry]] = {}
        self.written = 0
        self.alias: GenerationRef | None = None
        self.replicas: Replication | None = None

    async def facts(self) -> StoreFacts:
        return StoreFacts("in memory", "exact")

    async def held(self) -> list[GenerationRef]:
        return list(self.generations)

    async def require_room(self, points: int, dimensions: int) -> None:
        pass

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> "MemoryIndexWriter":
        self.generations[ref] = dict(self.generations[copy_of]) if copy_of else {}
        return MemoryIndexWriter(self, ref, dimensions)

    async def open(self, ref: GenerationRef) -> "MemoryIndex":
        if ref not in self.generations:
            raise StoreError(f"generation {ref} has no index")
        return MemoryIndex(dict(self.generations[ref]))

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return None

    async def replication(self, ref: GenerationRef) -> Replication | None:
        return self.replicas

    async def drop(self, ref: GenerationRef) -> None:
        self.generations.pop(ref, None)

    async def published(self, ref: GenerationRef) -> None:
        self.alias = ref

    async def close(self) -> None:
        pass


class MemoryIndexWriter:
    """`written` of its store counts the points that were written."""

    def __init__(self, store: MemoryIndexStore, ref: GenerationRef, dimensions: int) -> None:
        self._store = store
        self._ref = ref
        self._dimensions = dimensions

    @property
    def _entries(self) -> dict[UUID, IndexEntry]:
        return self._store.generations[self._ref]

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            if entry.vector.shape != (self._dimensions,) or not np.isfinite(entry.vector).all():
                raise StoreError(f"the vector of {entry.record.chunk.id} is not right")
        for entry in entries:
            self._entries[entry.record.chunk.point_id] = entry
            self._store.written += 1

    async def delete(self, point_ids: Sequence[UUID]) -> None:
        for point_id in point_ids:
            self._entries.pop(point_id, None)

    async def finish(self) -> int:
        return len(self._entries)

    async def abandon(self) -> None:
        pass


class MemoryIndex:
    def __init__(self, entries: Mapping[UUID, IndexEntry]) -> None:
        self._entries = entries

    def number(self, point_id: UUID) -> int:
        return point_id.int

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        found = [UUID(int=number) for number in numbers]
        for point_id in found:
            if point_id not in self._entries:
                raise StoreError(f"there is no point {point_id}")
        return found

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        return [self._answer(query) for query in queries]

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        return {
            point_id: replace(self._entries[point_id].record, term_count=0)
            for point_id in point_ids
            if point_id in self._entries
        }

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        missing = [point_id for point_id in point_ids if point_id not in self._entries]
        if missing:
            raise StoreError(f"there is no point {missing[0]}")
        return np.stack([self._entries[point_id].vector for point_id in point_ids])

    async def count(self) -> int:
        return len(self._entries)

    async def indexed(self) -> int:
        return 0

    async def close(self) -> None:
        pass

    def _answer(self, query: DenseQuery | SparseQuery) -> Ranking:
        scored = [
            (self._score(query, entry), point_id.int)
            for point_id, entry in self._entries.items()
            if (query.restrict_to is None or point_id.int in query.restrict_to)
            and not failing(entry.record, query.where)
        ]
        if isinstance(query, SparseQuery):
            scored = [item for item in scored if item[0] > 0]
        best = sorted(scored, key=lambda item: (-item[0], item[1]))[: query.limit]
        return Ranking([point for _, point in best], [score for score, _ in best])

    def _score(self, query: DenseQuery | SparseQuery, entry: IndexEntry) -> float:
        if isinstance(query, DenseQuery):
            return float(query.vector @ entry.vector / np.linalg.norm(entry.vector))
        stored = dict(zip(entry.terms.ids, entry.terms.weights, strict=True))
        return sum(
            weight * stored[term] * self._idf(term)
            for term, weight in zip(query.terms.ids, query.terms.weights, strict=True)
            if term in stored
        )

    def _idf(self, term: int) -> float:
        total = len(self._entries)
        with_term = sum(term in entry.terms.ids for entry in self._entries.values())
        return math.log((total - with_term + 0.5) / (with_term + 0.5) + 1)
