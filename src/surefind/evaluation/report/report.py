"""The report of a validation: what was asked, what came, what it proves. Plain values, frozen.

Its JSON is these classes field by field; SCHEMA names their version and changes with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from surefind.evaluation.golden.gates import RuleSeverity
from surefind.evaluation.golden.golden_set import TestKind
from surefind.evaluation.measures.index_recall import IndexRecall
from surefind.evaluation.measures.latency import LoadResult
from surefind.evaluation.measures.thresholds import Separation
from surefind.evaluation.statistics.significance import (
    ComparisonEvidence,
    MeasureDifference,
    Verdict,
)
from surefind.model import Collapse, Mode

SCHEMA: Literal["surefind.validation/1"] = "surefind.validation/1"

# Read by who turns JSON into these classes: what they do not have is an error, not silence.
_STRICT: Any = {"extra": "forbid"}


class Outcome(StrEnum):
    """STALE: what it expects is not there any more. INVALID: it expects nothing that can be."""

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"
    INVALID = "invalid"
    ERROR = "error"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class FoundHit:
    """One hit of a test's question.

    `labels` are the names that the measures know it by: those of the expectations that it is the
    first to meet, or its own; none where it only repeats what was found before. `twins` are chunks
    of the very same text that it is shown for.
    """

    __pydantic_config__ = _STRICT

    rank: int
    chunk_id: str
    labels: tuple[str, ...]
    url: str
    section: str
    score: float
    similarity: float | None
    twins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One expectation: the rank where it was found, or why it was not.

    `stale`: nothing in the collection is it. `lost`: nothing is it any more, and the generation
    before had it; it counts as not found. `meant` are the chunks that it means, the first few
    where it means many; `nearest` is the one of them that came nearest to being shown. `ahead` are
    the ids of chunks that were shown before it.
    """

    __pydantic_config__ = _STRICT

    expectation: str
    label: str
    grade: int
    rank: int | None = None
    stale: bool = False
    cause: str = ""
    message: str = ""
    ahead: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    nearest: str = ""
    lost: bool = False


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """`accuracy` is None where there is nothing to find, `latency_ms` where nothing was asked.

    `digest` is the same in two runs that asked the same test; empty in older reports.
    """

    __test__ = False
    __pydantic_config__ = _STRICT

    test_id: str
    query_text: str
    kind: TestKind
    category: str
    outcome: Outcome
    min_accuracy: float
    min_similarity_score: float | None
    accuracy: float | None = None
    cause: str = ""
    message: str = ""
    sought: tuple[ExpectationResult, ...] = ()
    found: tuple[FoundHit, ...] = ()
    known_wrong: tuple[str, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    latency_ms: float | None = None
    best_similarity: float | None = None
    executed_at: datetime | None = None
    where: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    __pydantic_config__ = _STRICT

    total: int = 0
    passed: int = 0
    failed: int = 0
    stale: int = 0
    invalid: int = 0
    error: int = 0
    not_run: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """Of the judged tests that were run. `failed` count as zero, `unjudged` for nothing.

    `values` is empty where none is judged. `without_relevant` were judged, and nothing is relevant
    to them: they count as zero, as trec_eval has it, and as unjudged where all are like that.
    """

    __pydantic_config__ = _STRICT

    values: Mapping[str, float]
    judged: int
    failed: tuple[str, ...]
    unjudged: int
    without_relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Category:
    __pydantic_config__ = _STRICT

    name: str
    totals: Totals
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Negatives:
    """Questions that nothing answers; `accepted` are those that were given an answer."""

    __pydantic_config__ = _STRICT

    total: int
    accepted: int
    false_accept_rate: float | None


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of the searches that were answered, `concurrency` at a time.

    Each is the time of its own embedding and search, without what it waited for others.
    """

    __pydantic_config__ = _STRICT

    searches: int
    concurrency: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Integrity:
    """Of all hits: `complete` have a text, an address and a title; the text of `tampered` chunks
    is not the one that their hash was made of. `uncatalogued` chunks are in the index alone.
    """

    __pydantic_config__ = _STRICT

    hits: int
    complete: int
    mean_similarity: float
    tampered: tuple[str, ...]
    uncatalogued: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """`value` is None where there was nothing to measure it by; `met` is the bad news."""

    __pydantic_config__ = _STRICT

    severity: RuleSeverity
    rule: str
    value: float | None
    met: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """What was validated, and how it was asked. `indexed` vectors are searched by a graph."""

    __pydantic_config__ = _STRICT

    collection: str
    generation: int
    chunks: int
    dimensions: int
    embedder: str
    mode: Mode
    top_k: int
    surefind_version: str
    collapse: Collapse = Collapse.OFF
    indexed: int = 0
    distance: str = "cosine"


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """`p` is corrected for the number of measures."""

    __pydantic_config__ = _STRICT

    measure: str
    difference: MeasureDifference
    p: float
    verdict: Verdict
    evidence: ComparisonEvidence = ComparisonEvidence.MIXED


@dataclass(frozen=True, slots=True)
class TestChange:
    """One test whose outcome or first measure is another than in the baseline."""

    __test__ = False
    __pydantic_config__ = _STRICT

    test_id: str
    query_text: str
    before: Outcome
    after: Outcome
    value_before: float | None
    value_after: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Against a baseline, over the tests that both runs share.

    `measure` is the first measure. A test is better or worse by its outcome, else by the first
    measure that changed. `worse_at_most` is the share of queries like these that got worse at
    most, with 95 % confidence. `became_stale` are tests whose answer was there in the baseline.
    `added`, `changed` and `vanished` are the ids of tests that only one run has, or that ask or
    expect something else now; they are not compared.
    """

    __pydantic_config__ = _STRICT

    baseline_run_id: str
    baseline_generation: int
    measure: str
    changes: tuple[MeasureChange, ...]
    better: tuple[TestChange, ...]
    worse: tuple[TestChange, ...]
    same: int
    verdict: Verdict
    evidence: ComparisonEvidence = ComparisonEvidence.MIXED
    worse_at_most: float = 1.0
    became_stale: tuple[TestChange, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        return len(self.better) + len(self.worse) + self.same

    @property
    def lost_entirely(self) -> int:
        """How many found something in the baseline and find nothing now."""
        return sum(bool(one.value_before) and one.value_after == 0 for one in self.worse)


@dataclass(frozen=True, slots=True)
class Report:
    """`interrupted` says why a run ended early, `reasons` why the verdict is not pass.

    `store_away` is set where it ended since a store or a service did not answer any more.
    `separation` is there where there are positives and negatives, `index_recall` and `load` where
    they were asked for.
    """

    __pydantic_config__ = _STRICT

    run_id: str
    golden: str
    golden_digest: str
    subject: Subject
    started_at: datetime
    completed_at: datetime
    tests: tuple[TestOutcome, ...]
    totals: Totals
    means: Means
    categories: tuple[Category, ...]
    negatives: Negatives
    latency: Latency
    integrity: Integrity
    gates: tuple[RuleOutcome, ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    interrupted: str = ""
    store_away: bool = False
    comparison: Comparison | None = None
    separation: Separation | None = None
    index_recall: IndexRecall | None = None
    load: LoadResult | None = None
    schema: Literal["surefind.validation/1"] = SCHEMA
