"""The summary sections of the page: verdict, numbers, comparison and distributions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from surefind.evaluation.report.past_runs import Trend
from surefind.evaluation.report.report import Comparison, Outcome, Report, TestChange, TestOutcome
from surefind.evaluation.report.wording import compared, passed_by
from surefind.evaluation.statistics.significance import Verdict
from surefind.interfaces.reports.extra_checks import extra_check_lines
from surefind.interfaces.reports.html.charts import (
    AxisMark,
    Bins,
    Series,
    bar,
    columns,
    histogram,
    interval,
    trend_line,
)
from surefind.interfaces.reports.html.markup import outcome, section, shortened, table, text
from surefind.interfaces.reports.tables import worst_groups

VERDICTS = {
    Verdict.PASS: "Passed",
    Verdict.FAIL: "Failed",
    Verdict.INCONCLUSIVE: "Inconclusive",
}
_CHANGES_SHOWN = 20
_MOST_RANKS = 20
_MOST_CATEGORIES = 50
_WORDS = 160


def header(report: Report) -> str:
    subject = report.subject
    reasons = "".join(f"<li>{text(reason)}</li>" for reason in report.reasons)
    warnings = "".join(f"<li>warning: {text(warning)}</li>" for warning in report.warnings)
    notes = f"<ul>{reasons}{warnings}</ul>" if reasons or warnings else ""
    name = shortened(report.golden, _WORDS)
    chunks = "" if subject.target else f"{subject.chunks:,} chunks · "
    return (
        f'<header class="{report.verdict.value}">'
        f"<p class=kind>surefind · retrieval validation</p>"
        f"<h1>{VERDICTS[report.verdict]}{passed_by(report)}<span class=hidden>:</span> "
        f"<small>{text(name)}</small></h1>"
        f"{notes}"
        f"<p class=quiet>{text(subject.searched)} · {chunks}{text(subject.options)} · "
        f'<time datetime="{report.started_at.isoformat()}">{report.started_at:%d %B %Y, %H:%M} UTC'
        f"</time></p></header>"
    )


def footer(report: Report) -> str:
    took = (report.completed_at - report.started_at).total_seconds()
    facts = (
        f"run {report.run_id}",
        f"tests {report.golden_digest[:12]}",
        report.subject.embedder,
        f"{took:.1f} s, concurrency {report.latency.concurrency}",
        f"surefind {report.subject.surefind_version}",
    )
    return f"<p>{' · '.join(text(fact) for fact in facts if fact)}</p>"


# --- numbers ----------------------------------------------------------------------------------


def numbers(report: Report) -> str:
    totals, latency = report.totals, report.latency
    tiles = [("passed", f"{totals.passed:,}", f"of {totals.total:,} tests")]
    if report.means.judged:
        name, value = next(iter(report.means.values.items()))
        tiles.append((name, f"{value:.3f}", f"over {report.means.judged:,} judged queries"))
    if report.negatives.false_accept_rate is not None:
        rate = report.negatives.false_accept_rate
        tiles.append(("false accepts", f"{rate:.1%}", f"of {report.negatives.total:,} negatives"))
    if latency.searches:
        others = f"p50 {latency.p50_ms:.1f}, p99 {latency.p99_ms:.1f} ms"
        tiles.append(("p95 latency", f"{latency.p95_ms:.1f} ms", others))
    integrity = report.integrity
    if integrity.hits:
        intact = f"{len(integrity.tampered):,} tampered" if integrity.tampered else "all intact"
        share = integrity.complete / integrity.hits
        tiles.append(("hits", f"{integrity.hits:,}", f"{intact}, {share:.0%} complete"))
    listed = "".join(
        f"<div><dt>{text(name)}</dt><dd><strong>{value}</strong> <span>{text(detail)}</span></dd>"
        "</div>"
        for name, value, detail in tiles
    )
    return section(
        "numbers", "Results", f"<dl class=tiles>{listed}</dl>", _outcomes(report), _means(report)
    )


def _outcomes(report: Report) -> str:
    totals = report.totals
    counts = {
        "passed": totals.passed,
        "failed": totals.failed,
        "error": totals.error,
        "stale": totals.stale,
        "invalid": totals.invalid,
        "not_run": totals.not_run,
    }
    listed = "".join(
        f"<li>{outcome(name)} {count:,}</li>" for name, count in counts.items() if count
    )
    return f"<ul class=outcomes>{listed}</ul>" if listed else ""


def _means(report: Report) -> str:
    means = report.means
    if not means.judged:
        return ""
    rows = [(text(name), f"{value:.4f}", bar(value)) for name, value in means.values.items()]
    barren = len(means.without_relevant)
    notes = [
        f"{len(means.failed):,} failed and count as zero" if means.failed else "",
        f"{barren:,} without relevant passages count as zero" if barren else "",
        f"{means.unjudged:,} without judgements are excluded" if means.unjudged else "",
    ]
    details = "; ".join(note for note in notes if note)
    return table("Measures", ("measure", "mean", "0 to 1"), rows, numbers=(1,)) + (
        f"<p class=quiet>Over {means.judged:,} judged queries. {details}"
        f"{'.' if details else ''}</p>"
    )


def categories(report: Report) -> str:
    if not report.categories:
        return ""
    shown = sorted(report.categories, key=lambda one: _share(one.totals.passed, one.totals.total))
    left = len(shown) - _MOST_CATEGORIES
    names = list(report.means.values)
    rows = [
        (
            text(shortened(one.name, _WORDS)),
            f"{one.totals.passed:,} of {one.totals.total:,}",
            bar(_share(one.totals.passed, one.totals.total)),
            *(f"{one.means[name]:.3f}" if one.means else "" for name in names),
        )
        for one in shown[:_MOST_CATEGORIES]
    ]
    head = ("category", "passed", "share", *names)
    more = f"<p class=quiet>And {left:,} more.</p>" if left > 0 else ""
    inner = table("Categories", head, rows, (1, *range(3, 3 + len(names))))
    return section("categories", "Categories, worst first", inner + more)


def breakdowns(report: Report) -> str:
    parts = []
    for one in report.breakdowns:
        head = (one.by, "passed", next(iter(report.means.values), ""))
        rows = [tuple(map(text, row)) for row in worst_groups(report, one)]
        parts.append(table(f"By {one.by}", head, rows, (1, 2)))
    return section("breakdowns", "By folder, version, locale and question length", *parts)


def causes(report: Report) -> str:
    bad = [test for test in report.tests if test.cause]
    if not bad:
        return ""
    counted = Counter(test.cause for test in bad).most_common()
    rows = [
        (text(cause.replace("_", " ")), f"{count:,}", bar(count / len(bad), "bar bad"))
        for cause, count in counted
    ]
    return section(
        "causes", "Why tests did not pass", table("Causes", ("cause", "tests", "share"), rows, (1,))
    )


def beyond(report: Report) -> str:
    """Index recall, the load test and the threshold."""
    parts = ["<br>".join(map(text, lines)) for lines in extra_check_lines(report)]
    return section("beyond", "Additional checks", *(f"<p>{part}</p>" for part in parts))


# --- comparison with other runs ---------------------------------------------------------------


def comparison(result: Comparison | None) -> str:
    if result is None:
        return ""
    widest = max(
        (max(abs(one.difference.low), abs(one.difference.high)) for one in result.changes),
        default=0.0,
    )
    rows = [
        (
            text(one.measure),
            f"{one.difference.before:.4f}",
            f"{one.difference.after:.4f}",
            f"{one.difference.mean:+.4f}",
            interval(
                one.difference.low,
                one.difference.mean,
                one.difference.high,
                widest,
                one.verdict.value,
            ),
            f"{one.difference.low:+.4f} to {one.difference.high:+.4f}",
            f"{one.p:.3f}",
            f"{one.difference.detectable:.4f}",
            outcome(one.verdict.value, str(one.evidence)),
        )
        for one in result.changes
    ]
    head = (
        "measure",
        "before",
        "after",
        "change",
        "worse | better",
        "95 % interval",
        "p",
        "detectable",
        "evidence",
    )
    baseline = (
        f"the baseline (run {result.baseline_run_id}, generation {result.baseline_generation})"
    )
    listed = "".join(f"<li>{text(line)}</li>" for line in compared(result, baseline))
    return section(
        "baseline",
        "Comparison with the baseline",
        table("Measures compared with the baseline", head, rows, (1, 2, 3, 5, 6, 7)),
        f"<ul>{listed}</ul>",
        _changed("Got worse", result.worse),
        _changed("Got better", result.better),
    )


def _changed(title: str, changes: Sequence[TestChange]) -> str:
    if not changes:
        return ""
    rows = [
        (
            text(shortened(one.test_id, 60)),
            text(shortened(one.query_text, _WORDS)),
            f"{outcome(one.before.value)} → {outcome(one.after.value)}",
            f"{one.value_before:.3f} → {one.value_after:.3f}"
            if one.value_before is not None and one.value_after is not None
            else "",
        )
        for one in changes[:_CHANGES_SHOWN]
    ]
    left = len(changes) - _CHANGES_SHOWN
    more = f"<p class=quiet>And {left:,} more, in the table below.</p>" if left > 0 else ""
    inner = table(title, ("test", "query", "outcome", "value"), rows)
    return f"<details><summary>{title}: {len(changes):,}</summary>{inner}{more}</details>"


def trend(result: Trend | None) -> str:
    if result is None:
        return ""
    labels = [
        f"{run.started_at:%Y-%m-%d %H:%M}, generation {run.generation}" for run in result.runs
    ]
    title = f"{result.name} in the last {len(result.runs)} runs of these tests"
    return section("trend", "Trend", trend_line("trend-chart", title, labels, result.values))


# --- distributions ----------------------------------------------------------------------------


def distributions(report: Report) -> str:
    drawn = [*_ranks(report), *_similarities(report), *_values(report), *_latencies(report)]
    charts = "".join(drawn)
    return section("spread", "Distributions", f"<div class=charts>{charts}</div>" * bool(charts))


def _ranks(report: Report) -> Iterable[str]:
    sought = [one for test in report.tests if test.latency_ms for one in test.sought]
    live = [one for one in sought if not one.stale and one.grade > 0]
    if not live:
        return
    last = min(report.subject.top_k, _MOST_RANKS)
    counts = Counter(min(one.rank, last) for one in live if one.rank)
    labels = [str(rank) for rank in range(1, last + 1)] + ["none"]
    if last < report.subject.top_k:
        labels[-2] = f"{last}+"
    missing = sum(one.rank is None for one in live)
    found = tuple(counts[rank] for rank in range(1, last + 1))
    series = (
        Series("found", "good", (*found, 0)),
        Series("not found", "bad", (*(0 for _ in found), missing)),
    )
    yield columns("ranks", "Rank of each expected result", labels, series)


def _similarities(report: Report) -> Iterable[str]:
    known = [test for test in report.tests if test.best_similarity is not None]
    if not known:
        return
    values = [test.best_similarity or 0.0 for test in known]
    bins = Bins.over(min(values), max(values))
    yield histogram("similarities", "Similarity of the best hit", bins, _by_outcome(known, bins))


def _by_outcome(tests: list[TestOutcome], bins: Bins) -> tuple[Series, ...]:
    passed = [test.best_similarity or 0.0 for test in tests if test.outcome is Outcome.PASSED]
    others = [test.best_similarity or 0.0 for test in tests if test.outcome is not Outcome.PASSED]
    return (
        Series("passed", "good", bins.count(passed)),
        Series("not passed", "bad", bins.count(others)),
    )


def _values(report: Report) -> Iterable[str]:
    if not report.means.judged:
        return
    name = next(iter(report.means.values))
    values = [test.measures[name] for test in report.tests if name in test.measures]
    bins = Bins.over(0.0, 1.0)
    marks = (AxisMark("mean", report.means.values[name]),)
    series = (Series("queries", "bar", bins.count(values)),)
    yield histogram("values", f"{name} per query", bins, series, marks)


def _latencies(report: Report) -> Iterable[str]:
    latency = report.latency
    if not latency.searches:
        return
    values = [test.latency_ms for test in report.tests if test.latency_ms is not None]
    bins = Bins.over(0.0, max(latency.p99_ms, latency.p50_ms * 1.5))
    marks = (
        AxisMark("p50", latency.p50_ms),
        AxisMark("p95", latency.p95_ms),
        AxisMark("p99", latency.p99_ms),
    )
    beyond = ", slower ones in the last column" if latency.max_ms > bins.edges[-1] else ""
    series = (Series("searches", "bar", bins.count(values)),)
    yield histogram("latencies", f"Search latency in ms{beyond}", bins, series, marks)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
