"""What the search page says when there is nothing to show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

from browser.questions import QUESTION

if TYPE_CHECKING:
    from subprocess import Popen

    from browser.conftest import Page


def test_words_that_no_passage_has_are_answered_with_a_way_on(page: Page) -> None:
    page.open("/?q=xylophone&mode=lexical")
    page.wait(lambda: "Nothing found" in page.find("#notice").text, "the empty answer")
    assert "No passage contains any of these words." in page.status
    page.find("#notice button").click()
    page.wait_for_answer("xylophone")
    assert page.query_string == "?q=xylophone"
    assert page.headings


def test_an_answer_below_the_threshold_shows_the_best_similarity(page: Page) -> None:
    page.open("/?q=xylophone&threshold=0.95")
    page.wait(lambda: "Nothing found" in page.find("#notice").text, "the empty answer")
    told = r"The nearest passage has a similarity of 0\.\d\d, below the threshold of 0\.95\."
    assert re.search(told, page.find("#notice").text)
    assert page.headings == []


def test_an_answer_without_the_catalog_says_so(page: Page, address_without_catalog: str) -> None:
    page.address = address_without_catalog
    page.open(f"/?q={QUESTION}")
    page.wait_for_answer(QUESTION)
    assert page.find("#notice").text.startswith("The catalog is unavailable")
    assert page.headings[0] == "Watering tomatoes"


def test_a_refused_question_is_explained_and_the_page_goes_on(page: Page) -> None:
    page.ask(QUESTION)
    page.run(
        "const field = arguments[0]; field.value = 'x'.repeat(2001);"
        "field.dispatchEvent(new Event('input'))",
        page.field,
    )
    page.wait(lambda: "validation_error" in page.find("#notice").text, "the error")
    assert "query: at most 2000 characters are allowed" in page.find("#notice").text
    assert "The search failed: query:" in page.status
    assert page.headings == []
    assert any("400 (Bad Request)" in complaint for complaint in page.complaints())
    page.ask(QUESTION)
    assert page.headings[0] == "Watering tomatoes"
    assert not page.find("#notice").is_displayed()


def test_a_server_that_is_gone_is_named_and_can_be_tried_again(
    page: Page, mortal_server: tuple[str, Popen[str]]
) -> None:
    page.address, process = mortal_server
    page.open(f"/?q={QUESTION}")
    page.wait_for_answer(QUESTION)
    process.terminate()
    process.wait(timeout=30)
    page.field.send_keys(" in June", Keys.ENTER)
    page.wait(lambda: "unreachable" in page.find("#notice").text, "the error")
    assert "The server does not respond" in page.find("#notice").text
    page.requests()
    page.find("#notice button").click()
    page.wait(lambda: len(page.requests()) == 1, "another try")
    page.wait(lambda: not page.busy and page.find_all("#notice button"), "the error again")
    assert page.focused == page.field
    assert any("ERR_CONNECTION_REFUSED" in complaint for complaint in page.complaints())


REFUSE_ONCE = """
const [status, error, wait] = arguments;
const real = window.fetch;
window.fetch = () => {
  window.fetch = real;
  const body = JSON.stringify({error, message: "the service failed"});
  return Promise.resolve(new Response(body, {status, headers: {"Retry-After": String(wait)}}));
};
"""


@pytest.mark.parametrize(
    ("status", "error", "told", "way"),
    [
        (502, "upstream_error", "Keyword search works without it.", "Search by words"),
        (429, "rate_limited", "Wait 7 s, then try again.", "Try again"),
        (404, "not_found", "Nothing here yet", "Try again"),
    ],
)
def test_a_failure_says_what_to_do_next(
    page: Page, status: int, error: str, told: str, way: str
) -> None:
    page.run(REFUSE_ONCE, status, error, 7 * (status == 429))
    page.field.send_keys(QUESTION, Keys.ENTER)
    page.wait(lambda: told in page.find("#notice").text, "what to do")
    [button] = [each for each in page.find_all("#notice button") if each.text == way]
    button.click()
    page.wait_for_answer(QUESTION)
    assert page.headings[0] == "Watering tomatoes"
    assert ("mode=lexical" in page.query_string) == (status == 502)


FOREIGN = """
const real = window.fetch;
const told = (body, status = 200) => new Response(JSON.stringify(body), {status});
window.fetch = async (address, options) => {
  if (address === "/collections") {
    const {collections} = await (await real(address, options)).json();
    const uncounted = {generation: 1, documents: null, chunks: null, created_at: null};
    return told({collections: [{name: "stranger", served: false, ...uncounted}, ...collections]});
  }
  if (!address.includes("stranger")) return real(address, options);
  return told({error: "service_unavailable", message: "a store failed or is away"}, 503);
};
"""


def test_a_collection_that_is_unavailable_hides_no_other(page: Page) -> None:
    page.run(FOREIGN)
    page.find("#to-collections").click()
    page.wait(lambda: len(page.find_all(".card")) == 2, "both collections")
    docs, stranger = (card.text for card in page.find_all(".card"))
    assert docs.startswith("docs served here")
    assert "Generation 1" in docs
    assert stranger == "stranger\na store failed or is away"
