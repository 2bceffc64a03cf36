"""A run beside an earlier one over the same tests: what changed, and whether by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from surefind.errors import NotComparable
from surefind.evaluation.golden import GoldenSet
from surefind.evaluation.metrics import Measure
from surefind.evaluation.report import (
    Comparison,
    MeasureChange,
    Outcome,
    Report,
    TestChange,
    TestOutcome,
)
from surefind.evaluation.statistics import Verdict, compare, holm, verdict
from surefind.evaluation.summary import by_id, with_comparison, without_comparison

_EQUAL = 1e-9
_NOTHING_JUDGED = "no test has a judged answer, so there is nothing to compare by"


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


def check_baseline(
    baseline: Report, golden: GoldenSet, top_k: int, measures: Sequence[Measure]
) -> None:
    """NotComparable, saying why, as far as it can be known before a question is asked."""
    _check_alike(baseline, golden.name, golden.digest, top_k)
    if not any(test.expected or test.known_wrong for test in golden.tests):
        raise NotComparable(_NOTHING_JUDGED)
    _shared(baseline, [str(measure) for measure in measures])


def beside_baseline(baseline: Report, report: Report) -> Report:
    """The report with what the comparison says.

    Where there can be none, it says why, and is no pass: whoever asked for a comparison must not
    read that all is well.
    """
    try:
        compared = with_comparison(report, compare_reports(baseline, report))
    except NotComparable as error:
        return without_comparison(report, str(error))
    return replace(compared, warnings=(*compared.warnings, *_asked_otherwise(baseline, report)))


def _asked_otherwise(baseline: Report, report: Report) -> Iterator[str]:
    """To compare two ways of asking is a good use; to do so unawares is not."""
    before, now = baseline.subject, report.subject
    if before.mode is not now.mode:
        yield f"the baseline was asked in {before.mode.value} mode, this run in {now.mode.value}"
    if before.collapse is not now.collapse:
        yield (
            f"the baseline was asked with collapse {before.collapse.value}, this run with "
            f"{now.collapse.value}"
        )
    if before.embedder != now.embedder:
        yield f"the baseline was embedded by {before.embedder}, this run by {now.embedder}"
    if before.collection != now.collection:
        yield f"the baseline asked the collection {before.collection}, this run {now.collection}"


def _shared_measures(baseline: Report, report: Report) -> Sequence[str]:
    _check_alike(baseline, report.golden, report.golden_digest, report.subject.top_k)
    if not report.means.judged:
        raise NotComparable(_NOTHING_JUDGED)
    return _shared(baseline, list(report.means.values))


def _check_alike(baseline: Report, golden: str, digest: str, top_k: int) -> None:
    if baseline.golden_digest != digest:
        raise NotComparable(
            f"the baseline was made with other tests ({baseline.golden}, "
            f"{baseline.golden_digest[:12]}) than this run ({golden}, "
            f"{digest[:12]}); save a new one with --save-baseline"
        )
    if baseline.subject.top_k != top_k:
        raise NotComparable(
            f"the baseline looked at {baseline.subject.top_k} results, this run at "
            f"{top_k}; use --top-k {baseline.subject.top_k}, or save a new baseline"
        )
    if baseline.interrupted:
        raise NotComparable(f"the baseline's run ended early: {baseline.interrupted}")
    if not baseline.means.judged:
        raise NotComparable(f"in the baseline {_NOTHING_JUDGED}")


def _shared(baseline: Report, measures: Sequence[str]) -> Sequence[str]:
    shared = [name for name in measures if name in baseline.means.values]
    if not shared:
        raise NotComparable(
            f"the baseline has other measures ({', '.join(baseline.means.values)}) than this run "
            f"({', '.join(measures)}); save a new one with --save-baseline"
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
