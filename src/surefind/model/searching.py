"""Queries, candidates and search results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple, overload

from surefind.model.documents import ChunkRecord
from surefind.model.filters import Condition
from surefind.model.language_codes import AUTO_LANGUAGE
from surefind.model.read_only import read_only

DEFAULT_COLLECTION = "docs"


class Mode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


class GroupBy(StrEnum):
    DOCUMENT = "document"
    SECTION = "section"


class Collapse(StrEnum):
    """Which passages to merge. SAME: equal texts, and versions of one page."""

    OFF = "off"
    SAME = "same"
    NEAR = "near"


class Expand(StrEnum):
    """How much context to show with a hit."""

    NONE = "none"
    NEIGHBOURS = "neighbours"
    SECTION = "section"
    DOCUMENT = "document"


class Speaker(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class Turn(NamedTuple):
    """What a user asked or an assistant answered before a question."""

    role: Speaker
    text: str


@read_only
@dataclass(frozen=True, slots=True)
class Query:
    """A question with its parameters. `also_in` names further collections to search.

    `history` has the turns before a follow-up question, oldest first.
    `language` is that of the pages to search: a code such as `de`, `any`, or `auto`, the language
    of the question if the collection has pages in it, and any otherwise.
    """

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
    history: tuple[Turn, ...] = ()
    language: str = AUTO_LANGUAGE

    @property
    def collections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.collection, *self.also_in)))


# --- candidates -------------------------------------------------------------------------------


class Ranking(NamedTuple):
    """The results of one leg, best first: point numbers and raw scores.

    `cosines` is set if the raw scores of a dense leg are not cosines. A tuple, because searches
    create dozens of them, four times as fast as frozen dataclasses.
    """

    points: list[int]
    scores: list[float]
    cosines: list[float] | None = None


class LegScore(NamedTuple):
    """One leg's score of a candidate.

    `rank` is None if the leg did not return the candidate. `share` is the leg's contribution to
    the fused score. `cosine` is set if the raw score is not a cosine.
    """

    score: float
    rank: int | None
    share: float = 0.0
    cosine: float | None = None


# --- the answer -------------------------------------------------------------------------------


@read_only
@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker's score of a hit, and the rank before reranking."""

    score: float
    rank_before: int


@read_only
@dataclass(frozen=True, slots=True)
class PageScore:
    """The parts of a hit's score if results are grouped by page; they add up to it.

    `own` is the part of the passage itself, `passages` that of other passages of its page, and
    `names` that of the words that the query shares with the page's title and address.
    """

    own: float
    passages: float
    names: float

    @property
    def total(self) -> float:
        return self.own + self.passages + self.names


@read_only
@dataclass(frozen=True, slots=True)
class Context:
    """The context of a hit: `text` is the document's text from the first chunk to the last."""

    text: str
    first: int
    last: int
    tokens: int


@read_only
@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked passage. `also` lists the duplicates merged into it.

    `highlights` holds the (start, end) offsets of the query's words in the text,
    `section_highlights` those in the section name. `exact_heading`: the query is the heading of
    the section, which raised the fused score. `page` has the parts of the fused score if results
    are grouped by page. `weight` is the factor by which the score was then
    multiplied because of the page's kind.
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
    exact_heading: bool = False
    page: PageScore | None = None

    @property
    def text(self) -> str:
        return self.record.chunk.text

    @property
    def title(self) -> str:
        return self.record.title

    @property
    def url(self) -> str:
        """The link to the heading of the passage: the page's address with its anchor."""
        return self.record.link

    @property
    def tokens(self) -> int:
        """The token count of the context if there is one, else of the passage."""
        return self.record.chunk.tokens if self.context is None else self.context.tokens

    def _replace(self, **changes: Any) -> Hit:
        """Deprecated: in version 0.1 a hit was a named tuple."""
        warnings.warn(
            "Hit._replace() will be removed in 0.3; use dataclasses.replace(hit, …)",
            DeprecationWarning,
            stacklevel=2,
        )
        return replace(self, **changes)

    def _asdict(self) -> dict[str, Any]:
        """Deprecated: in version 0.1 a hit was a named tuple."""
        warnings.warn(
            "Hit._asdict() will be removed in 0.3; read the attributes of the hit",
            DeprecationWarning,
            stacklevel=2,
        )
        return {one.name: getattr(self, one.name) for one in fields(self)}


class Timings(NamedTuple):
    """Milliseconds of each search stage; they add up to the total."""

    embedded_ms: float
    searched_ms: float
    filtered_ms: float
    formatted_ms: float
    total_ms: float
    received_ms: float = 0.0
    returned_ms: float = 0.0

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        """(name, milliseconds) of each stage, in order."""
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
    """How strongly the best passages suggest that the collection has an answer."""

    STRONG = "strong"
    FAIR = "fair"
    THIN = "thin"


@read_only
@dataclass(frozen=True, slots=True)
class Confidence:
    """How likely the collection answers the question: a number in 0..1 and a word.

    `threshold` is the similarity above which an answer is more likely than not. It is `learned`
    from golden tests, or else calibrated on the collection's own sentences.
    """

    value: float
    evidence: Evidence
    threshold: float
    learned: bool = False


@read_only
@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a query; iteration, `len()` and indexing apply to its hits.

    `best_similarity` is set even if the threshold removed every hit. `over_budget` holds the
    passages that did not fit into `max_tokens`. `confidence` is None if nothing was embedded or the
    generation is not calibrated. `notes` explains deviations from the request. `remembered` is true
    for a cached answer. `also_searched` are words that were searched in place of unknown ones.
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
    also_searched: tuple[str, ...] = ()

    @property
    def highlighted_text(self) -> str:
        """The words that highlights mark: those of the query, and those searched instead."""
        return " ".join((self.query.text, *self.also_searched))

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
