"""A run beside an earlier one over the same tests: what changed, and whether by chance."""

from __future__ import annotations

from collections.abc import Sequence

from surefind.errors import NotComparable
from surefind.evaluation.report import (
    Comparison,
    MeasureChange,
    Outcome,
    Report,
    TestChange,
    TestOutcome,
)
from surefind.evaluation.statistics import Verdict, compare, holm, verdict
from surefind.evaluation.summary import by_id

_EQUAL = 1e-9


def compare_reports(baseline: Report, report: Report) -> Comparison:
    """NotComparable, saying why, where the two can't be laid side by side."""
    measures = _shared_measures(baseline, report)
    before, after = by_id(baseline.tests), by_id(report.tests)
    judged = [
        name
        for name, test in after.items()
        if test.measures and before[name].measures and test.outcome is not Outcome.NOT_RUN
    ]
    differences = {
        measure: compare(
            [before[name].measures[measure] for name in judged],
            [after[name].measures[measure] for name in judged],
        )
        for measure in measures
    }
    corrected = holm({measure: one.p for measure, one in differences.items()})
    changes = tuple(
        MeasureChange(measure, one, corrected[measure], verdict(one, corrected[measure]))
        for measure, one in differences.items()
    )
    pairs = [(before[name], test) for name, test in after.items()]
    told = [
        (_change(old, new, measures[0]), _direction(old, new, measures[0])) for old, new in pairs
    ]
    return Comparison(
        baseline_run_id=baseline.run_id,
        baseline_generation=baseline.subject.generation,
        measure=measures[0],
        changes=changes,
        better=tuple(change for change, direction in told if direction > 0),
        worse=tuple(change for change, direction in told if direction < 0),
        same=sum(direction == 0 for _, direction in told),
        verdict=_overall([change.verdict for change in changes]),
    )


def _shared_measures(baseline: Report, report: Report) -> Sequence[str]:
    if baseline.golden_digest != report.golden_digest:
        raise NotComparable(
            f"the baseline was made with other tests ({baseline.golden}, "
            f"{baseline.golden_digest[:12]}) than this run ({report.golden}, "
            f"{report.golden_digest[:12]}); save a new one with --save-baseline"
        )
    if baseline.subject.top_k != report.subject.top_k:
        raise NotComparable(
            f"the baseline looked at {baseline.subject.top_k} results, this run at "
            f"{report.subject.top_k}; use --top-k {baseline.subject.top_k}, or save a new baseline"
        )
    if baseline.interrupted:
        raise NotComparable(f"the baseline's run ended early: {baseline.interrupted}")
    if not report.means.judged or not baseline.means.judged:
        raise NotComparable("no test has a judged answer, so there is nothing to compare by")
    shared = [name for name in report.means.values if name in baseline.means.values]
    if not shared:
        raise NotComparable(
            f"the baseline has other measures ({', '.join(baseline.means.values)}) than this run "
            f"({', '.join(report.means.values)})"
        )
    return shared


def _change(old: TestOutcome, new: TestOutcome, measure: str) -> TestChange:
    return TestChange(
        new.test_id,
        new.query_text,
        old.outcome,
        new.outcome,
        old.measures.get(measure),
        new.measures.get(measure),
    )


def _direction(old: TestOutcome, new: TestOutcome, measure: str) -> int:
    """By the outcome first; among equal ones by the measure."""
    if Outcome.NOT_RUN in {old.outcome, new.outcome}:
        return 0
    passed = (new.outcome is Outcome.PASSED) - (old.outcome is Outcome.PASSED)
    if passed:
        return passed
    gained = new.measures.get(measure, 0.0) - old.measures.get(measure, 0.0)
    return (gained > _EQUAL) - (gained < -_EQUAL)


def _overall(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Verdict.PASS
