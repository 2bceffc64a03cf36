"""The answers of `/retrieve` and its siblings, described for the OpenAPI document.

`interfaces/json_output/search.py` writes them; a test compares both. Fields may be added to an
answer, so no schema forbids unknown ones.
"""

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue
from pydantic.config import JsonDict

from surefind.interfaces.http.examples import CHUNK
from surefind.model import Evidence, Mode, Status
from surefind.services.search.why_not import Cause

Span = Annotated[
    list[int],
    Field(min_length=2, max_length=2, description="The start and the end, in characters"),
]
Share = Annotated[float, Field(ge=0, le=1)]
RenderedNode = Annotated[
    str | list[JsonValue], Field(description="A string, or [tag, attributes, ...nodes]")
]


class Passage(BaseModel):
    """A stored passage, with its page and its place in it."""

    chunk_id: str
    text: str
    url: str = Field(description="The link to the heading of the passage; empty if there is none")
    title: str
    section: str
    breadcrumb: str
    source_path: str
    slug: str
    version: str
    locale: str
    front_matter: dict[str, JsonValue]
    anchor: str
    position: int = Field(description="The number of the passage in its page, from 0")
    start: int = Field(description="The offset of the passage in its page, in characters")
    end: int
    tokens: int
    has_code: bool
    content_type: str
    content_hash: str
    created_at: AwareDatetime | None
    flaws: list[str] = Field(description="What is wrong with a passage that surefind did not write")
    assumed: list[str] = Field(description="The fields that hold a default value")


class RetrievedLeg(BaseModel):
    """The score of a passage in one leg of the search."""

    rank: int | None = Field(description="null if this leg did not return the passage")
    score: float
    share: float = Field(description="Its contribution to the fused score")


class RetrievedLegs(BaseModel):
    """The scores of semantic and keyword search; null for a leg that was not searched."""

    dense: RetrievedLeg | None
    lexical: RetrievedLeg | None


class PageParts(BaseModel):
    """The parts of a score if results are grouped by page."""

    own: float
    passages: float
    names: float


class RerankedScore(BaseModel):
    """The score of the reranker."""

    score: float
    rank_before: int


class PassageContext(BaseModel):
    """The text around a passage, from the first to the last position."""

    text: str
    first: int
    last: int
    tokens: int


class SamePassage(BaseModel):
    """A duplicate that was merged into a hit."""

    chunk_id: str
    url: str
    version: str
    locale: str


class RetrievedPassage(Passage):
    """A ranked passage with its scores."""

    rank: int = Field(ge=1)
    score: float
    similarity: Share | None = Field(description="The cosine; null in lexical mode")
    collection: str
    legs: RetrievedLegs
    exact_heading: bool = Field(description="The query is the heading of the section")
    page: PageParts | None
    weight: float = Field(description="The factor for the kind of the page")
    reranking: RerankedScore | None
    context: PassageContext | None
    highlights: list[Span] = Field(description="The words of the query in `text`")
    section_highlights: list[Span] = Field(description="The words of the query in `section`")
    also: list[SamePassage]
    read_path: str = Field(description="The path of the passage in this server's reader, if any")
    rendered: list[RenderedNode] = Field(
        default=[], description="The passage as a tree of elements, if the request has `rendered`"
    )


class OverBudget(BaseModel):
    """A passage that did not fit into `max_tokens`."""

    chunk_id: str
    rank: int
    tokens: int


class ResultConfidence(BaseModel):
    """How likely the collection answers the question."""

    value: Share
    evidence: Evidence
    threshold: float = Field(
        description="The similarity above which an answer is more likely than not"
    )
    learned: bool = Field(description="Whether the threshold comes from golden tests")


class StageTimings(BaseModel):
    """Milliseconds of each stage; they add up to the total."""

    received: float
    embedded: float
    searched: float
    filtered: float
    formatted: float
    returned: float
    total: float


