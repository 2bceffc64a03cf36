"""A report as a single, self-contained HTML page.

The summary and charts are rendered here, so they work without JavaScript and in print. The page's
script renders the table of all tests, a few rows at a time. The content security policy allows only
that script and style, whatever a query or passage contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from surefind.evaluation.report.past_runs import Trend
from surefind.evaluation.report.report import Report
from surefind.evaluation.report.wording import passed_by
from surefind.interfaces.reports.html import summary, worst
from surefind.interfaces.reports.html.document_shell import Shell, asset
from surefind.interfaces.reports.html.markup import section
from surefind.interfaces.reports.html.rows import MAX_TESTS, embedded
from surefind.model import ChunkRecord


@dataclass(frozen=True, slots=True)
class ReportExtras:
    """What the page shows beyond the report: passages, and the trend of earlier runs."""

    passages: Mapping[str, ChunkRecord] = field(default_factory=dict)
    trend: Trend | None = None


def html_page(report: Report, extras: ReportExtras | None = None) -> str:
    extras = extras or ReportExtras()
    body = [
        summary.numbers(report),
        summary.comparison(report.comparison),
        summary.trend(extras.trend),
        summary.distributions(report),
        summary.categories(report),
        summary.breakdowns(report),
        summary.causes(report),
        summary.beyond(report),
        worst.worst_tests(report, extras.passages),
        _table(report),
    ]
    return Shell(
        title=f"{summary.VERDICTS[report.verdict]}{passed_by(report)}: {report.golden}",
        version=report.subject.surefind_version,
        skip='<a class="skip" href="#tests">Skip to the table of tests</a>',
        header=summary.header(report),
        body="\n".join(part for part in body if part),
        footer=summary.footer(report),
        data=embedded(report, extras.passages),
        script=asset("report.js"),
    ).page()


def _table(report: Report) -> str:
    """The table of all tests, filled by the script."""
    total = report.totals.total
    left_out = (
        f"<p class=quiet>This page contains {MAX_TESTS:,} of {total:,} tests, starting with those "
        "that did not pass. The JSON report has all of them.</p>"
        if total > MAX_TESTS
        else ""
    )
    return section(
        "tests",
        "All tests",
        left_out,
        "<noscript><p>The table of all tests needs JavaScript; the rest of the page does not.</p>"
        "</noscript>",
        '<div id="table"></div>',
    )
