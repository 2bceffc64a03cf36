"""A question, its candidates, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from surefind.model.documents import ChunkRecord

DEFAULT_COLLECTION = "docs"


class Mode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    top_k: int = 5
    threshold: float = 0.0
    mode: Mode = Mode.HYBRID
    collection: str = DEFAULT_COLLECTION


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one leg found, best first: points, and the raw score of each."""

    points: list[UUID]
    scores: list[float]


@dataclass(frozen=True, slots=True)
class LegScore:
    """What one leg says of a candidate; `rank` is None where the leg itself did not find it."""

    score: float
    rank: int | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fused candidate: `score` is its place in the order, in 0..1."""

    point_id: UUID
    score: float
    dense: LegScore | None
    lexical: LegScore | None

    @property
    def similarity(self) -> float | None:
        """The cosine, clamped to 0..1; None where the question was never embedded."""
        return None if self.dense is None else min(1.0, max(0.0, self.dense.score))


@dataclass(frozen=True, slots=True)
class Hit:
    rank: int
    score: float
    similarity: float | None
    dense: LegScore | None
    lexical: LegScore | None
    record: ChunkRecord


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds of each stage of a search's life."""

    embedded_ms: float
    searched_ms: float
    filtered_ms: float
    formatted_ms: float
    total_ms: float


class Status(StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The whole answer. `best_similarity` is told even when the threshold left nothing."""

    query: Query
    hits: tuple[Hit, ...]
    status: Status
    best_similarity: float | None
    generation: int
    chunks: int
    timings: Timings
