"""Summarizes test outcomes into a report, with a verdict and its reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

from surefind.evaluation.golden.gates import QUANTITIES, QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, TestKind
from surefind.evaluation.golden.resolution import LOST_ANSWER, Places
from surefind.evaluation.measures.index_recall import IndexRecall
from surefind.evaluation.measures.latency import LoadResult
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.measures.thresholds import Separation, separate
from surefind.evaluation.report.breakdowns import groups_of
from surefind.evaluation.report.report import (
    Breakdown,
    Category,
    Comparison,
    Integrity,
    Latency,
    Means,
    Negatives,
    Outcome,
    Report,
    RuleOutcome,
    Subject,
    TestOutcome,
    Totals,
)
from surefind.evaluation.statistics.significance import ComparisonEvidence, Verdict, percentile


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts of a run besides its tests."""

    run_id: str
    subject: Subject
    started_at: datetime
    completed_at: datetime
    concurrency: int
    integrity: Integrity
    interrupted: str = ""
    store_away: bool = False
    index_recall: IndexRecall | None = None
    load: LoadResult | None = None
    false_accept_cost: float = 1.0
    places: Places = field(default_factory=dict)
    stages_ms: Mapping[str, Sequence[float]] = field(default_factory=dict)


def summarise(
    golden: GoldenSet, measures: Sequence[Measure], tests: Sequence[TestOutcome], run: RunFacts
) -> Report:
    means = means_of(tests, measures)
    totals = totals_of(tests)
    negatives = _negatives(tests)
    latency = _latency(tests, run.concurrency)
    known = _quantities(tests, totals, negatives, latency) | dict(means.values)
    known |= _beyond_the_tests(run) | _stage_times(run)
    gates = tuple(_gate(gate, known.get(gate.quantity)) for gate in golden.gates)
    report = Report(
        run_id=run.run_id,
        golden=golden.name,
        golden_digest=golden.digest,
        subject=run.subject,
        started_at=run.started_at,
        completed_at=run.completed_at,
        tests=tuple(tests),
        totals=totals,
        means=means,
        categories=_categories(tests, measures),
        negatives=negatives,
        latency=latency,
        integrity=run.integrity,
        gates=gates,
        verdict=Verdict.PASS,
        reasons=(),
        warnings=_warnings(gates),
        interrupted=run.interrupted,
        store_away=run.store_away,
        separation=_separation(tests, run.false_accept_cost),
        index_recall=run.index_recall,
        load=run.load,
        breakdowns=tuple(_breakdowns(golden, tests, measures, run.places)),
    )
    failures = tuple(_failures(report, decided_by_gates=_has_fail_gates(golden)))
    doubts = (*_doubts(report), *_nothing_to_measure_by(golden, tests))
    return replace(report, verdict=_verdict(report, failures, doubts), reasons=failures + doubts)


def with_comparison(report: Report, comparison: Comparison, against: str = "") -> Report:
    """Add a comparison: a worse run fails; one that may be worse by chance is inconclusive.

    `against` names the baseline in the reasons if it is not a saved run.
    """
    verdict, reasons = report.verdict, report.reasons
    against = against or f"the baseline (run {comparison.baseline_run_id})"
    if comparison.verdict is Verdict.FAIL:
        worse = [change.measure for change in comparison.changes if change.verdict is Verdict.FAIL]
        reasons = (*reasons, f"{', '.join(worse)}: significantly worse than {against}")
        verdict = verdict if report.interrupted else Verdict.FAIL
    elif comparison.verdict is Verdict.INCONCLUSIVE:
        lost = {test.test_id for test in report.tests if test.cause == LOST_ANSWER}
        # Lost answers are reported already, and they are not due to chance.
        if not lost or any(one.test_id not in lost for one in comparison.worse):
            reasons = (*reasons, *_undecided(comparison, against))
        verdict = verdict if verdict is Verdict.FAIL else Verdict.INCONCLUSIVE
    return replace(report, comparison=comparison, verdict=verdict, reasons=reasons)


def _undecided(comparison: Comparison, against: str) -> Iterable[str]:
    undecided = (one for one in comparison.changes if one.evidence is ComparisonEvidence.MIXED)
    mixed = next((one for one in undecided if one.difference.queries), None)
    stale = comparison.became_stale
    if mixed is not None:
        counts = f"{mixed.difference.better} better, {mixed.difference.worse} worse"
        yield f"compared with {against}, by {mixed.measure}: {counts}, which may be chance"
    elif comparison.worse:
        worse = _counted(len(comparison.worse), "test")
        yield f"compared with {against}: {worse} got worse, which no measure shows"
    elif not stale:
        yield f"compared with {against}: no judged test is left to compare"
    if stale:
        yield f"compared with {against}: {_counted(len(stale), 'test')} became stale"


