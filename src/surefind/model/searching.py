"""A question, its candidates, and its answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, overload

from surefind.model.documents import ChunkRecord
from surefind.model.filters import Condition

DEFAULT_COLLECTION = "docs"


class Mode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


class GroupBy(StrEnum):
    DOCUMENT = "document"
    SECTION = "section"


class Collapse(StrEnum):
    """Which passages count as one. SAME: equal texts, and one page in several versions."""

    OFF = "off"
    SAME = "same"
    NEAR = "near"


class Expand(StrEnum):
    """What is shown around a hit."""

    NONE = "none"
    NEIGHBOURS = "neighbours"
    SECTION = "section"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its parameters. `also_in` names further collections to look into."""

    text: str
    top_k: int = 5
    threshold: float = 0.0
    mode: Mode = Mode.HYBRID
    collection: str = DEFAULT_COLLECTION
    where: tuple[Condition, ...] = ()
    group_by: GroupBy | None = None
    group_size: int = 1
    diversity: float = 0.0
    collapse: Collapse = Collapse.OFF
    expand: Expand = Expand.NONE
    neighbours: int = 1
    max_tokens: int | None = None
    rerank: bool = False
    highlight: bool = False
    also_in: tuple[str, ...] = ()

    @property
    def collections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.collection, *self.also_in)))


# --- candidates -------------------------------------------------------------------------------


class Ranking(NamedTuple):
    """What one leg found, best first: points by their numbers, and the raw score of each.

    `cosines` are told where the raw scores of a dense leg are none. A tuple, as all that a search
    makes by the dozen: it is made in a quarter of the time that a frozen dataclass takes.
    """

    points: list[int]
    scores: list[float]
    cosines: list[float] | None = None


class LegScore(NamedTuple):
    """What one leg says of a candidate.

    `rank` is None where the leg itself did not find it; `share` is its part of the fused score.
    `cosine` is told where the raw score is none.
    """

    score: float
    rank: int | None
    share: float = 0.0
    cosine: float | None = None


# --- the answer -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reranking:
    """What a reranker said of a hit: its score, and the rank that the hit had before."""

    score: float
    rank_before: int


@dataclass(frozen=True, slots=True)
class Context:
    """What stands around a hit: `text` is the document's, from the first chunk to the last."""

    text: str
    first: int
    last: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked passage. `also` lists the duplicates that were folded into it.

    `highlights` are the (start, end) offsets of the query's words in the text, and
    `section_highlights` those in the name of the section. `weight` is what the fused score was
    multiplied by because of the page's kind.
    """

    rank: int
    score: float
    similarity: float | None
    dense: LegScore | None
    lexical: LegScore | None
    record: ChunkRecord
    collection: str = DEFAULT_COLLECTION
    reranking: Reranking | None = None
    context: Context | None = None
    highlights: tuple[tuple[int, int], ...] = ()
    section_highlights: tuple[tuple[int, int], ...] = ()
    also: tuple[ChunkRecord, ...] = ()
    weight: float = 1.0

    @property
    def text(self) -> str:
        return self.record.chunk.text

    @property
    def title(self) -> str:
        """The title of the page."""
        return self.record.title

    @property
    def url(self) -> str:
        """The link to the heading of the passage: the page's address with its anchor."""
        return self.record.link

    @property
    def tokens(self) -> int:
        """Those of the context where there is one, else those of the passage."""
        return self.record.chunk.tokens if self.context is None else self.context.tokens


class Timings(NamedTuple):
    """Milliseconds of each stage of a search's life; together they are the total."""

    embedded_ms: float
    searched_ms: float
    filtered_ms: float
    formatted_ms: float
    total_ms: float
    received_ms: float = 0.0
    returned_ms: float = 0.0

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        """By name, in the order in which they happen."""
        return (
            ("received", self.received_ms),
            ("embedded", self.embedded_ms),
            ("searched", self.searched_ms),
            ("filtered", self.filtered_ms),
            ("formatted", self.formatted_ms),
            ("returned", self.returned_ms),
        )


class Status(StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    NO_RESULTS = "no_results"


class Evidence(StrEnum):
    """How much the best passages speak for an answer being in the collection."""

    STRONG = "strong"
    FAIR = "fair"
    THIN = "thin"


@dataclass(frozen=True, slots=True)
class Confidence:
    """How likely the collection answers the question, in 0..1, and in a word.

    `threshold` is the similarity from which on an answer is likelier than none; `learned` from
    golden tests, or else from the collection's own sentences.
    """

    value: float
    evidence: Evidence
    threshold: float
    learned: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a query; iterating over it, `len()` and indexing go to its hits.

    `best_similarity` is given even if the threshold removed every hit. `over_budget` holds the
    passages that did not fit into `max_tokens`. `confidence` is None if nothing was embedded or the
    generation is not calibrated. `notes` tell the caller what was done differently than requested.
    `remembered` marks an answer that came from memory.
    """

    query: Query
    hits: tuple[Hit, ...]
    status: Status
    best_similarity: float | None
    generation: int
    chunks: int
    timings: Timings
    confidence: Confidence | None = None
    over_budget: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    remembered: bool = False

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]
