"""The report of a validation, as frozen values.

The JSON report mirrors these classes field by field; SCHEMA is their version and changes with them.
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
from surefind.model import Collapse, GroupBy, Mode

SCHEMA: Literal["surefind.validation/1"] = "surefind.validation/1"

# pydantic reads this when it parses the JSON: unknown fields are errors.
_STRICT: Any = {"extra": "forbid"}


class Outcome(StrEnum):
    """STALE: an expected result no longer exists. INVALID: the test can't be judged as written."""

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"
    INVALID = "invalid"
    ERROR = "error"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class FoundHit:
    """One hit of a test's question.

    `labels` are its names in the measures: the expectations that it is the first to meet, or its
    own name; empty if it only repeats earlier hits. `twins` are chunks with identical text that
    this hit represents.
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
    """One expectation: the rank at which it was found, or why it was not found.

    `stale` is true if no chunk of the collection matches. `lost` is true if only the previous
    generation had a match; the expectation then counts as not found. `meant` lists the first few
    matching chunks, and `nearest` is the highest-ranked of them. `ahead` lists the chunks that
    ranked before it.
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
    """`accuracy` is None if the test expects nothing, `latency_ms` if it did not run.

    `digest` identifies the test across runs; it is empty in older reports.
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
    """The means over judged tests. `failed` tests count as zero; `unjudged` ones do not count.

    `values` is empty if no test is judged. `without_relevant` tests have judgements but nothing
    relevant: they count as zero, as in trec_eval, or as unjudged if all tests are like that.
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
class Breakdown:
    """Groups of tests, by what `by` says: folder, version, locale or question length."""

    __pydantic_config__ = _STRICT

    by: str
    groups: tuple[Category, ...]


@dataclass(frozen=True, slots=True)
class Negatives:
    """Questions without an answer in the collection; `accepted` counts those that got one."""

    __pydantic_config__ = _STRICT

    total: int
    accepted: int
    false_accept_rate: float | None


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of the successful searches, run `concurrency` at a time.

    Each time covers embedding and search, without queueing.
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
    """Checks of all hits: `complete` ones have a text, a URL and a title; the text of `tampered`
    chunks does not match its hash; `uncatalogued` chunks are in the index only.
    """

    __pydantic_config__ = _STRICT

    hits: int
    complete: int
    mean_similarity: float
    tampered: tuple[str, ...]
    uncatalogued: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """`value` is None if nothing could be measured; `met` means that the run fails or warns."""

    __pydantic_config__ = _STRICT

    severity: RuleSeverity
    rule: str
    value: float | None
    met: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """The validated collection and the search options. `indexed` counts the vectors in HNSW.

    If a `target` was validated, that is its address, `collection` is empty, `mode` is None, and the
    numbers of its index are unknown: 0.
    """

    __pydantic_config__ = _STRICT

    collection: str
    generation: int
    chunks: int
    dimensions: int
    embedder: str
    mode: Mode | None
    top_k: int
    surefind_version: str
    collapse: Collapse = Collapse.OFF
    indexed: int = 0
    distance: str = "cosine"
    group_by: GroupBy | None = None
    target: str = ""

    @property
    def searched(self) -> str:
        """What was searched, in words."""
        if self.target:
            return f"target {self.target}"
        return f"{self.collection}, generation {self.generation}"

    @property
    def options(self) -> str:
        """The mode, if there is one, and the number of results."""
        return f"top {self.top_k}" if self.mode is None else f"{self.mode.value}, top {self.top_k}"


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """`p` is corrected for multiple measures."""

    __pydantic_config__ = _STRICT

    measure: str
    difference: MeasureDifference
    p: float
    verdict: Verdict
    evidence: ComparisonEvidence = ComparisonEvidence.MIXED


@dataclass(frozen=True, slots=True)
class TestChange:
    """One test whose outcome or first measure changed since the baseline."""

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
    """A comparison with a baseline, over the shared tests.

    `measure` is the first measure. A test is better or worse by its outcome, else by the first
    measure that changed. `worse_at_most` is an upper bound, with 95 % confidence, on the fraction
    of similar queries that got worse. `became_stale` lists tests whose results existed in the
    baseline. `added`, `changed` and `vanished` list the tests that are not compared, because only
    one run has them or their question or expectations changed.
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
        """The number of tests that found something in the baseline and find nothing now."""
        return sum(bool(one.value_before) and one.value_after == 0 for one in self.worse)


@dataclass(frozen=True, slots=True)
class Report:
    """`interrupted` says why a run ended early, `reasons` why the verdict is not pass.

    `store_away` is true if the run ended because a store or a service became unavailable.
    `separation` is set if there are positives and negatives, `index_recall` and `load` if they
    were requested.
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
    breakdowns: tuple[Breakdown, ...] = ()
    schema: Literal["surefind.validation/1"] = SCHEMA
