"""Why a page is not among the passages, asked on the search page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from browser.conftest import Page

QUESTION = "/?q=storing+honey&where=source_path^=docs/pantry"


def why_not(page: Page, wanted: str) -> str:
    page.find("#wanted").clear()
    page.find("#wanted").send_keys(wanted, Keys.ENTER)
    page.wait(lambda: page.find_all("#cause h3, #cause .bad"), "the cause")
    return page.find("#cause").text


def test_nothing_is_requested_before_there_is_a_question(page: Page) -> None:
    assert not page.find("#missing").is_displayed()
    page.ask("honey")
    assert page.find("#missing").is_displayed()


@pytest.mark.parametrize(
    ("wanted", "headline", "told"),
    [
        ("docs/pantry/honey.md", "It is there", "It is hit 1."),
        (
            "docs/nowhere.md",
            "It is not in the collection",
            "No chunk ID, URL or source path matches",
        ),
        ("docs/traps.md", "A filter excludes it", "source_path^=docs/pantry"),
    ],
)
def test_the_cause_is_reported_in_words(page: Page, wanted: str, headline: str, told: str) -> None:
    page.open(QUESTION)
    page.wait_for_answer("storing honey")
    answer = why_not(page, wanted)
    assert answer.startswith(headline)
    assert told in answer


def test_a_link_of_this_server_names_a_page(page: Page) -> None:
    page.ask("honey")
    answer = why_not(page, f"{page.address}/read/docs/docs/kitchen/bread.md#proving-times")
    assert "Proving times" in answer
    link = page.find("#cause a").get_attribute("href")
    assert link == f"{page.address}/read/docs/docs/kitchen/bread.md#proving-times"


def test_markup_in_the_expected_passage_is_shown_and_never_run(page: Page) -> None:
    page.ask("honey")
    answer = why_not(page, "<img src=x onerror=window.pwned=1>")
    assert "<img src=x onerror=window.pwned=1>" in answer
    assert page.find_all("#cause img") == []
    assert page.run("return window.pwned") is None


def test_another_question_takes_the_cause_away(page: Page) -> None:
    page.ask("honey")
    why_not(page, "docs/traps.md")
    page.ask("dough")
    assert page.find("#cause").text == ""
