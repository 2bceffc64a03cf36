"""Filters on the search page, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser.questions import QUESTION

if TYPE_CHECKING:
    from browser.conftest import Page


def open_filters(page: Page) -> None:
    page.wait(lambda: page.find("#filter").is_displayed(), "something to filter by")
    page.find("#filter").click()


def paths(page: Page) -> set[str]:
    script = "return [...document.querySelectorAll('.hit .path')].map(each => each.textContent)"
    return {str(path) for path in page.run(script)}


def chips(page: Page) -> list[str]:
    return [chip.text for chip in page.find_all("#chips .chip")]


def where(page: Page) -> list[str]:
    return [
        str(one) for one in page.run("return new URLSearchParams(location.search).getAll('where')")
    ]


def test_a_value_that_the_pages_have_is_chosen_with_a_click(page: Page) -> None:
    page.ask(QUESTION)
    assert len(paths(page)) > 1
    open_filters(page)
    [easy] = [choice for choice in page.find_all(".choice") if choice.text.startswith("easy")]
    assert easy.get_attribute("aria-pressed") == "false"
    easy.click()
    page.wait(lambda: paths(page) == {"docs/garden/tomatoes.md"}, "the filtered passages")
    assert easy.get_attribute("aria-pressed") == "true"
    assert (where(page), chips(page)) == (["level=easy"], ["level is easy"])
    assert page.requests()[-1]["where"] == {"level": {"any": ["easy"]}}
    page.find("#chips .chip").click()
    page.wait(lambda: len(paths(page)) > 1, "all passages")
    assert (where(page), chips(page)) == ([], [])
    assert easy.get_attribute("aria-pressed") == "false"


def test_an_address_carries_the_filters(page: Page) -> None:
    expressions = ["has_code=true", "source_path^=docs/kitchen", "tokens>=3"]
    page.open(f"/?q=dough&{'&'.join(f'where={quote(one)}' for one in expressions)}")
    page.wait_for_answer("dough")
    assert chips(page) == ["has code is yes", "folder docs/kitchen", "tokens ≥ 3"]
    assert paths(page) <= {"docs/kitchen/bread.md", "docs/kitchen/oven.md"}
    assert page.headings[0] == "Kneading the dough"
    assert page.find("#filter").text == "Filter (3)"
    page.find_all("#chips .chip")[0].click()
    page.wait(lambda: len(chips(page)) == 2, "one filter fewer")
    page.driver.back()
    page.wait(lambda: len(chips(page)) == 3, "the filter again")
    page.find("#chips .link").click()
    page.wait(lambda: where(page) == [], "no filters")
    assert page.focused == page.field


@pytest.mark.parametrize(
    ("field", "sign", "value", "expression", "chip"),
    [
        ("source_path", "^=", "docs/garden", "source_path^=docs/garden", "folder docs/garden"),
        ("tokens", "<=", "60", "tokens<=60", "tokens ≤ 60"),
        ("level", "!=", None, "level!=easy", "level is not easy"),
        ("created_at", ">=", "2020-01-31", "created_at>=2020-01-31", "created at ≥ 2020-01-31"),
        ("has_code", "=", None, "has_code=false", "has code is no"),
    ],
)
def test_any_field_takes_a_condition_of_its_kind(
    page: Page, field: str, sign: str, value: str | None, expression: str, chip: str
) -> None:
    page.ask("tomatoes")
    open_filters(page)
    Select(page.find(".condition [name=field]")).select_by_value(field)
    Select(page.find(".condition [name=sign]")).select_by_value(sign)
    given = page.find(".condition [name=value]")
    if value is None:
        wanted = expression.partition("=")[2]
        Select(given).select_by_value(wanted)
    else:
        page.run("arguments[0].value = arguments[1]", given, value)
    page.find(".condition button").click()
    page.wait(lambda: where(page) == [expression], "the filter in the address")
    page.wait(lambda: not page.busy, "the answer")
    assert chips(page) == [chip]
    assert page.headings
    assert (
        not page.find("#notice.failed, #notice").is_displayed()
        or "thin" in page.find("#notice").text
    )


def test_a_filter_that_nothing_meets_offers_the_way_out(page: Page) -> None:
    page.open("/?q=dough&mode=lexical&where=level%3Dnone")
    page.wait(lambda: "Nothing found" in page.find("#notice").text, "the empty answer")
    assert "No passage matches both the filters and the query." in page.find("#notice").text
    [way] = [each for each in page.find_all("#notice button") if each.text == "Remove the filters"]
    way.click()
    page.wait_for_answer("dough")
    assert page.query_string == "?q=dough&mode=lexical"


def test_a_filter_that_can_not_be_is_explained(page: Page) -> None:
    page.open("/?q=dough&where=lvel%3Deasy")
    page.wait(lambda: "unknown field 'lvel'" in page.find("#notice").text, "the error")
    assert "did you mean level?" in page.find("#notice").text
    assert any("400" in complaint for complaint in page.complaints())
    page.find_all("#notice button")[1].click()
    page.wait_for_answer("dough")
    assert page.headings


def test_the_panel_opens_and_closes_by_keyboard(page: Page) -> None:
    page.ask("dough")
    page.wait(lambda: page.find("#filter").is_displayed(), "something to filter by")
    page.press(Keys.ARROW_DOWN)
    page.press("f")
    assert page.find("#filters").is_displayed()
    assert page.find("#filter").get_attribute("aria-expanded") == "true"
    assert page.run("return document.getElementById('filters').contains(document.activeElement)")
    page.press(Keys.ESCAPE)
    assert not page.find("#filters").is_displayed()
    assert page.focused == page.find("#filter")


def test_markup_in_front_matter_is_shown_and_never_run(page: Page) -> None:
    page.ask("hostile passage")
    open_filters(page)
    [trap] = [choice for choice in page.find_all(".choice") if "onerror" in choice.text]
    trap.click()
    page.wait(lambda: len(chips(page)) == 1, "the filter")
    assert chips(page) == ['level is <img src=x onerror="window.pwned=1">']
    page.wait(lambda: paths(page) == {"docs/traps.md"}, "the filtered passages")
    assert page.find_all("#asking img, main img") == []
    assert page.run("return window.pwned") is None


def test_a_folder_is_chosen_with_a_click_one_at_a_time(page: Page) -> None:
    page.ask(QUESTION)
    open_filters(page)
    names = [name.text for name in page.find_all("#filters .name")]
    assert "folder" in names
    assert "has code" not in names, "the content says it, too"
    assert "weight" not in names, "a number is compared, not chosen"
    choose_folder(page, "garden")
    choose_folder(page, "kitchen")


def test_the_values_of_a_field_fit_on_a_phone(page: Page) -> None:
    page.emulate(
        "setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True
    )
    page.ask(QUESTION)
    open_filters(page)
    script = """return [...document.querySelectorAll('.values, .choice')].map(
        each => each.getBoundingClientRect()).map(box => [box.left, box.right, box.height])"""
    edges = page.run(script)
    assert edges
    assert all(left >= 0 and right <= 390 for left, right, _ in edges)
    assert max(height for _, _, height in edges) < 150


def choose_folder(page: Page, folder: str) -> None:
    [choice] = [one for one in page.find_all(".choice") if one.text.split()[0] == folder]
    choice.click()
    page.wait(lambda: chips(page) == [f"folder docs/{folder}"], "the filter")
    page.wait(
        lambda: {path.split("/")[1] for path in paths(page)} == {folder},
        "passages of this folder alone",
    )
