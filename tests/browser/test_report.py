"""The HTML of a validation in a real browser, with and without scripts."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from support.fakes.values import record
from surefind.evaluation.report.comparison import compare_reports
from surefind.evaluation.report.past_runs import remembered, trend_of
from surefind.evaluation.report.report import FoundHit, Outcome, Report
from surefind.evaluation.report.summary import with_comparison
from surefind.interfaces.reports.html import ReportExtras, html_page
from unit.interfaces.validation_reports import full_report, outcome, report

if TYPE_CHECKING:
    from selenium import webdriver

    from browser.conftest import Page

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'>"
MANY = 5665


def many() -> Report:
    """As many as a real judged collection has, some of them worse than before."""
    before = [
        outcome(
            f"test-{number:04}",
            1.0 if number % 9 else 0.0,
            Outcome.PASSED if number % 9 else Outcome.FAILED,
            category=("factual", "how-to", "why")[number % 3],
            cause="" if number % 9 else "outranked",
            message="" if number % 9 else f"it stands at rank {number}",
            latency_ms=5.0 + number % 40,
        )
        for number in range(MANY)
    ]
    after = [
        replace(test, measures={"nDCG@5": 0.5, "MRR": 0.5}) if number % 20 == 1 else test
        for number, test in enumerate(before)
    ]
    hostile = replace(
        after[0],
        query_text=HOSTILE,
        message=HOSTILE,
        found=(FoundHit(1, HOSTILE, (), "javascript:window.pwned=1", HOSTILE, 0.5, 0.5),),
    )
    first = replace(before[0], query_text=HOSTILE)
    told, earlier = report(hostile, *after[1:]), report(first, *before[1:])
    return with_comparison(told, compare_reports(earlier, told))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two pages, beside each other: no server is asked for either."""
    folder = tmp_path_factory.mktemp("reports")
    told = many()
    past = replace(
        remembered(told), run_id="earlier", started_at=told.started_at - timedelta(days=1)
    )
    passages = {"a": record(1, f"The passage itself. {HOSTILE}"), HOSTILE: record(2, HOSTILE)}
    page = html_page(told, ReportExtras(passages, trend_of(told, [past])))
    (folder / "many.html").write_text(page, "utf-8")
    (folder / "full.html").write_text(html_page(full_report()), "utf-8")
    (folder / "none.html").write_text(html_page(report()), "utf-8")
    return folder.as_uri()


@pytest.fixture
def shown(driver: webdriver.Chrome, address: str) -> Iterator[Page]:
    from browser.conftest import Page

    page = Page(driver, address)
    page.emulate("setEmulatedMedia", features=[])
    page.emulate("clearDeviceMetricsOverride")
    driver.set_window_size(1200, 900)
    page.complaints()
    page.open("/many.html")
    yield page
    assert page.run("return window.pwned") is None
    assert page.complaints() == []


def asked(page: Page) -> list[str]:
    script = "return [...document.querySelectorAll('td.asked')].map(each => each.textContent)"
    return [str(words) for words in page.run(script)]


def status(page: Page) -> str:
    return page.find(".pager [role=status]").text


def choose(page: Page, label: str, value: str) -> None:
    [chosen] = [each for each in page.find_all(".controls label") if each.text.startswith(label)]
    Select(chosen.find_element(By.TAG_NAME, "select")).select_by_visible_text(value)