def without_comparison(report: Report, reason: str) -> Report:
    """Record that the requested comparison was not possible; the run then does not pass."""
    verdict = report.verdict if report.verdict is Verdict.FAIL else Verdict.INCONCLUSIVE
    not_compared = f"not compared with the baseline: {reason}"
    return replace(report, verdict=verdict, reasons=(*report.reasons, not_compared))


# --- numbers ----------------------------------------------------------------------------------


def totals_of(tests: Iterable[TestOutcome]) -> Totals:
    counts = Counter(test.outcome.value for test in tests)
    return Totals(total=counts.total(), **counts)


def means_of(tests: Iterable[TestOutcome], measures: Sequence[Measure]) -> Means:
    """The means. If no test has anything relevant, there are no values, rather than zeros."""
    run = [test for test in tests if test.outcome is not Outcome.NOT_RUN]
    judged = [test for test in run if test.measures]
    barren = [test.test_id for test in judged if not any(one.grade for one in test.sought)]
    if len(barren) == len(judged):
        judged = []
    return Means(
        values={
            str(measure): _mean([test.measures[str(measure)] for test in judged])
            for measure in (measures if judged else ())
        },
        judged=len(judged),
        failed=tuple(test.test_id for test in judged if test.outcome is Outcome.ERROR),
        unjudged=len(run) - len(judged),
        without_relevant=tuple(barren),
    )


def _categories(tests: Sequence[TestOutcome], measures: Sequence[Measure]) -> tuple[Category, ...]:
    return _groups({test.test_id: test.category for test in tests}, tests, measures)


def _groups(
    group_by_test: Mapping[str, str], tests: Sequence[TestOutcome], measures: Sequence[Measure]
) -> tuple[Category, ...]:
    """The totals and means of each group, by name."""
    inside: dict[str, list[TestOutcome]] = {}
    for test in tests:
        if name := group_by_test.get(test.test_id, ""):
            inside.setdefault(name, []).append(test)
    return tuple(
        Category(name, totals_of(inside[name]), means_of(inside[name], measures).values)
        for name in sorted(inside)
    )


def _breakdowns(
    golden: GoldenSet, tests: Sequence[TestOutcome], measures: Sequence[Measure], places: Places
) -> Iterable[Breakdown]:
    for by, group_by_test in groups_of(golden, places):
        yield Breakdown(by, _groups(group_by_test, tests, measures))


def _negatives(tests: Iterable[TestOutcome]) -> Negatives:
    judged = {Outcome.PASSED, Outcome.FAILED}
    negatives = [test for test in tests if test.kind is TestKind.NEGATIVE]
    decided = [test for test in negatives if test.outcome in judged]
    accepted = sum(test.outcome is Outcome.FAILED for test in decided)
    rate = accepted / len(decided) if decided else None
    return Negatives(len(negatives), accepted, rate)


def _latency(tests: Iterable[TestOutcome], concurrency: int) -> Latency:
    times = [test.latency_ms for test in tests if test.latency_ms is not None]
    return Latency(
        searches=len(times),
        concurrency=concurrency,
        mean_ms=_mean(times),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        p99_ms=percentile(times, 0.99),
        max_ms=max(times, default=0.0),
    )


def _separation(tests: Iterable[TestOutcome], false_accept_cost: float) -> Separation | None:
    """Separation by the best similarity of each question, as for a search's confidence."""
    best: dict[TestKind, list[float]] = {kind: [] for kind in TestKind}
    for test in tests:
        judged = test.outcome in {Outcome.PASSED, Outcome.FAILED}
        # A negative can't be judged without a threshold, but helps to learn one.
        if test.best_similarity is not None and (judged or test.kind is TestKind.NEGATIVE):
            best[test.kind].append(test.best_similarity)
    return separate(best[TestKind.POSITIVE], best[TestKind.NEGATIVE], false_accept_cost)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


# --- gates and verdict ------------------------------------------------------------------------


def _quantities(
    tests: Sequence[TestOutcome], totals: Totals, negatives: Negatives, latency: Latency
) -> dict[str, float]:
    """The quantities that rules can refer to, as far as they were measured."""
    known: dict[str, float] = {
        "failed": totals.failed,
        "stale": totals.stale,
        "invalid": totals.invalid,
        "errors": totals.error,
    }
    accuracies = [test.accuracy for test in tests if test.accuracy is not None]
    if accuracies:
        known["accuracy"] = _mean(accuracies)
    if totals.total > totals.not_run:
        known["pass_rate"] = totals.passed / (totals.total - totals.not_run)
        known["error_rate"] = totals.error / (totals.total - totals.not_run)
    if negatives.false_accept_rate is not None:
        known["false_accept_rate"] = negatives.false_accept_rate
    if latency.searches:
        known |= {
            field.name: getattr(latency, field.name)
            for field in fields(latency)
            if field.name in QUANTITIES
        }
    return known


