"""Collections that something else filled."""

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
    """A point as its store has it: any payload, or none, and the vectors that were asked for."""

    id: UUID
    payload: Mapping[str, object] | None
    vector: Vector | None = None
    terms: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class PointFields:
    """Which parts of a point to bring: the payload, a dense vector by name, a sparse one."""

    payload: bool = True
    vector: str | None = None
    terms: str | None = None


Alternatives: TypeAlias = Sequence[Sequence[Condition]]
"""Of each, one condition has to hold; of one that excludes, all."""


class ForeignCollection(Protocol):
    """A collection that something else filled. Nothing here can write.

    Keys of conditions are paths of the payload. Points that are known by a number have ids made by
    `numbered_point`.
    """

    async def facts(self) -> CollectionFacts:
        """UnknownCollection, with names that are near, where there is none."""
        ...

    async def nearest(
        self, query: DenseQuery | SparseQuery, using: str, where: Alternatives
    ) -> list[tuple[UUID, float]]:
        """By the engine's own score, best first. The probe's own conditions are not looked at."""
        ...

    async def points(self, ids: Sequence[UUID], wanted: PointFields) -> list[ForeignPoint]:
        """Those that are there, in any order."""
        ...

    async def page(
        self,
        after: UUID | None,
        limit: int,
        wanted: PointFields,
        where: Alternatives = (),
    ) -> tuple[list[ForeignPoint], UUID | None]:
        """In the order of ids from `after` on, and where the next page begins."""
        ...

    async def close(self) -> None: ...