def axe_violations(page: Page) -> list[str]:
    page.run((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = page.driver.execute_async_script(
        "const done = arguments[0];"
        "axe.run().then(told => done(told.violations.map("
        "each => each.id + ': ' + each.nodes.map(node => node.html).join(' | ').slice(0, 300))))"
    )
    return [str(violation) for violation in found]


def test_all_tests_are_in_the_table_a_page_at_a_time(shown: Page) -> None:
    assert status(shown) == "1 to 50, 5,665 tests"
    assert len(asked(shown)) == 50
    [_, forward] = shown.find_all(".pager button")
    forward.click()
    assert status(shown) == "51 to 100, 5,665 tests"
    assert asked(shown)[0] == "What about test-0050?"


def test_the_table_is_filtered_and_sorted(shown: Page) -> None:
    choose(shown, "Outcome", "failed")
    assert status(shown) == "1 to 50, 630 of 5,665 tests"
    choose(shown, "Category", "factual")
    choose(shown, "Change from baseline", "worse")
    assert status(shown) == "No tests match."
    choose(shown, "Outcome", "all")
    choose(shown, "Category", "all")
    assert status(shown) == "1 to 50, 252 of 5,665 tests"
    choose(shown, "Change from baseline", "all")
    shown.find(".controls input").send_keys("TEST-00 rank 9")
    shown.wait(lambda: "of 5,665" in status(shown), "the filter")
    assert asked(shown)[:2] == ["What about test-0009?", "What about test-0090?"]
    shown.find(".controls input").clear()
    shown.find(".controls input").send_keys("nothing like this")
    shown.wait(lambda: status(shown) == "No tests match.", "no test")


def test_a_column_is_sorted_up_then_down_then_not(shown: Page) -> None:
    def head() -> str | None:
        [found] = [each for each in shown.find_all("#table thead th") if each.text == "ms"]
        found.find_element(By.TAG_NAME, "button").click()
        return found.get_attribute("aria-sort")

    def values() -> list[float]:
        rows = "[...document.querySelectorAll('#table tbody tr')]"
        script = f"return {rows}.map(row => row.cells[7].textContent)"
        return [float(words) for words in shown.run(script)]

    assert (head(), set(values())) == ("ascending", {5.0})
    assert (head(), set(values())) == ("descending", {44.0})
    assert head() is None
    assert values()[:3] == [5.0, 6.0, 7.0]


def test_a_test_opens_to_what_was_expected_and_the_passages(shown: Page) -> None:
    [opener] = shown.find_all("#table tbody tr:nth-child(2) td.asked button")
    assert opener.get_attribute("aria-expanded") == "false"
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    inside = shown.find("#table .inside")
    assert "chunk a: found at rank 1" in inside.text
    assert "score 0.900, similarity 0.800 · expected" in inside.text
    assert f"The passage itself. {HOSTILE}" in inside.find_element(By.TAG_NAME, "blockquote").text
    opener.click()
    assert shown.find_all("#table .inside") == []


def test_hostile_words_are_words(shown: Page) -> None:
    assert HOSTILE in shown.find("#worst ~ details q").text
    opener = shown.find("#table tbody tr td.asked button")
    assert opener.text == HOSTILE
    opener.click()
    assert shown.find_all("img") == []
    assert shown.run("return document.scripts.length") == 2
    links = [each.get_attribute("href") or "" for each in shown.find_all("main a")]
    assert [link for link in links if not link.startswith("https://")] == []


@pytest.mark.parametrize("name", ["many", "full", "none"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(shown: Page, name: str, scheme: str) -> None:
    shown.open(f"/{name}.html")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    shown.emulate("setEmulatedMedia", features=features)
    shown.run("for (const each of document.querySelectorAll('details')) each.open = true")
    for opener in shown.find_all("td.asked button")[:2]:
        opener.click()
    assert axe_violations(shown) == []


def test_a_phone_shows_all_of_it_without_scrolling_sideways(shown: Page) -> None:
    shown.emulate(
        "setDeviceMetricsOverride", width=375, height=740, deviceScaleFactor=1, mobile=True
    )
    assert shown.run("return document.documentElement.scrollWidth") <= 375


def test_the_summary_is_there_without_scripts(shown: Page) -> None:
    shown.emulate("setScriptExecutionDisabled", value=True)
    try:
        shown.open("/many.html")
        words = shown.find("body").text
    finally:
        shown.emulate("setScriptExecutionDisabled", value=False)
    assert words.count("Failed") == 1
    assert "Results" in words
    assert "Comparison with the baseline" in words
    assert "The table of all tests needs JavaScript" in words
    assert len(shown.find_all("svg.chart")) == 4


def test_it_prints_light_and_with_the_worst_tests_open(shown: Page, tmp_path: Path) -> None:
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    shown.emulate("setEmulatedMedia", media="print", features=features)
    assert shown.run("return getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    assert not shown.find(".controls").is_displayed()
    shown.emulate("setEmulatedMedia", media="", features=[])
    printed = shown.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF-")
    assert shown.find_all("details.test[open]") == []


def test_nothing_outside_of_the_page_is_requested(shown: Page) -> None:
    entries = shown.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert entries == []
    assert len((Path(shown.address.removeprefix("file://")) / "many.html").read_bytes()) < 3e6
