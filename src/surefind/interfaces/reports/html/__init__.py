"""A report as a single, self-contained HTML page.

The summary and charts are rendered here, so they work without JavaScript and in print. The page's
script renders the table of all tests, a few rows at a time. The content security policy allows only
that script and style, whatever a query or passage contains.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from surefind.evaluation.report.past_runs import Trend
from surefind.evaluation.report.report import Report
from surefind.evaluation.report.wording import passed_by
from surefind.interfaces.reports.html import summary, worst
from surefind.interfaces.reports.html.markup import section, text
from surefind.interfaces.reports.html.rows import MAX_TESTS, embedded
from surefind.model import ChunkRecord

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="surefind {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#tests">Skip to the table of tests</a>
{header}
<main>
{body}
</main>
<footer>{footer}</footer>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class ReportExtras:
    """What the page shows beyond the report: passages, and the trend of earlier runs."""

    passages: Mapping[str, ChunkRecord] = field(default_factory=dict)
    trend: Trend | None = None


def html_page(report: Report, extras: ReportExtras | None = None) -> str:
    extras = extras or ReportExtras()
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    body = [
        summary.numbers(report),
        summary.comparison(report.comparison),
        summary.trend(extras.trend),
        summary.distributions(report),
        summary.categories(report),
        summary.causes(report),
        summary.beyond(report),
        worst.worst_tests(report, extras.passages),
        _table(report),
    ]
    page = _PAGE.format(
        policy=policy,
        version=text(report.subject.surefind_version),
        title=text(f"{summary.VERDICTS[report.verdict]}{passed_by(report)}: {report.golden}"),
        style=style,
        header=summary.header(report),
        body="\n".join(part for part in body if part),
        footer=summary.footer(report),
        data=embedded(report, extras.passages),
        script=script,
    )
    # Lone surrogates can't be encoded in UTF-8.
    return page.encode("utf-8", "replace").decode()


def _asset(name: str) -> str:
    return (files("surefind.interfaces.reports.html") / name).read_text("utf-8")


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


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