_PASSAGE: JsonDict = {**CHUNK, "flaws": [], "assumed": []}
# FastAPI drops null from examples, so these have a value for every field.
_HIT: JsonDict = {
    "rank": 1,
    "score": 0.98,
    "similarity": 0.71,
    "collection": "docs",
    "legs": {
        "dense": {"rank": 1, "score": 0.71, "share": 0.6},
        "lexical": {"rank": 1, "score": 6.2, "share": 0.4},
    },
    "exact_heading": False,
    "page": {"own": 0.75, "passages": 0.2, "names": 0.03},
    "weight": 1.0,
    "reranking": {"score": 0.97, "rank_before": 2},
    "context": {
        "text": "## First start\n\nPress the button for five seconds until the light turns blue.",
        "first": 1,
        "last": 1,
        "tokens": 17,
    },
    "highlights": [[10, 15]],
    "section_highlights": [[0, 5]],
    "also": [],
    "read_path": "/read/docs/handbook/install.md#first-start",
    **_PASSAGE,
}
_RESULT: JsonDict = {
    "query": "first start",
    "mode": "hybrid",
    "top_k": 5,
    "threshold": 0.0,
    "collection": "docs",
    "collections": ["docs"],
    "generation": 3,
    "chunks": 2,
    "status": "success",
    "where": [],
    "best_similarity": 0.71,
    "confidence": {"value": 0.93, "evidence": "strong", "threshold": 0.6, "learned": False},
    "notes": [],
    "remembered": False,
    "hits": [_HIT],
    "over_budget": [],
    "timings_ms": {
        "received": 0.1,
        "embedded": 4.9,
        "searched": 0.9,
        "filtered": 0.2,
        "formatted": 0.1,
        "returned": 0.0,
        "total": 6.2,
    },
}


class RetrieveResponse(BaseModel):
    """The hits of a search, best first."""

    model_config = ConfigDict(json_schema_extra={"examples": [_RESULT]})

    query: str
    mode: Mode
    top_k: int
    threshold: float
    collection: str
    collections: list[str]
    generation: int
    chunks: int = Field(description="The number of passages in the searched collections")
    status: Status
    where: list[str] = Field(description="The conditions in words")
    best_similarity: Share | None = Field(description="Also set if the threshold removed every hit")
    confidence: ResultConfidence | None
    notes: list[str] = Field(description="How the search differs from the request")
    remembered: bool = Field(description="Whether the answer comes from the cache")
    hits: list[RetrievedPassage]
    over_budget: list[OverBudget]
    timings_ms: StageTimings


class BatchResponse(BaseModel):
    """One result per query, in the order of the request."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"results": [_RESULT]}]})

    results: list[RetrieveResponse]


class HitAhead(BaseModel):
    """A hit that ranks higher than the passage."""

    rank: int
    score: float
    chunk_id: str
    title: str
    breadcrumb: str
    source_path: str
    url: str


_AHEAD: JsonDict = {
    "rank": 1,
    "score": 0.9,
    "chunk_id": "errors-e42-mqz0vxk1a-0",
    "title": "Errors",
    "breadcrumb": "Errors > E42",
    "source_path": "handbook/errors.md",
    "url": "https://docs.example.com/errors#e42",
}
_WHY_NOT: JsonDict = {
    "wanted": "handbook/install.md",
    "cause": "outranked",
    "message": "it is at rank 7, below the 5 that the search returns",
    "rank": 7,
    "score": 0.41,
    "similarity": 0.58,
    "filters": [],
    "chunk": _PASSAGE,
    "ahead": [_AHEAD],
}


class WhyNotResponse(BaseModel):
    """Why a passage is not among the hits."""

    model_config = ConfigDict(json_schema_extra={"examples": [_WHY_NOT]})

    wanted: str
    cause: Cause
    message: str
    rank: int | None
    score: float | None
    similarity: Share | None
    filters: list[str] = Field(description="The conditions that the passage does not meet")
    chunk: Passage | None
    ahead: list[HitAhead]
