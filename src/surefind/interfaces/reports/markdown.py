"""A report as Markdown, for a pull request."""

import re
from collections.abc import Iterable, Sequence

from surefind.evaluation.report.report import Comparison, Outcome, Report, TestChange, TestOutcome
from surefind.evaluation.report.wording import compared, in_short, passed_by, values_of
from surefind.evaluation.statistics.significance import Verdict
from surefind.interfaces.reports.extra_checks import extra_check_lines
from surefind.interfaces.reports.tables import worst_groups

_SHOWN = 20
_BETTER_SHOWN = 5
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")
_MARKS = {
    Verdict.PASS: "✅ passed",
    Verdict.FAIL: "❌ failed",
    Verdict.INCONCLUSIVE: "❔ inconclusive",
}


def markdown(report: Report) -> str:
    parts = [
        f"## Retrieval validation: {_MARKS[report.verdict]}{passed_by(report)}",
        *(f"- {safe(reason)}" for reason in report.reasons),
        *(f"- warning: {safe(warning)}" for warning in report.warnings),
        "",
        _facts(report),
        *_measures(report),
        *_categories(report),
        *_breakdowns(report),
        *_extra_check_lines(report),
        *_comparison(report.comparison),
        *_failures(report.tests),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _facts(report: Report) -> str:
    totals, latency, subject = report.totals, report.latency, report.subject
    times = [("p50", latency.p50_ms), ("p95", latency.p95_ms), ("p99", latency.p99_ms)]
    rows = [
        ("tests", safe(f"{report.golden} ({report.golden_digest[:12]})")),
        ("target", safe(subject.target))
        if subject.target
        else ("collection", safe(subject.searched)),
        ("search", subject.options),
        ("passed", f"{totals.passed} of {totals.total}"),
        ("failed", str(totals.failed)),
        ("stale", str(totals.stale)),
        ("invalid", str(totals.invalid)),
        ("errors", str(totals.error)),
        ("not run", str(totals.not_run)),
        ("latency", ", ".join(f"{name} {value:.1f} ms" for name, value in times)),
    ]
    if report.negatives.total:
        rows.append(
            (
                "negatives",
                f"{report.negatives.accepted} of {report.negatives.total} were wrongly answered",
            )
        )
    kept = [row for row in rows if row[1] != "0"]
    return markdown_table(("", ""), kept)


def _measures(report: Report) -> Iterable[str]:
    means = report.means
    if not means.judged:
        return
    yield "### Measures\n"
    yield markdown_table(
        ("measure", "mean"), [(name, f"{value:.4f}") for name, value in means.values.items()]
    )
    notes = f", {len(means.failed)} of them failed and count as zero" if means.failed else ""
    barren = len(means.without_relevant)
    notes += f", {barren} without relevant passages count as zero" if barren else ""
    unjudged = f"; {means.unjudged} without judgements are excluded" if means.unjudged else ""
    yield f"Over {means.judged} judged queries{notes}{unjudged}.\n"


def _categories(report: Report) -> Iterable[str]:
    if report.categories:
        yield "### Categories\n"
        names = list(report.means.values)
        yield markdown_table(
            ("category", "passed", *names),
            [
                (
                    safe(category.name),
                    f"{category.totals.passed} of {category.totals.total}",
                    *(f"{category.means[name]:.4f}" if category.means else "" for name in names),
                )
                for category in report.categories
            ],
        )


def _extra_check_lines(report: Report) -> Iterable[str]:
    parts = extra_check_lines(report)
    if parts:
        yield "### Additional checks\n"
        for first, *rest in parts:
            yield f"- {safe(first)}"
            yield from (f"  - {safe(line)}" for line in rest)
        yield ""


def _breakdowns(report: Report) -> Iterable[str]:
    for one in report.breakdowns:
        yield f"### By {one.by}\n"
        rows = [tuple(map(safe, row)) for row in worst_groups(report, one)]
        yield markdown_table((one.by, "passed", next(iter(report.means.values), "")), rows)


def _comparison(comparison: Comparison | None) -> Iterable[str]:
    if comparison is None:
        return
    mark = _MARKS[comparison.verdict].split()[0]
    yield f"### Comparison with the baseline: {mark} {comparison.evidence}\n"
    yield markdown_table(
        (
            "measure",
            "before",
            "after",
            "difference",
            "95 % interval",
            "p",
            "detectable",
            "evidence",
        ),
        [
            (
                change.measure,
                f"{change.difference.before:.4f}",
                f"{change.difference.after:.4f}",
                f"{change.difference.mean:+.4f}",
                f"{change.difference.low:+.4f} to {change.difference.high:+.4f}",
                f"{change.p:.4f}",
                f"{change.difference.detectable:.4f}",
                str(change.evidence),
            )
            for change in comparison.changes
        ],
    )
    yield from (f"- {safe(line)}" for line in compared(comparison))
    yield ""
    yield from _changed("worse", comparison.worse, comparison.measure, _SHOWN)
    yield from _changed("better", comparison.better, comparison.measure, _BETTER_SHOWN)


def _changed(name: str, changes: Sequence[TestChange], measure: str, most: int) -> Iterable[str]:
    for change in changes[:most]:
        values = values_of(change, measure, "→")
        yield (
            f"- {name}: {safe(change.test_id)}, {safe(change.query_text)} "
            f"({change.before.value} → {change.after.value}{values})"
        )
    if len(changes) > most:
        yield f"- and {len(changes) - most} more {name}"
    if changes:
        yield ""


def _failures(tests: Iterable[TestOutcome]) -> Iterable[str]:
    good = {Outcome.PASSED, Outcome.NOT_RUN}
    bad = [test for test in tests if test.outcome not in good]
    if bad:
        yield "### Tests that did not pass\n"
        rows = [
            (
                safe(test.test_id),
                safe(test.query_text),
                test.outcome.value,
                test.cause.replace("_", " "),
                safe(test.message),
            )
            for test in bad[:_SHOWN]
        ]
        yield markdown_table(("test", "query", "outcome", "cause", "details"), rows)
        if len(bad) > _SHOWN:
            yield f"And {len(bad) - _SHOWN} more.\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def safe(text: str) -> str:
    """Shorten to one line, and escape Markdown."""
    return _SPECIAL.sub(r"\\\1", in_short(text))
