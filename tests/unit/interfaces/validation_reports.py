"""Reports made by hand, for tests of what becomes of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.report import (
    ExpectationResult,
    FoundHit,
    Integrity,
    Outcome,
    Report,
    Subject,
    TestOutcome,
)
from surefind.evaluation.report.summary import RunFacts, summarise
from surefind.model import Mode

BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MEASURES = (Measure.parse("nDCG@5"), Measure.parse("MRR"))
SUBJECT = Subject("docs", 3, 120, 384, "fake/words (384 dimensions, abc)", Mode.HYBRID, 5, "0.1.0")
RUN = RunFacts("run-1", SUBJECT, BEGIN, BEGIN + timedelta(seconds=2), 4, Integrity(10, 10, 0.7, ()))


def outcome(
    test_id: str,
    value: float | None = 1.0,
    outcome: Outcome = Outcome.PASSED,
    *,
    kind: TestKind = TestKind.POSITIVE,
    category: str = "",
    cause: str = "",
    message: str = "",
    latency_ms: float | None = 10.0,
) -> TestOutcome:
    """`value` is that of both measures; None for a test that is not judged."""
    return TestOutcome(
        test_id=test_id,
        query_text=f"What about {test_id}?",
        kind=kind,
        category=category,
        outcome=outcome,
        min_accuracy=1.0,
        min_similarity_score=None,
        accuracy=value,
        cause=cause,
        message=message,
        sought=()
        if value is None
        else (ExpectationResult("chunk a", "a", 1, 1 if value else None),),
        found=(FoundHit(1, "a", ("a",), "https://x.org/a", "A", 0.9, 0.8),),
        measures={} if value is None else {"nDCG@5": value, "MRR": value},
        latency_ms=latency_ms,
        executed_at=BEGIN,
        digest=f"digest of {test_id}",
    )


def golden(tests: Sequence[TestOutcome], *rules: tuple[RuleSeverity, str]) -> GoldenSet:
    return GoldenSet(
        "golden.yaml",
        tuple(GoldenTest(test.test_id, test.query_text) for test in tests),
        gates=tuple(QualityRule.parse(severity, rule) for severity, rule in rules),
    )


def report(
    *tests: TestOutcome, rules: Sequence[tuple[RuleSeverity, str]] = (), run: RunFacts = RUN
) -> Report:
    return summarise(golden(tests, *rules), MEASURES, tests, run)


def full_report() -> Report:
    """One of everything."""
    return report(
        outcome("good", category="factual"),
        outcome("half", 0.5, Outcome.FAILED, category="factual", cause="outranked", message="9th"),
        outcome("old", 0.0, Outcome.STALE, cause="stale_label", message="gone"),
        outcome("empty", None, Outcome.INVALID, cause="empty", message="expects nothing"),
        outcome("broken", 0.0, Outcome.ERROR, cause="error", message="a | b", latency_ms=None),
        outcome("off-topic", None, Outcome.FAILED, kind=TestKind.NEGATIVE, message="answered"),
        outcome("off", None, kind=TestKind.NEGATIVE),
        outcome("late", None, Outcome.NOT_RUN, latency_ms=None),
        rules=[(RuleSeverity.WARN, "p95_ms > 1"), (RuleSeverity.FAIL, "nDCG@5 < 0.9")],
        run=replace(RUN, integrity=Integrity(10, 9, 0.7, ("bad-chunk",))),
    )