def _beyond_the_tests(run: RunFacts) -> dict[str, float]:
    """Quantities of the extra checks; with a load test, latencies and errors are from it."""
    known: dict[str, float] = {}
    if run.index_recall is not None and run.index_recall.lowest is not None:
        known["index_recall"] = run.index_recall.lowest
    if run.load is not None and run.load.sent:
        known["error_rate"] = run.load.error_rate
        known |= {
            field.name: getattr(run.load, field.name)
            for field in fields(run.load)
            if field.name in QUANTITIES
        }
    return known


def _stage_times(run: RunFacts) -> dict[str, float]:
    known: dict[str, float] = {}
    for stage, times in run.stages_ms.items():
        known[f"{stage}_p50_ms"] = percentile(times, 0.5)
        known[f"{stage}_p95_ms"] = percentile(times, 0.95)
        known[f"{stage}_max_ms"] = max(times)
    return known


def _gate(gate: QualityRule, value: float | None) -> RuleOutcome:
    met = value is not None and gate.is_met_by(value)
    return RuleOutcome(gate.severity, str(gate), value, met)


def _warnings(gates: Iterable[RuleOutcome]) -> tuple[str, ...]:
    return tuple(
        f"{gate.rule}: it is {gate.value:.4g}"
        for gate in gates
        if gate.met and gate.severity is RuleSeverity.WARN
    )


def _has_fail_gates(golden: GoldenSet) -> bool:
    """Whether rules decide instead of single tests: `fail_if` rules, or a judged collection."""
    return golden.measured_only or any(gate.severity is RuleSeverity.FAIL for gate in golden.gates)


def _failures(report: Report, *, decided_by_gates: bool) -> Iterable[str]:
    totals = report.totals
    lost = sum(test.cause == LOST_ANSWER for test in report.tests)
    if lost:
        had = "its answer" if lost == 1 else "their answers"
        expect = "it expects" if lost == 1 else "they expect"
        yield (
            f"{_counted(lost, 'test')} lost {had}: the previous generation had what {expect}; "
            "update the tests if this is intended"
        )
    for gate in report.gates:
        if gate.met and gate.severity is RuleSeverity.FAIL:
            yield f"{gate.rule}: it is {gate.value:.4g}"
    if totals.failed > lost and not decided_by_gates:
        yield f"{_counted(totals.failed, 'test')} failed"
    if totals.error:
        yield f"{_counted(totals.error, 'query', 'queries')} could not be answered"
    if report.integrity.tampered:
        chunks = _counted(len(report.integrity.tampered), "chunk")
        yield f"the text of {chunks} does not match its hash: {report.integrity.tampered[0]}"
    if report.integrity.uncatalogued:
        chunks = _counted(len(report.integrity.uncatalogued), "chunk")
        yield f"the catalog has no row for {chunks} of the hits: {report.integrity.uncatalogued[0]}"
    load = report.load
    if load is not None and load.errors and not _speaks_of(report, "error_rate"):
        kinds = ", ".join(f"{count} {kind}" for kind, count in load.errors.items())
        yield f"{sum(load.errors.values())} of {load.sent} searches under load failed: {kinds}"


def _doubts(report: Report) -> Iterable[str]:
    totals = report.totals
    if report.interrupted:
        left = f", {totals.not_run} of {totals.total} tests not run" if totals.not_run else ""
        yield f"the run ended early{left}: {report.interrupted}"
    if not totals.total:
        yield "there were no queries"
    if totals.stale:
        expect = "test expects" if totals.stale == 1 else "tests expect"
        yield f"{totals.stale} {expect} results that no longer exist"
    if totals.invalid:
        yield f"{_counted(totals.invalid, 'test')} can't be judged as written"
    for gate in report.gates:
        if gate.value is None and gate.severity is RuleSeverity.FAIL:
            yield f"{gate.rule}: nothing could be measured"


def _nothing_to_measure_by(golden: GoldenSet, tests: Sequence[TestOutcome]) -> Iterable[str]:
    """A judged collection must have judgements; a list of plain questions need not."""
    if golden.measured_only and tests and not any(test.sought for test in tests):
        queries = "the query" if len(tests) == 1 else f"any of the {len(tests)} queries"
        yield f"nothing is judged relevant to {queries}, so nothing can be measured"


def _speaks_of(report: Report, quantity: str) -> bool:
    fail = (gate for gate in report.gates if gate.severity is RuleSeverity.FAIL)
    return any(gate.rule.startswith(f"{quantity} ") for gate in fail)


def _verdict(report: Report, failures: Sequence[str], doubts: Sequence[str]) -> Verdict:
    if failures and not report.interrupted:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if failures or doubts else Verdict.PASS


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def by_id(tests: Iterable[TestOutcome]) -> Mapping[str, TestOutcome]:
    return {test.test_id: test for test in tests}
