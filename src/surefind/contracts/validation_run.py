"""Converts a validation report to the published shape."""

from __future__ import annotations

from surefind.contracts.validation import ValidationReport
from surefind.evaluation.report.report import Outcome, Report, TestOutcome
from surefind.evaluation.report.wording import in_short
from surefind.evaluation.statistics.significance import Verdict

_BAD = {Outcome.FAILED, Outcome.STALE, Outcome.INVALID}
_SHORTEST_S = 1e-6
_MOST_LINES = 50
_WHY = 400


def validation_report_of(report: Report) -> ValidationReport:
    """Convert a report: answered queries count as successful, and failed tests become errors.

    If a test failed or the verdict is not a pass, the summary must not report success.
    """
    failed = [test for test in report.tests if test.latency_ms is None]
    times = [test.latency_ms / 1000 for test in report.tests if test.latency_ms is not None]
    hits, total = report.integrity.hits, report.totals.total
    elapsed_s = (report.completed_at - report.started_at).total_seconds()
    seconds = sum(times) / len(times) if times else elapsed_s / (total or 1)
    subject = report.subject
    return ValidationReport(
        run_id=report.run_id,
        total_queries=total,
        successful_queries=total - len(failed),
        failed_queries=len(failed),
        avg_similarity_score=report.integrity.mean_similarity,
        avg_query_time=max(seconds, _SHORTEST_S) if total else 0.0,
        metadata_completeness=report.integrity.complete / hits if hits else 1.0,
        total_results_retrieved=hits,
        connection_status="failed" if report.store_away else "connected",
        collection_stats={
            "collection_name": subject.collection,
            "vector_count": subject.chunks,
            "vector_dim": subject.dimensions,
            "distance": subject.distance.upper(),
            "indexed": subject.indexed > 0,
            "collection_exists": True,
        },
        errors=_errors(report),
        started_at=report.started_at,
        completed_at=report.completed_at,
    )


def _errors(report: Report) -> list[str]:
    """Includes failed tests even if the gate passed: the summary must not report success."""
    lines = [
        f"Query '{in_short(test.query_text)}' failed: {_why(test) or 'it did not run'}"
        for test in report.tests
        if test.latency_ms is None
    ]
    lines += [
        f"Test '{in_short(test.test_id)}' {test.outcome.value}: {_why(test)}"
        for test in report.tests
        if test.outcome in _BAD and test.latency_ms is not None
    ]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more"]
    if report.verdict is not Verdict.PASS:
        lines += [f"{report.verdict.value}: {reason}" for reason in report.reasons]
    return lines


def _why(test: TestOutcome) -> str:
    return in_short(test.message, _WHY)
