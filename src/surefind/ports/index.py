"""The vector and keyword index, its store, and rerankers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias
from uuid import UUID

from surefind.model import (
    ChunkRecord,
    Condition,
    GenerationRef,
    Ranking,
    Replication,
    SparseVector,
)
from surefind.ports.reading import Matrix, Vector


class DenseQuery(NamedTuple):
    """Find the nearest points by cosine. `restrict_to` and `exact` both force a full scan.

    A scan uses the original vectors, never a quantized form.
    """

    vector: Vector
    limit: int
    restrict_to: frozenset[int] | None = None
    where: tuple[Condition, ...] = ()
    exact: bool = False


class SparseQuery(NamedTuple):
    """Find the best points by BM25; statistics come from the whole index, even when restricted.

    Equal passages get equal scores in every build of the index: adapters round away the digits
    that depend on the order of addition.
    """

    terms: SparseVector
    limit: int
    restrict_to: frozenset[int] | None = None
    where: tuple[Condition, ...] = ()


class VectorIndex(Protocol):
    """One generation's index, open for reading.

    Queries and rankings refer to points by number, because a search handles hundreds of points and
    returns a few. The index chooses the numbers: below 2**128, in the order of the point ids.
    """

    def number(self, point_id: UUID) -> int:
        """The number of a point with this id, whether or not the point exists."""
        ...

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        """The ids of numbered points, in order."""
        ...

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        """One ranking per query, best first, ties sorted by number."""
        ...

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """The index's copies of the records, used when the catalog is unavailable."""
        ...

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        """One row per point, in order; StoreError if a point is missing."""
        ...

    async def count(self) -> int: ...

    async def indexed(self) -> int:
        """The number of vectors in an approximate index; zero if every search is a full scan.

        This is a low estimate, because some vendors count more than vectors.
        """
        ...

    async def close(self) -> None: ...


class Reranker(Protocol):
    """Scores how well each passage answers a question, reading both together."""

    @property
    def name(self) -> str: ...

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score per passage, in order, each in 0..1."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class IndexEntry:
    record: ChunkRecord
    vector: Vector
    terms: SparseVector


class IndexWriter(Protocol):
    """One generation's index while it is being built, before anything reads it."""

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        """Write all entries or none: wrong sizes and NaN are rejected before any write."""
        ...

    async def delete(self, point_ids: Sequence[UUID]) -> None: ...

    async def finish(self) -> int:
        """Optimize the index, make it durable, close it and return the number of points."""
        ...

    async def abandon(self) -> None:
        """Stop writing; `IndexStore.drop` removes the leftovers."""
        ...


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """Facts that a store reports about itself. `clock_ahead_s` is None if it has no clock."""

    name: str
    version: str
    warnings: tuple[str, ...] = ()
    clock_ahead_s: float | None = None


@dataclass(frozen=True, slots=True)
class VerifiedFiles:
    """How much data was read and found intact."""

    files: int
    bytes: int

    def __add__(self, other: VerifiedFiles) -> VerifiedFiles:
        return VerifiedFiles(self.files + other.files, self.bytes + other.bytes)


ReadBytes: TypeAlias = Callable[[int], None]
"""Receives the number of bytes read since the last call; called from any thread."""


class OpensIndex(Protocol):
    """The part of an index store that readers use."""

    async def open(self, ref: GenerationRef) -> VectorIndex: ...


class IndexStore(OpensIndex, Protocol):
    async def facts(self) -> StoreFacts:
        """Query the store's facts, uncached; StoreError if it is unavailable or refuses."""
        ...

    async def held(self) -> list[GenerationRef]:
        """The generations of this installation that the store has data of."""
        ...

    async def require_room(self, points: int, dimensions: int) -> None:
        """Raise StoreError if an index of that size would not fit on the disk."""
        ...

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter:
        """Create an empty index, or a copy. Leftovers of an earlier run are removed first."""
        ...

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        """Read every byte; raise StoreChanged if one differs from what was written.

        Returns None if there are no checksums: the store keeps none, or an earlier surefind version
        wrote the generation.
        """
        ...

    async def replication(self, ref: GenerationRef) -> Replication | None:
        """The replicas of the generation's shards; None if the store is not a cluster."""
        ...

    async def drop(self, ref: GenerationRef) -> None:
        """Remove the generation if it exists and belongs to this installation.

        Open readers keep working or get a StoreError that says it is gone.
        """
        ...

    async def published(self, ref: GenerationRef) -> None:
        """Announce the current generation to other programs that read the index.

        Never raises: failures affect only those programs, and are logged.
        """
        ...

    async def close(self) -> None: ...
