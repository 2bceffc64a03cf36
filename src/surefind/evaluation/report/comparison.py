"""Compares a run with a baseline over their shared tests: what changed, and whether by chance.

A test is shared if both runs have its id, with the same question and expectations. Its category and
the other tests of the file do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from surefind.errors import NotComparable
from surefind.evaluation.golden.golden_set import GoldenSet
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.report import (
    Comparison,
    MeasureChange,
    Outcome,
    Report,
    Subject,
    TestChange,
    TestOutcome,
)
from surefind.evaluation.report.summary import by_id, with_comparison, without_comparison
from surefind.evaluation.statistics.significance import (
    ComparisonEvidence,
    compare,
    evidence,
    holm,
    share_at_most,
)

_EQUAL = 1e-9
_NOTHING_JUDGED = "no test has judged results, so there is nothing to compare"
_SAVE_BASELINE = "save a new one with --save-baseline"


def compare_reports(baseline: Report, report: Report) -> Comparison:
    """Compare two runs; NotComparable, with the reason, if they share nothing to compare."""
    measures = _shared_measures(baseline, report)
    sharing = _shared_tests(baseline, report.golden, _digests(report), report.golden_digest)
    before, after = by_id(baseline.tests), by_id(report.tests)
    pairs = [(before[name], after[name]) for name in sharing.shared]
    answered = [pair for pair in pairs if not _was_not_run(pair)]
    stale = [pair for pair in answered if _became_stale(pair)]
    compared = [pair for pair in answered if not _became_stale(pair)]
    changes = _measured(pairs, measures)
    changed = [(change_of(pair, measures[0]), direction(pair, measures)) for pair in compared]
    better = tuple(change for change, direction in changed if direction > 0)
    worse = tuple(change for change, direction in changed if direction < 0)
    found = _overall(changes, better, worse, is_whole=not stale)
    return Comparison(
        baseline_run_id=baseline.run_id,
        baseline_generation=baseline.subject.generation,
        measure=measures[0],
        changes=changes,
        better=better,
        worse=worse,
        same=len(compared) - len(better) - len(worse),
        verdict=found.verdict,
        evidence=found,
        worse_at_most=share_at_most(len(worse), len(compared)),
        became_stale=tuple(change_of(pair, measures[0]) for pair in stale),
        added=sharing.added,
        changed=sharing.changed,
        vanished=sharing.vanished,
    )


def check_baseline(
    baseline: Report, golden: GoldenSet, top_k: int, measures: Sequence[Measure]
) -> None:
    """Raise NotComparable, with the reason, if the check can already fail before the run."""
    _check_alike(baseline, top_k)
    if not any(test.expected or test.known_wrong for test in golden.tests):
        raise NotComparable(_NOTHING_JUDGED)
    digests = {test.test_id: test.digest for test in golden.tests}
    _shared_tests(baseline, golden.name, digests, golden.digest)
    _shared(baseline, [str(measure) for measure in measures])


def compared_with(baseline: Report, report: Report) -> Report:
    """Add the comparison to the report.

    If the runs are not comparable, the report says why and does not pass: a requested comparison
    that failed must not look like success.
    """
    try:
        compared = with_comparison(report, compare_reports(baseline, report))
    except NotComparable as error:
        return without_comparison(report, str(error))
    return replace(compared, warnings=(*compared.warnings, *_option_changes(baseline, report)))


def _option_changes(baseline: Report, report: Report) -> Iterator[str]:
    """Warnings about different search options: comparing them is useful only on purpose."""
    before, now = baseline.subject, report.subject
    if before.target != now.target:
        yield f"the baseline searched {before.searched}, this run {now.searched}"
        return
    if before.mode is not now.mode and before.mode and now.mode:
        yield f"the baseline used {before.mode.value} mode, this run {now.mode.value}"
    if before.collapse is not now.collapse:
        yield (f"the baseline used collapse {before.collapse.value}, this run {now.collapse.value}")
    if before.group_by is not now.group_by:
        yield f"the baseline {_grouping(before)}, this run {_grouping(now)}"
    if before.embedder != now.embedder:
        yield f"the baseline used the embedder {before.embedder}, this run {now.embedder}"
    if before.collection != now.collection:
        yield f"the baseline searched the collection {before.collection}, this run {now.collection}"


def _grouping(subject: Subject) -> str:
    return f"grouped by {subject.group_by.value}" if subject.group_by else "did not group"


# --- what can be compared ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sharing:
    """Test ids, in the order of the run that has them."""

    shared: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]


def _digests(report: Report) -> Mapping[str, str]:
    return {test.test_id: test.digest for test in report.tests}


def _shared_tests(
    baseline: Report, golden: str, digests: Mapping[str, str], golden_digest: str
) -> _Sharing:
    before = _digests(baseline)
    # Reports of older surefind versions have no digests of single tests: it is all or nothing.
    is_all = baseline.golden_digest == golden_digest
    known = [name for name in digests if name in before]
    same = [name for name in known if is_all or (before[name] and before[name] == digests[name])]
    if not same:
        tests = f"{baseline.golden}, {baseline.golden_digest[:12]}"
        if known and not any(before.values()):
            raise NotComparable(
                f"the baseline ({tests}) was saved by an older surefind version, and the tests "
                f"have changed since; {_SAVE_BASELINE}"
            )
        raise NotComparable(
            f"the baseline ({tests}) and this run ({golden}, {golden_digest[:12]}) share no tests; "
            f"{_SAVE_BASELINE}"
        )
    return _Sharing(
        shared=tuple(same),
        added=tuple(name for name in digests if name not in before),
        changed=tuple(name for name in known if name not in set(same)),
        vanished=tuple(name for name in before if name not in digests),
    )


def _shared_measures(baseline: Report, report: Report) -> Sequence[str]:
    _check_alike(baseline, report.subject.top_k)
    if not report.means.judged:
        raise NotComparable(_NOTHING_JUDGED)
    return _shared(baseline, list(report.means.values))


def _check_alike(baseline: Report, top_k: int) -> None:
    if baseline.subject.top_k != top_k:
        raise NotComparable(
            f"the baseline used top_k {baseline.subject.top_k}, this run {top_k}; use --top-k "
            f"{baseline.subject.top_k}, or save a new baseline"
        )
    if baseline.interrupted:
        raise NotComparable(f"the baseline's run ended early: {baseline.interrupted}")
    if not baseline.means.judged:
        raise NotComparable(f"in the baseline {_NOTHING_JUDGED}")


def _shared(baseline: Report, measures: Sequence[str]) -> Sequence[str]:
    shared = [name for name in measures if name in baseline.means.values]
    if not shared:
        raise NotComparable(
            f"the baseline's measures ({', '.join(baseline.means.values)}) and this run's "
            f"({', '.join(measures)}) differ; {_SAVE_BASELINE}"
        )
    return shared


# --- what changed -----------------------------------------------------------------------------

_Pair = tuple[TestOutcome, TestOutcome]
"""One test in the baseline and in this run."""


def _was_not_run(pair: _Pair) -> bool:
    return any(test.outcome is Outcome.NOT_RUN for test in pair)


def _became_stale(pair: _Pair) -> bool:
    before, after = pair
    return after.outcome is Outcome.STALE and before.outcome is not Outcome.STALE


def _measured(pairs: Iterable[_Pair], measures: Sequence[str]) -> tuple[MeasureChange, ...]:
    judged = [
        (before.measures, after.measures)
        for before, after in pairs
        if before.measures and after.measures and after.outcome is not Outcome.NOT_RUN
    ]
    differences = {
        measure: compare(
            [before[measure] for before, _ in judged],
            [after[measure] for _, after in judged],
            measures=len(measures),
        )
        for measure in measures
    }
    corrected = holm({measure: one.p for measure, one in differences.items()})
    found = {name: evidence(one, corrected[name]) for name, one in differences.items()}
    return tuple(
        MeasureChange(name, one, corrected[name], found[name].verdict, found[name])
        for name, one in differences.items()
    )


def change_of(pair: _Pair, measure: str) -> TestChange:
    before, after = pair
    return TestChange(
        after.test_id,
        after.query_text,
        before.outcome,
        after.outcome,
        before.measures.get(measure),
        after.measures.get(measure),
    )


def direction(pair: _Pair, measures: Sequence[str]) -> int:
    """Positive if better: by the outcome, else by the first measure that changed."""
    before, after = pair
    passed = (after.outcome is Outcome.PASSED) - (before.outcome is Outcome.PASSED)
    if passed:
        return passed
    for measure in measures:
        gained = after.measures.get(measure, 0.0) - before.measures.get(measure, 0.0)
        if abs(gained) > _EQUAL:
            return 1 if gained > 0 else -1
    return 0


def _overall(
    changes: Sequence[MeasureChange],
    better: Sequence[TestChange],
    worse: Sequence[TestChange],
    *,
    is_whole: bool,
) -> ComparisonEvidence:
    """The worst evidence of any measure; never positive if tests could not be compared."""
    found = {change.evidence for change in changes}
    if ComparisonEvidence.WORSE in found:
        return ComparisonEvidence.WORSE
    # No measure shows a negative that now gets an answer.
    unmeasured = any(one.value_after is None for one in worse)
    if ComparisonEvidence.MIXED in found or unmeasured or not is_whole:
        return ComparisonEvidence.MIXED
    for one in (
        ComparisonEvidence.NOT_WORSE,
        ComparisonEvidence.BETTER,
        ComparisonEvidence.NO_HARM,
    ):
        if one in found:
            return one
    return ComparisonEvidence.NO_HARM if better else ComparisonEvidence.NO_CHANGE
