"""The HTML of a report as text; tests/browser looks at it in a browser."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest

from support.fakes.values import record
from surefind.evaluation.report.comparison import compare_reports
from surefind.evaluation.report.past_runs import remembered, trend_of
from surefind.evaluation.report.report import ExpectationResult, FoundHit, Outcome, Report
from surefind.evaluation.report.summary import with_comparison
from surefind.interfaces.reports.html import ReportExtras, html_page
from surefind.interfaces.reports.html.charts import Bins
from surefind.interfaces.reports.html.rows import MAX_TESTS
from unit.interfaces.validation_reports import full_report, outcome, report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> <!-- \u2028 ' \" & {{}}"
VOID = {"meta", "br", "img", "input", "link"}


class Elements(HTMLParser):
    """Every element with its attributes; what is open and never closed, and the other way round."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def text_of(page: str) -> str:
    """What is there before any script has run."""
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def compared() -> Report:
    before = report(*(outcome(f"t{n}", 1.0, category="how") for n in range(40)))
    after = report(
        *(outcome(f"t{n}", 0.5 if n < 30 else 1.0, category="how") for n in range(40)),
    )
    return with_comparison(after, compare_reports(before, after))


@pytest.mark.parametrize(
    "told",
    [full_report(), report(), compared(), replace(full_report(), interrupted="it was stopped")],
    ids=["full", "none", "compared", "stopped"],
)
def test_a_page_is_well_formed_and_asks_no_one_for_anything(told: Report) -> None:
    page = html_page(told)
    elements = Elements(page)
    assert (elements.open, elements.wrong) == ([], [])
    assert not {tag for tag, _ in elements.tags} & {"link", "img", "iframe", "object", "base"}
    for tag, attributes in elements.tags:
        assert not attributes.keys() & {"src", "style", "srcset", "action"}, tag
        assert not [name for name in attributes if name.startswith("on")]
        assert tag != "a" or (attributes["href"] or "").startswith(("#", "https://"))
    assert "url(" not in page
    assert "@import" not in page
    identities = [attributes["id"] for _, attributes in elements.tags if "id" in attributes]
    assert len(identities) == len(set(identities))


