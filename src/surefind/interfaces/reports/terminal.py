"""A report for the terminal: the verdict, the summary of the contract, details, and the reasons."""

from collections.abc import Iterable, Sequence

from surefind.contracts.validation_run import validation_report_of
from surefind.evaluation.report.report import Comparison, Outcome, Report, TestChange, TestOutcome
from surefind.evaluation.report.wording import SHORT, compared, in_short, passed_by, values_of
from surefind.interfaces.reports.extra_checks import extra_check_lines
from surefind.interfaces.reports.tables import table, worst_groups

_SHOWN = 20
_BETTER_SHOWN = 5
_TITLES = {"pass": "PASSED", "fail": "FAILED", "inconclusive": "INCONCLUSIVE"}


def terminal(report: Report) -> str:
    parts = [
        _title(report),  # the summary counts answered queries, also those with a wrong answer
        _target(report) if report.subject.target else validation_report_of(report).to_summary(),
        *_numbers(report),
        *_categories(report),
        *_breakdowns(report),
        *("\n".join(lines) for lines in extra_check_lines(report)),
        *_comparison(report.comparison),
        *_tests(report.tests),
        "\n".join(_verdict(report)),
    ]
    return "\n\n".join(part for part in parts if part)


def _target(report: Report) -> str:
    """The contract's summary describes an index, which a target does not show."""
    subject = report.subject
    return f"target: {subject.target}\nsearch: {subject.options}"


def _numbers(report: Report) -> Iterable[str]:
    means, latency, negatives = report.means, report.latency, report.negatives
    if means.judged:
        rows = [(name, f"{value:.4f}") for name, value in means.values.items()]
        yield table(("measure", "mean"), rows)
        counts = {
            "judged queries": means.judged,
            "failed, counted as zero": len(means.failed),
            "without relevant passages, counted as zero": len(means.without_relevant),
            "without judgements, excluded": means.unjudged,
        }
        lines = [f"{name}: {count}" for name, count in counts.items() if count]
        yield "; ".join(lines)
    if negatives.total:
        yield f"negatives: {negatives.accepted} of {negatives.total} were wrongly answered"
    if latency.searches:
        times = {"p50": latency.p50_ms, "p95": latency.p95_ms, "p99": latency.p99_ms}
        percentiles = ", ".join(f"{name} {value:.1f} ms" for name, value in times.items())
        yield f"latency: {percentiles} (concurrency {latency.concurrency})"


def _categories(report: Report) -> Iterable[str]:
    if report.categories:
        names = list(report.means.values)
        yield table(
            ("category", "passed", *names),
            [
                (
                    category.name,
                    f"{category.totals.passed}/{category.totals.total}",
                    *(f"{category.means[name]:.3f}" if category.means else "" for name in names),
                )
                for category in report.categories
            ],
        )


def _breakdowns(report: Report) -> Iterable[str]:
    """Only the first measure, and the worst groups: --json has all."""
    for one in report.breakdowns:
        yield table(
            (one.by, "passed", next(iter(report.means.values), "")), worst_groups(report, one)
        )


def _comparison(comparison: Comparison | None) -> Iterable[str]:
    if comparison is None:
        return
    rows = [
        (
            change.measure,
            f"{change.difference.before:.3f}",
            f"{change.difference.after:.3f}",
            f"{change.difference.mean:+.3f}",
            f"{change.difference.low:+.3f}..{change.difference.high:+.3f}",
            f"{change.p:.3f}",
            f"{change.difference.detectable:.3f}",
            str(change.evidence),
        )
        for change in comparison.changes
    ]
    head = ("measure", "before", "after", "change", "95 % interval", "p", "detectable", "evidence")
    yield table(head, rows, whole=range(len(head) - 1), dense=True)
    yield "\n".join(compared(comparison))
    measure = comparison.measure
    yield "\n".join(
        [
            *_changed("worse", comparison.worse, measure, _SHOWN),
            *_changed("better", comparison.better, measure, _BETTER_SHOWN),
        ]
    )


def _changed(name: str, changes: Sequence[TestChange], measure: str, most: int) -> Iterable[str]:
    for one in changes[:most]:
        outcomes = f"{one.before.value} -> {one.after.value}"
        yield (
            f"  {name}: {in_short(one.test_id)}: {in_short(one.query_text)} "
            f"({outcomes}{values_of(one, measure)})"
        )
    if len(changes) > most:
        yield f"  and {len(changes) - most} more {name}; --json lists all"


def _tests(tests: Sequence[TestOutcome]) -> Iterable[str]:
    bad = [test for test in tests if test.outcome not in {Outcome.PASSED, Outcome.NOT_RUN}]
    if not bad:
        return
    rows = [
        (
            in_short(test.test_id),
            in_short(test.query_text),
            test.outcome.value,
            test.cause.replace("_", " "),
            in_short(test.message, 2 * SHORT),
        )
        for test in bad[:_SHOWN]
    ]
    yield table(("test", "query", "outcome", "cause", "details"), rows)
    if len(bad) > _SHOWN:
        yield f"and {len(bad) - _SHOWN} more; --json lists all"


def _title(report: Report) -> str:
    totals = report.totals
    title = _TITLES[report.verdict.value]
    how = passed_by(report)
    tests = " tests" if how else ""
    passed = f"{totals.passed} of {totals.total}{tests} passed"
    return f"{title}{how}: {passed} ({in_short(report.golden)})"


def _verdict(report: Report) -> Iterable[str]:
    yield _title(report)
    yield from (f"  {reason}" for reason in report.reasons)
    yield from (f"  warning: {warning}" for warning in report.warnings)
