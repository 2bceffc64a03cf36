"""The page of a server that wants a key: asking for it, the collections, and going back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from selenium.webdriver.common.keys import Keys

from browser.axe import violations
from browser.conftest import PAGES, Page, ingest
from browser.questions import QUESTION
from support.commands import serving, surefind
from support.homes import copy_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium import webdriver


class Keyed(NamedTuple):
    address: str
    read: str
    admin: str


@pytest.fixture(scope="module")
def keyed(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    """Two generations: in the second a page was added, one changed and one removed."""
    own = tmp_path_factory.mktemp("keyed")
    copy_home(home / "data", own / "data")
    removed = "pantry/old/honey.md"
    changed = {"kitchen/oven.md": "# The oven\n\nIt is new.", "new <b>page</b>.md": "# New\n\nHi."}
    ingest(own, "--allow-shrink", pages={**PAGES, **changed, removed: None})
    keys = [
        surefind(
            "keys", "create", "--name", scope, "--scope", scope, "--data-dir", "data", cwd=own
        ).stdout.strip()
        for scope in ("read", "admin")
    ]
    with serving("--data-dir", "data", cwd=own, SUREFIND_QUERY_LOG="true") as (address, _):
        yield Keyed(address, *keys)


@pytest.fixture
def page(driver: webdriver.Chrome, keyed: Keyed) -> Iterator[Page]:
    """Without a key yet; refusals are no surprise to the console."""
    page = Page(driver, keyed.address)
    page.emulate("setEmulatedMedia", features=[])
    driver.set_window_size(1200, 900)
    page.open("/static/favicon.svg")
    page.run("sessionStorage.clear()")
    page.open()
    page.wait(lambda: page.find_all(".key input"), "the question for a key")
    page.requests()
    page.complaints()
    yield page
    assert [each for each in page.complaints() if "401" not in each and "403" not in each] == []


def give(page: Page, key: str) -> None:
    page.find(".key input").send_keys(key, Keys.ENTER)
    page.wait(lambda: page.find_all("#notice > h2, .build"), "what the key opens")


def builds(page: Page) -> list[str]:
    return [build.text.split("\n")[0] for build in page.find_all(".build .head")]


def test_a_key_is_requested_and_kept_in_this_tab_only(page: Page, keyed: Keyed) -> None:
    assert "This server requires a key" in page.find("#notice").text
    assert "surefind keys create" in page.find("#notice").text
    assert violations(page) == []
    page.find(".key input").send_keys("surefind_00000000_wrong", Keys.ENTER)
    page.wait(lambda: "was refused" in page.find("#notice").text, "the refusal")
    give(page, keyed.read)
    page.ask(QUESTION)
    assert page.headings[0] == "Watering tomatoes"
    assert page.run("return Object.values(sessionStorage)") == [keyed.read]
    assert page.run("return localStorage.length + document.cookie.length") == 0
    assert keyed.read not in page.driver.current_url
    page.driver.refresh()
    page.wait_for_answer(QUESTION)
    page.find("#forget").click()
    page.wait(lambda: page.find_all(".key input"), "the question for a key")
    assert page.run("return sessionStorage.length") == 0


def test_a_key_is_requested_in_the_other_tab_too(page: Page, keyed: Keyed) -> None:
    page.find("#to-collections").click()
    page.wait(lambda: page.find_all("#collections .key input"), "the question for a key")
    assert violations(page) == []
    page.find("#collections .key input").send_keys(keyed.read, Keys.ENTER)
    page.wait(lambda: page.find_all(".build"), "the generations")
    assert page.find("#forget").is_displayed()


def test_a_key_is_sent_as_the_documented_header(page: Page, keyed: Keyed) -> None:
    page.run(
        "const real = window.fetch; window.sent = [];"
        "window.fetch = (at, given) => (sent.push(given.headers.Authorization), real(at, given))"
    )
    give(page, keyed.read)
    assert page.run("return sent[0]") == f"Bearer {keyed.read}"


def test_the_collections_are_shown_with_what_changed_in_each_generation(
    page: Page, keyed: Keyed
) -> None:
    give(page, keyed.read)
    page.find("#to-collections").click()
    page.wait(lambda: page.find_all(".build"), "the generations")
    assert page.query_string == "?view=collections"
    assert page.driver.title == "Collections · surefind"
    assert page.find("#to-collections").get_attribute("aria-current") == "page"
    assert page.find(".card h3").text == "docs served here"
    assert builds(page) == ["Generation 2", "Generation 1"]
    assert "current" in page.find(".build.current").text
    assert not page.find("#question").is_displayed()
    what, how = page.find_all(".build.current summary")
    what.click()
    page.wait(lambda: page.find_all(".build h5"), "what changed")
    told = page.find(".build.current").text
    for line in ("1 page added", "1 page changed", "1 page removed", "docs/new <b>page</b>.md"):
        assert line in told
    assert "Compared with generation 1" in told
    how.click()
    page.wait(lambda: "bge-small-en-v1.5" in page.find(".build.current").text, "the manifest")
    assert violations(page) == []
    page.find("#to-search").click()
    page.wait(lambda: page.find_all("#notice h2"), "the search again")
    assert page.focused == page.field


def test_only_an_admin_goes_back_and_only_after_a_confirmation(page: Page, keyed: Keyed) -> None:
    give(page, keyed.read)
    page.open("/?view=collections")
    page.wait(lambda: page.find_all(".build"), "the generations")
    page.find(".build .head button").click()
    assert page.find("#confirm").is_displayed()
    assert page.find("#confirm h2").text == "Roll back to generation 1?"
    assert violations(page) == []
    page.press(Keys.ESCAPE)
    assert not page.find("#confirm").is_displayed()
    page.find(".build .head button").click()
    page.find("#rollback .strong").click()  # with the key that only reads
    page.wait(lambda: "scope admin" in page.find("#confirm-error").text, "the refusal")
    page.find("#admin-key").clear()
    page.find("#admin-key").send_keys(keyed.admin, Keys.ENTER)
    page.wait(lambda: page.find_all(".done"), "the new state")
    assert page.find(".done").text == "Generation 1 of docs is now current."
    assert "Generation 1" in page.find(".build.current").text
    assert page.run("return Object.values(sessionStorage)") == [keyed.read], "it was for this once"
    assert page.find("#admin-key").get_attribute("value") == ""
    page.find("#to-search").click()
    page.wait(lambda: page.find("#facts").text == "generation 1 of docs", "the older passages")


def test_only_an_admin_sees_the_gaps(page: Page, keyed: Keyed) -> None:
    give(page, keyed.read)
    page.ask("Who wrote the <b>third</b> symphony?")
    page.find("#to-gaps").click()
    page.wait(lambda: page.find_all("#gaps .key input"), "the question for an admin key")
    assert page.query_string == "?view=gaps"
    assert "Gaps are for admins" in page.find("#gaps").text
    assert violations(page) == []
    page.find("#gaps .key input").send_keys(keyed.read, Keys.ENTER)
    page.wait(lambda: "was refused" in page.find("#gaps").text, "the refusal")

    def is_listed() -> bool:
        page.open("/?view=gaps")
        page.wait(lambda: page.find_all("#gaps .key input"), "the question for an admin key")
        page.find("#gaps .key input").send_keys(keyed.admin, Keys.ENTER)
        page.wait(lambda: page.find_all("#gaps > h2"), "the gaps")
        return "Who wrote the <b>third</b> symphony?" in page.find("#gaps").text

    page.wait(is_listed, "the gap")
    assert page.find("#to-gaps").get_attribute("aria-current") == "page"
    assert page.driver.title == "Gaps · surefind"
    assert page.find_all("#gaps h3 b") == []
    assert violations(page) == []
    assert page.run("return Object.values(sessionStorage)") == [keyed.read], "it was for this view"
    page.find("#to-collections").click()
    page.wait(lambda: page.find_all(".build .head"), "the generations")