def test_the_policy_lets_the_pages_own_style_and_script_run_and_nothing_else() -> None:
    page = html_page(full_report())
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for rule, pattern in (("style-src", "<style>(.*?)</style>"), ("script-src", _SCRIPT)):
        [inner] = re.findall(pattern, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


_SCRIPT = "<script>(.*?)</script>"


def test_hostile_words_stay_words_wherever_they_stand() -> None:
    hit = FoundHit(1, HOSTILE, (HOSTILE,), "javascript:alert(3)", HOSTILE, 0.9, 0.8)
    sought = ExpectationResult(
        HOSTILE, HOSTILE, 1, None, cause=HOSTILE, message=HOSTILE, nearest=HOSTILE
    )
    test = replace(
        outcome("bad", 0.0, Outcome.FAILED, category=HOSTILE, cause=HOSTILE, message=HOSTILE),
        test_id=HOSTILE,
        query_text=HOSTILE,
        found=(hit,),
        sought=(sought,),
    )
    told = replace(report(test), golden=HOSTILE, reasons=(HOSTILE,), warnings=(HOSTILE,))
    passage = record(1, HOSTILE)
    page = html_page(told, ReportExtras({HOSTILE: passage}))
    elements = Elements(page)
    assert (elements.open, elements.wrong) == ([], [])
    assert len([tag for tag, _ in elements.tags if tag == "script"]) == 2
    assert "img" not in {tag for tag, _ in elements.tags}
    assert "javascript:" not in page
    data = data_of(page)
    assert data["tests"][0][:2] == [HOSTILE, HOSTILE]
    assert [chunk[0] for chunk in data["chunks"]] == [HOSTILE]
    assert HOSTILE in data["chunks"][0][3]


def test_half_a_character_does_not_keep_a_page_from_being_written() -> None:
    told = report(outcome("a", 0.0, Outcome.FAILED, message="half \ud800"))
    assert "half ?" in html_page(told).encode().decode()


def test_the_summary_needs_no_script() -> None:
    words = text_of(html_page(full_report()))
    for told in (
        "Failed : golden.yaml",
        "nDCG@5 < 0.9: it is 0.375",
        "warning: p95_ms > 1: it is 10",
        "passed 2 of 8 tests",
        "nDCG@5 0.375 over 4 judged queries",
        "1 tampered, 90% complete",
        "1 failed and count as zero",
        "factual 1 of 2",
        "outranked 1",
        "What about half?",
    ):
        assert told.replace("<", "&lt;").replace(">", "&gt;") in words, told


def test_the_worst_come_first_with_what_was_expected_and_what_came() -> None:
    passage = record(1, "the passage itself")
    test = replace(
        outcome("half", 0.5, Outcome.FAILED, cause="outranked", message="chunk b: at rank 9"),
        sought=(
            ExpectationResult("chunk a", "a", 1, 1),
            ExpectationResult("b", "b", 1, message="at 9", nearest="b"),
        ),
    )
    told = report(outcome("fine"), test, outcome("broken", 0.0, Outcome.ERROR, message="gone"))
    words = text_of(html_page(told, ReportExtras({"a": passage, "b": passage})))
    worst = words[words.index("Worst results") :]
    assert worst.index("What about broken?") < worst.index("What about half?")
    assert "What about fine?" not in worst
    assert "chunk a: found at rank 1" in worst
    assert "b: at 9 the passage itself" in worst
    assert "score 0.900, similarity 0.800 · expected the passage itself" in worst


def test_the_baseline_is_shown_with_intervals_and_verdicts() -> None:
    page = html_page(compared())
    words = text_of(page)
    assert "nDCG@5 1.0000 0.6250 -0.3750" in words
    assert "worse: 0 better, 30 worse, 10 the same" in words
    assert "Got worse: 30" in words
    assert "And 10 more, in the table below." in words
    assert page.count('class="whisker fail"') == 2
    data = data_of(page)
    assert data["compared"]
    assert [row[-1] for row in data["tests"]].count("worse") == 30


def test_the_trend_of_these_tests_is_drawn() -> None:
    told = full_report()
    before = replace(
        remembered(told),
        run_id="run-0",
        started_at=told.started_at - timedelta(days=1),
        means={"nDCG@5": 0.5, "MRR": 0.5},
    )
    trend = trend_of(told, [before])
    words = text_of(html_page(told, ReportExtras(trend=trend)))
    assert "nDCG@5 in the last 2 runs of these tests" in words
    assert "From 0.5000 to 0.3750 over 2 runs." in words
    assert "Trend" not in text_of(html_page(told))


def test_every_test_is_in_the_data_and_each_passage_once() -> None:
    told = full_report()
    data = data_of(html_page(told, ReportExtras({"a": record(1, "word " * 900)})))
    assert [row[0] for row in data["tests"]] == [test.test_id for test in told.tests]
    assert len(data["chunks"]) == 1
    assert data["chunks"][0][1] == "https://docs.example.com/page#section"
    assert len(data["chunks"][0][3]) == 1200
    assert data["measures"] == ["nDCG@5", "MRR"]
    assert data["tests"][0][7:10] == [[1, 1], None, 10]
    assert data["tests"][0][11] == [0, 900, 800]


def test_a_huge_run_leaves_out_what_passed_and_says_so() -> None:
    few = report(outcome("last", 0.0, Outcome.FAILED))
    many = (*(outcome("good"),) * MAX_TESTS, few.tests[0])
    told = replace(few, tests=many, totals=replace(few.totals, total=len(many)))
    page = html_page(told)
    assert "This page contains 20,000 of 20,001 tests" in page
    data = data_of(page)
    assert len(data["tests"]) == MAX_TESTS
    assert data["tests"][0][0] == "last"


@pytest.mark.parametrize(
    ("low", "high", "first", "last", "most"),
    [(0.5, 0.92, 0.5, 0.92, 24), (0.0, 1.0, 0.0, 1.0, 24), (3.0, 3.0, 3.0, 4.0, 24)],
)
def test_bins_are_round_and_hold_everything(
    low: float, high: float, first: float, last: float, most: int
) -> None:
    bins = Bins.over(low, high)
    assert bins.edges[0] == pytest.approx(first)
    assert low <= high <= bins.edges[-1] <= last
    assert 1 <= len(bins.edges) - 1 <= most
    values = [low, high, (low + high) / 2, high + 100]
    assert sum(bins.count(values)) == 4
    assert bins.count([high + 100])[-1] == 1
