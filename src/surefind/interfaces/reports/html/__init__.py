"""A report as one page of HTML that needs nothing else: no host, no other file.

What it comes to is written and drawn here, so it can be read with scripts off and printed; the
table of all tests is made by the page's own script, a few rows at a time. The policy in its head
lets that script and that style run, and nothing else, whatever a query or a passage says.
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
<a class="skip" href="#tests">To the table of tests</a>
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
    """What a page shows that is not in the report: passages, and how earlier runs went."""

    passages: Mapping[str, ChunkRecord] = field(default_factory=dict)
    trend: Trend | None = None


def html_page(report: Report, beside: ReportExtras | None = None) -> str:
    beside = beside or ReportExtras()
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    body = [
        summary.numbers(report),
        summary.comparison(report.comparison),
        summary.trend(beside.trend),
        summary.distributions(report),
        summary.categories(report),
        summary.causes(report),
        summary.beyond(report),
        worst.worst_tests(report, beside.passages),
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
        data=embedded(report, beside.passages),
        script=script,
    )
    # Half a character can't be written in UTF-8, and stands for nothing anyway.
    return page.encode("utf-8", "replace").decode()


def _asset(name: str) -> str:
    return (files("surefind.interfaces.reports.html") / name).read_text("utf-8")


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _table(report: Report) -> str:
    """Filled by the script."""
    total = report.totals.total
    left_out = (
        f"<p class=quiet>The page holds {MAX_TESTS:,} of {total:,} tests, those that did not pass "
        "first. The report as JSON has them all.</p>"
        if total > MAX_TESTS
        else ""
    )
    return section(
        "tests",
        "All tests",
        left_out,
        "<noscript><p>The table of all tests needs JavaScript. Everything above does not.</p>"
        "</noscript>",
        '<div id="table"></div>',
    )
