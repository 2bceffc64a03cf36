"""Collections that something else filled: which key says what, and what their vectors are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from surefind.model.filters import Field
from surefind.model.fingerprints import EmbedderFingerprint

_NUMBERED = (2**64 - 1) << 64


class Role(StrEnum):
    """What a key of a payload may say of a passage."""

    TEXT = "text"
    URL = "url"
    SOURCE_PATH = "source_path"
    SLUG = "slug"
    TITLE = "title"
    SECTION = "section"
    POSITION = "position"
    ID = "id"
    DOCUMENT = "document"
    HASH = "hash"
    CREATED_AT = "created_at"


class PositionKind(StrEnum):
    """What a position counts. Only ordinals say whether one is missing."""

    ORDINAL = "ordinal"
    OFFSET = "offset"
    LINE = "line"
    PAGE = "page"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class PayloadMapping:
    """Where each role is kept. Of several keys, the first that a point has anything in counts.

    Keys are paths: `metadata.source`, `content[].text`, `"a.b".c`. A path leads through JSON that
    is written in a string as if it were an object. `first_position` is what positions count from.
    """

    keys: Mapping[Role, tuple[str, ...]] = field(default_factory=dict, hash=False)
    position_kind: PositionKind = PositionKind.ORDINAL
    first_position: int = 0

    def of(self, role: Role) -> tuple[str, ...]:
        return self.keys.get(role, ())

    def has(self, role: Role) -> bool:
        return bool(self.keys.get(role))


# --- vectors ----------------------------------------------------------------------------------


class Distance(StrEnum):
    COSINE = "cosine"
    DOT = "dot"
    EUCLID = "euclid"
    MANHATTAN = "manhattan"


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """One of the vectors that every point has; the name is empty where there is only one."""

    name: str
    dimensions: int
    distance: Distance
    multivector: bool = False

    def __str__(self) -> str:
        name = repr(self.name) if self.name else "the unnamed vector"
        many = ", several per point" if self.multivector else ""
        return f"{name} ({self.dimensions} dimensions, {self.distance}{many})"


@dataclass(frozen=True, slots=True)
class SparseSpace:
    """`idf` says whether the engine weighs terms by how rare they are."""

    name: str
    idf: bool


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """What a store says of a collection. `indexed` are the keys of payloads that it indexes.

    `approximated` is how many vectors an approximate index finds.
    """

    name: str
    points: int
    vectors: tuple[VectorSpace, ...]
    sparse: tuple[SparseSpace, ...] = ()
    indexed: tuple[str, ...] = ()
    approximated: int = 0


@dataclass(frozen=True, slots=True)
class Connection:
    """A collection that something else filled, and how it is read.

    `name` is ours, `collection` the store's. `unit` says that all vectors had the length 1 when it
    was looked. `lexical` is the sparse vector that our words match, where there is one. `embedder`
    is the one whose vectors were found there; None where nobody has looked. `documents_table` is a
    table in PostgreSQL whose rows are joined to its chunks; empty where there is none.
    """

    name: str
    collection: str
    mapping: PayloadMapping
    space: VectorSpace
    unit: bool = True
    lexical: str = ""
    fields: tuple[Field, ...] = ()
    url: str = ""
    embedder: EmbedderFingerprint | None = None
    documents_table: str = ""

    @property
    def gives_cosines(self) -> bool:
        """Whether the engine's own score is a cosine, or tells it exactly."""
        if self.space.distance is Distance.COSINE:
            return True
        return self.unit and self.space.distance in {Distance.DOT, Distance.EUCLID}

    @property
    def scoring(self) -> str:
        """In words, where similarities come from."""
        if self.space.distance is Distance.COSINE:
            return "similarities are the engine's cosines"
        if not self.gives_cosines:
            return "similarities are computed here, the order is the engine's"
        return f"all vectors have the length 1, so its {self.space.distance} score tells the cosine"


# --- points -----------------------------------------------------------------------------------


def numbered_point(number: int) -> UUID:
    """Stores also know points by number. No UUID that anything makes begins with so many ones."""
    return UUID(int=_NUMBERED | number)


def point_number(point: UUID) -> int | None:
    """The number of a point that is known by one."""
    return point.int & (2**64 - 1) if point.int & _NUMBERED == _NUMBERED else None


def point_label(point: UUID) -> str:
    """As the store's own people write it."""
    number = point_number(point)
    return str(point) if number is None else str(number)
