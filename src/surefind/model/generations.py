"""Generations: their settings, contents and gate results, and the report of an ingest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from surefind.model.documents import BrokenLink, PageFailure
from surefind.model.filters import Field
from surefind.model.mappings import Connection, EmbedderFingerprint


@dataclass(frozen=True, slots=True)
class ChunkerSettings:
    """A chunk repeats at most `overlap_tokens` of the preceding chunk in its section."""

    max_tokens: int = 400
    max_chars: int = 1999
    overlap_tokens: int = 0
    version: int = 3

    def __str__(self) -> str:
        overlap = f", {self.overlap_tokens} tokens repeated" if self.overlap_tokens else ""
        return (
            f"version {self.version}, at most {self.max_tokens} tokens, {self.max_chars} characters"
            f"{overlap}"
        )


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """Settings of BM25. `mean_terms` is the mean chunk length of the collection.

    `analyzer` is empty for a collection without a lexical leg.
    """

    analyzer: str
    mean_terms: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Maps the best similarity to a confidence: a logistic curve and the data it was fitted to.

    The means are those of questions that the collection answers, and of those it does not answer.
    """

    slope: float
    middle: float
    answered: int
    answered_mean: float
    unanswered: int
    unanswered_mean: float
    chunks: int


@dataclass(frozen=True, slots=True)
class Rate:
    """A proportion of `total`, with its 95 % confidence interval."""

    count: int
    total: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.count / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Threshold:
    """The best similarity from which a question counts as answered, learned from golden tests.

    The threshold is the midpoint of a logistic curve with this `slope`. The rates were measured on
    held-out tests: negatives that were accepted, positives that were rejected.
    `false_accept_cost` is the cost of a false accept relative to a false reject.
    """

    similarity: float
    slope: float
    false_accepts: Rate
    false_rejects: Rate
    false_accept_cost: float
    golden: str
    golden_digest: str
    calibrated_at: datetime
    chunks: int


@dataclass(frozen=True, slots=True)
class FailedTest:
    test_id: str
    query_text: str
    outcome: str
    cause: str
    message: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of running golden tests on a generation before publishing it.

    `held` is true if the generation was not published. `compared_with` is the generation that was
    current then; `not_compared` says why there was no comparison. `failed` holds the first few
    tests that did not pass, and `comparison` the lines that describe the comparison. The verdict
    of a dry run is empty.
    """

    generation: int
    golden: str
    tests: int
    verdict: str = ""
    held: bool = False
    passed: int = 0
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failed: tuple[FailedTest, ...] = ()
    compared_with: int | None = None
    not_compared: str = ""
    comparison: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationRef:
    collection: str
    number: int

    def __str__(self) -> str:
        return f"{self.collection}--{self.number:04d}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The settings and contents of a generation.

    `based_on` is the generation that the index was copied from, `follows` the one that was current
    before. `replaced` counts the points deleted or overwritten since the index was last built from
    scratch. `pending` lists pages that were due to be re-read and could not be. `fields` are those
    that front matter adds. `gate` is the result of the golden tests before publishing. `threshold`
    is learned from golden tests, and is the only part that may be set later. `connected` says how
    to read a connected collection. `languages` are those of the pages; it is empty for connected
    collections and generations of earlier surefind versions. `checksums` names the checksum lists
    stored with the files; it is empty for generations of earlier surefind versions.
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
    fields: tuple[Field, ...] = ()
    calibration: Calibration | None = None
    gate: GateResult | None = None
    threshold: Threshold | None = None
    connected: Connection | None = None
    checksums: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    @property
    def ref(self) -> GenerationRef:
        return GenerationRef(self.collection, self.number)

    @property
    def counted_documents(self) -> int | None:
        """None for a connected collection, where counting would mean reading every point."""
        return self.documents if self.connected is None else None


@dataclass(frozen=True, slots=True)
class Replication:
    """The replicas of a generation's shards in a cluster.

    `replicas` is the number that each shard should have, `active` the number of usable ones of each
    shard, in order. `inactive` names the others, with their node and state.
    """

    replicas: int
    active: tuple[int, ...]
    inactive: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return min(self.active, default=0) >= self.replicas

    def __str__(self) -> str:
        shards = "1 shard" if len(self.active) == 1 else f"{len(self.active)} shards"
        each = "1 active replica" if self.replicas == 1 else f"{self.replicas} active replicas"
        if self.is_complete:
            return f"{shards}, {each} each"
        short = sum(active < self.replicas for active in self.active)
        lost = f" ({', '.join(self.inactive)})" if self.inactive else ""
        return f"{short} of {shards} with fewer than {each}{lost}"


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """A collection and its current generation.

    `served` marks the collection that requests use if they name none. The last three are None if
    the store of a connected collection is unavailable, and `documents` always is for one.
    """

    name: str
    served: bool
    generation: int
    documents: int | None = None
    chunks: int | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of embedding, in the currency of the price. The token count may be an estimate."""

    tokens: int
    price_per_million_tokens: float

    @property
    def amount(self) -> float:
        return self.tokens * self.price_per_million_tokens / 1_000_000


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The outcome of an ingest. `generation` is the current one afterwards.

    `unread` counts the documents in formats that are not read, by format.
    `broken_links` is None if links were not checked, `cost` if the embedder is free or its price
    is not configured, `gate` if no golden tests ran, and `replication` if the index is not in a
    cluster.
    """

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
    broken_links: tuple[BrokenLink, ...] | None = None
    cost: Cost | None = None
    gate: GateResult | None = None
    unread: Mapping[str, int] = field(default_factory=dict)
    replication: Replication | None = None

    @property
    def added(self) -> int:
        return len(self.added_pages)

    @property
    def changed(self) -> int:
        return len(self.changed_pages)

    @property
    def removed(self) -> int:
        return len(self.removed_pages)
