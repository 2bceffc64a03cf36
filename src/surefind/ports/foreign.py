"""Collections that another program filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias
from uuid import UUID

from surefind.model import (
    CollectionFacts,
    Condition,
    SparseVector,
)
from surefind.ports.index import DenseQuery, SparseQuery
from surefind.ports.reading import Vector


@dataclass(frozen=True, slots=True)
class ForeignPoint:
    """A stored point: its payload, if any, and the requested vectors."""

    id: UUID
    payload: Mapping[str, object] | None
    vector: Vector | None = None
    terms: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class PointFields:
    """The parts of a point to fetch: the payload, a named dense vector, a named sparse vector."""

    payload: bool = True
    vector: str | None = None
    terms: str | None = None


Alternatives: TypeAlias = Sequence[Sequence[Condition]]
"""One condition of each group must hold; for excluding conditions, all of them."""


class ForeignCollection(Protocol):
    """Read-only access to a collection that another program filled.

    Conditions refer to payload paths. Numeric point ids are converted with `numbered_point`.
    """

    async def facts(self) -> CollectionFacts:
        """Raise UnknownCollection, suggesting similar names, if the collection does not exist."""
        ...

    async def nearest(
        self, query: DenseQuery | SparseQuery, using: str, where: Alternatives
    ) -> list[tuple[UUID, float]]:
        """Search by the engine's score, best first. The query's own conditions are ignored."""
        ...

    async def points(self, ids: Sequence[UUID], wanted: PointFields) -> list[ForeignPoint]:
        """The points that exist, in any order."""
        ...

    async def page(
        self,
        after: UUID | None,
        limit: int,
        wanted: PointFields,
        where: Alternatives = (),
    ) -> tuple[list[ForeignPoint], UUID | None]:
        """Points sorted by id, starting at `after`, and the start of the next page."""
        ...

    async def close(self) -> None: ...
