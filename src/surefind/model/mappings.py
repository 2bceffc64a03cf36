"""Connected collections: the meaning of their payload keys, and their vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from surefind.model.filters import Field

_NUMBERED = (2**64 - 1) << 64


@dataclass(frozen=True, slots=True)
class EmbedderFingerprint:
    """Two embedders with equal fingerprints give the same vectors for the same text."""

    provider: str
    model: str
    dimensions: int
    weights: str
    input_types: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model} ({self.dimensions} dimensions, {self.weights[:12]})"


class Role(StrEnum):
    """The meaning of a payload key."""

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
    """The unit of a position. Only ordinals reveal missing chunks."""

    ORDINAL = "ordinal"
    OFFSET = "offset"
    LINE = "line"
    PAGE = "page"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class PayloadMapping:
    """The keys of each role. If a role has several keys, the first one with a value counts.

    Keys are paths: `metadata.source`, `content[].text`, `"a.b".c`. Paths also lead into JSON
    stored as a string. `first_position` is the number of the first position.
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
    """One of the vectors of every point; the name is empty for an unnamed vector."""

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
    """`idf` is true if the engine weights terms by inverse document frequency."""

    name: str
    idf: bool


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """Facts that a store reports about a collection. `indexed` lists the indexed payload keys.

    `approximated` is the number of vectors in an approximate index.
    """

    name: str
    points: int
    vectors: tuple[VectorSpace, ...]
    sparse: tuple[SparseSpace, ...] = ()
    indexed: tuple[str, ...] = ()
    approximated: int = 0


@dataclass(frozen=True, slots=True)
class Connection:
    """A collection that another program filled, and how to read it.

    `name` is surefind's name for it, `collection` the store's. `unit` is true if all vectors had
    length 1 when checked. `lexical` is the sparse vector whose terms match surefind's, if any.
    `embedder` is the model that made the vectors; None if unchecked. `documents_table` is a
    PostgreSQL table whose rows are joined to the chunks; empty if there is none.
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
        """Whether the engine's score is a cosine or can be converted to one exactly."""
        if self.space.distance is Distance.COSINE:
            return True
        return self.unit and self.space.distance in {Distance.DOT, Distance.EUCLID}

    @property
    def scoring(self) -> str:
        """A sentence that explains where similarities come from."""
        if self.space.distance is Distance.COSINE:
            return "similarities are the cosines that the engine returns"
        if not self.gives_cosines:
            return "the engine ranks the points; surefind computes the similarities"
        return f"all vectors have length 1, so the {self.space.distance} score gives the cosine"


# --- points -----------------------------------------------------------------------------------


def numbered_point(number: int) -> UUID:
    """The UUID of a numeric point id; its run of ones occurs in no generated UUID."""
    return UUID(int=_NUMBERED | number)


def point_number(point: UUID) -> int | None:
    """The numeric id of a point; None if its id is a UUID."""
    return point.int & (2**64 - 1) if point.int & _NUMBERED == _NUMBERED else None


def point_label(point: UUID) -> str:
    """The id in the store's own notation: a number or a UUID."""
    number = point_number(point)
    return str(point) if number is None else str(number)
