"""Generations: what made one, what it holds, and what an ingest did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from surefind.model.documents import BrokenLink, PageFailure
from surefind.model.filters import Field
from surefind.model.fingerprints import EmbedderFingerprint
from surefind.model.mappings import Connection


@dataclass(frozen=True, slots=True)
class ChunkerSettings:
    """`overlap_tokens` of a chunk at most are repeated in the next one of its section."""

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
    """How the lexical leg weighs words. `mean_terms` is the collection's own mean length.

    A collection without a lexical leg has no analyzer: its name is empty.
    """

    analyzer: str
    mean_terms: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a best similarity says here: a logistic curve, and what it was drawn from.

    The means are of questions that the collection answers, and of questions that it does not.
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
    """A share of `total`, with the interval that holds the true one with 95 % confidence."""

    count: int
    total: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.count / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which best similarity on a question counts as answered, learned from golden tests.

    `slope` is that of the logistic curve whose middle it is. The rates are those on tests that
    had no part in choosing it: negatives that were accepted, positives that were rejected.
    `false_accept_cost` says how many false rejections a false acceptance was worth.
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
    """What golden tests said of a generation before readers saw it.

    `held`: it was not published. `compared_with` is the generation that readers saw then, and
    `not_compared` says why there was no comparison. `failed` are the first of those that did not
    pass. `comparison` says what the comparison shows, line by line. The verdict of a rehearsal is
    empty.
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
    """What made a generation, and what it holds.

    `based_on` is the generation its index was copied from, `follows` the one that readers saw
    before. `replaced` counts the points that were deleted or overwritten since the index was built
    afresh. `pending` are pages that should have been read anew and could not be. `fields` are those
    that its pages' front matter adds. `gate` is what golden tests said before it was published,
    `threshold` what they taught; it may be learned later, and is all that may be. `connected` says
    how a collection is read that something else filled. `checksums` names the lists of checksums
    beside its files; a generation of an earlier surefind names none.
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

    @property
    def ref(self) -> GenerationRef:
        return GenerationRef(self.collection, self.number)


@dataclass(frozen=True, slots=True)
class Cost:
    """What embedding costs, in the currency of the price. Tokens may be an estimate."""

    tokens: int
    price_per_million_tokens: float

    @property
    def amount(self) -> float:
        return self.tokens * self.price_per_million_tokens / 1_000_000


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did. `generation` is the one that readers see after it.

    `broken_links` is None where links were not asked to be checked, `cost` where the embedder is
    free, or nobody has said its price, `gate` where no golden tests were run.
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

    @property
    def added(self) -> int:
        return len(self.added_pages)

    @property
    def changed(self) -> int:
        return len(self.changed_pages)

    @property
    def removed(self) -> int:
        return len(self.removed_pages)
