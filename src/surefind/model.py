"""The words of the domain: frozen values, one type per stage of a datum's path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from urllib.parse import quote
from uuid import UUID, uuid5

POINT_NAMESPACE = UUID("5f0b1d3e-6f0c-5b52-9a55-4b0f7b0f2f5e")
"""Point ids are UUIDv5 of the chunk id in this namespace; changing it orphans every index."""

DEFAULT_COLLECTION = "docs"


def point_id(chunk_id: str) -> UUID:
    return uuid5(POINT_NAMESPACE, chunk_id)


# --- what goes in -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One page as it lies at its source, before anything has looked into it.

    `source_path` is the page's identity; `site_path` is where it stands below its root; `suffix`
    says how it is written, where its path does not; by `validator` its source may recognise it.
    """

    source_path: str
    site_path: str
    content: bytes
    suffix: str = ""
    validator: str = ""


@dataclass(frozen=True, slots=True)
class PageUnchanged:
    """A page of which its source knows that it is as it was."""

    source_path: str


@dataclass(frozen=True, slots=True)
class PageFailure:
    """Something to say of a page: why it could not be used, was left out, or wants a look."""

    source_path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a site shows a page."""

    url: str
    version: str = ""
    locale: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """A page that its site leaves out, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    source_path: str
    url: str
    slug: str
    title: str
    text: str
    content_hash: str
    version: str = ""
    locale: str = ""
    validator: str = ""
    front_matter: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage: `text` is exactly `document.text[start:end]`."""

    id: str
    source_path: str
    position: int
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    context: str
    anchor: str
    tokens: int
    content_hash: str
    has_code: bool
    content_type: str

    @property
    def passage(self) -> str:
        """What is embedded: the text under the headings that it does not itself contain."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text

    @property
    def point_id(self) -> UUID:
        return point_id(self.id)


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What a catalog keeps of a document."""

    source_path: str
    url: str
    slug: str
    title: str
    content_hash: str
    validator: str
    chunks: int


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """What a catalog keeps of a chunk, with what it needs of its document to be shown."""

    chunk: Chunk
    url: str
    slug: str
    title: str
    created_at: datetime
    version: str = ""
    locale: str = ""
    term_count: int = 0

    @property
    def section(self) -> str:
        return self.chunk.heading_path[-1] if self.chunk.heading_path else self.title

    @property
    def breadcrumb(self) -> str:
        return " > ".join(self.chunk.heading_path)

    @property
    def link(self) -> str:
        """The page's address at the chunk's own heading."""
        return f"{self.url}#{quote(self.chunk.anchor)}" if self.chunk.anchor else self.url


@dataclass(frozen=True, slots=True)
class Terms:
    """A bag of words: term ids with their weights, in the order of the ids."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


# --- generations ------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class ChunkerSettings:
    max_tokens: int = 400
    max_chars: int = 1999
    version: int = 2

    def __str__(self) -> str:
        return (
            f"version {self.version}, at most {self.max_tokens} tokens, {self.max_chars} characters"
        )


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """How the lexical leg weighs words. `mean_terms` is the collection's own mean length."""

    analyzer: str
    mean_terms: float


@dataclass(frozen=True, slots=True)
class GenerationRef:
    collection: str
    number: int

    def __str__(self) -> str:
        return f"{self.collection}--{self.number:04d}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What made a generation, and what it holds.

    `based_on` is the generation its index was copied from, `follows` the one that readers saw
    before. `replaced` counts the points that were deleted or overwritten since the index was built
    afresh. `pending` are pages that should have been read anew and could not be.
    """

    collection: str
    number: int
    created_at: datetime
    surefind_version: str
    embedder: EmbedderFingerprint
    chunker: ChunkerSettings
    lexical: LexicalSettings
    sources: tuple[str, ...]
    sites: tuple[str, ...]
    source_digest: str
    documents: int
    chunks: int
    based_on: int | None = None
    follows: int | None = None
    replaced: int = 0
    pending: tuple[str, ...] = ()

    @property
    def ref(self) -> GenerationRef:
        return GenerationRef(self.collection, self.number)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did. `generation` is the one that readers see after it."""

    collection: str
    generation: int
    published: bool
    added_pages: tuple[str, ...]
    changed_pages: tuple[str, ...]
    removed_pages: tuple[str, ...]
    unchanged: int
    documents: int
    chunks: int
    index_points: int
    new_chunks: int
    new_tokens: int
    embedded: int
    from_cache: int
    failures: tuple[PageFailure, ...]
    left_out: tuple[PageFailure, ...]
    warnings: tuple[PageFailure, ...]
    empty_pages: tuple[str, ...]
    pruned: tuple[int, ...]
    seconds: float

    @property
    def added(self) -> int:
        return len(self.added_pages)

    @property
    def changed(self) -> int:
        return len(self.changed_pages)

    @property
    def removed(self) -> int:
        return len(self.removed_pages)


# --- search -----------------------------------------------------------------------------------


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
