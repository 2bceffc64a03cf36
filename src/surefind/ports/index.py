"""The index of vectors and terms."""

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
    SparseVector,
)
from surefind.ports.reading import Matrix, Vector


class DenseQuery(NamedTuple):
    """The nearest by cosine. `among` restricts it to those points; that, and `exact`, scan.

    A scan looks at the vectors as they were given, whatever smaller form is searched otherwise.
    """

    vector: Vector
    limit: int
    restrict_to: frozenset[int] | None = None
    where: tuple[Condition, ...] = ()
    exact: bool = False


class SparseQuery(NamedTuple):
    """The best by BM25, with the whole index's statistics, whatever restricts it.

    Equal passages get equal scores from every build of the index: adapters round off the digits
    that depend on the order of an addition.
    """

    terms: SparseVector
    limit: int
    restrict_to: frozenset[int] | None = None
    where: tuple[Condition, ...] = ()


class VectorIndex(Protocol):
    """One generation's index, open for reading.

    A search sees a hundred points and returns a few. So probes and rankings name points by
    numbers, which an index picks as it likes: below 2**128, and in the order of the point ids.
    """

    def number(self, point_id: UUID) -> int:
        """That of a point with this id, whether it is there or not."""
        ...

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        """Whom a ranking of this index names, in order."""
        ...

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        """One ranking per probe, best first, ties in the order of the numbers."""
        ...

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """The records as the index keeps them: they stand in when the catalog is unavailable."""
        ...

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        """One row per point, in order; StoreError where one is not there."""
        ...

    async def count(self) -> int: ...

    async def indexed(self) -> int:
        """How many of the vectors are found by an approximate index; zero where each is looked at.

        An estimate that is rather too low: what the vendor counts is not always the vectors alone.
        """
        ...

    async def close(self) -> None: ...


class Reranker(Protocol):
    """Reads a question and passages together, and says how well each answers it."""

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
    """One generation's index while it is being built; nobody reads it yet."""

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        """All or nothing: a wrong size or a NaN is refused before anything is written."""
        ...

    async def delete(self, point_ids: Sequence[UUID]) -> None: ...

    async def finish(self) -> int:
        """Make it fast and durable, and close it; the number of points."""
        ...

    async def abandon(self) -> None:
        """Stop writing. `IndexStore.drop` removes what was written."""
        ...


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What a store says of itself. `clock_ahead_s` is None where it has no clock of its own."""

    name: str
    version: str
    warnings: tuple[str, ...] = ()
    clock_ahead_s: float | None = None


@dataclass(frozen=True, slots=True)
class VerifiedFiles:
    """What was read to find that it is as it was written."""

    files: int
    bytes: int

    def __add__(self, other: VerifiedFiles) -> VerifiedFiles:
        return VerifiedFiles(self.files + other.files, self.bytes + other.bytes)


ReadBytes: TypeAlias = Callable[[int], None]
"""Hears, in any thread, how many bytes were read since the last time."""


class OpensIndex(Protocol):
    """All that readers need of an index store."""

    async def open(self, ref: GenerationRef) -> VectorIndex: ...


class IndexStore(OpensIndex, Protocol):
    async def facts(self) -> StoreFacts:
        """Asked anew each time; StoreError where it does not answer, or won't."""
        ...

    async def held(self) -> list[GenerationRef]:
        """The generations that it has anything of, and that are this installation's."""
        ...

    async def require_room(self, points: int, dimensions: int) -> None:
        """StoreError when an index of that many points will not fit where it would be written."""
        ...

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter:
        """Empty, or a copy. Leftovers of an earlier run with the same number are removed."""
        ...

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        """Read every byte of it. StoreChanged where one is not as it was written.

        None where the store can't tell: it keeps no checksums, or an earlier surefind wrote none.
        """
        ...

    async def drop(self, ref: GenerationRef) -> None:
        """Remove it where it exists, if it is this installation's.

        Readers that have it open keep reading, or are told with a StoreError that it is gone.
        """
        ...

    async def published(self, ref: GenerationRef) -> None:
        """Readers see that generation from now on: a hint for whoever else reads the index.

        It raises nothing: what goes wrong concerns others, and is told.
        """
        ...

    async def close(self) -> None: ...
