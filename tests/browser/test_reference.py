"""The API reference: requests can be sent from it, under the page's own content policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browser.conftest import Page

RETRIEVE = "#retrieve form.try"


def send(page: Page, form: str, body: str) -> str:
    """The outcome of sending this body with a form."""
    field = page.find(f"{form} textarea")
    field.clear()
    field.send_keys(body)
    page.find(f"{form} button").click()

    def outcome() -> str:
        shown = page.find(f"{form} .outcome").text
        return "" if shown.startswith("Waiting") else shown

    page.wait(outcome, "the answer")
    return outcome()


def test_a_request_is_sent_and_its_answer_shown(page: Page) -> None:
    page.open("/docs")
    page.wait(lambda: page.find(RETRIEVE).is_displayed(), "the form")
    outcome = send(page, RETRIEVE, '{"query": "kneading dough", "top_k": 2}')
    assert outcome.startswith("200"), outcome
    assert '"chunk_id": "' in page.find(f"{RETRIEVE} .answer").text
    assert page.complaints() == []


def test_parameters_are_part_of_the_address(page: Page) -> None:
    page.open("/docs")
    form = "form.try[data-path='/documents']"
    page.wait(lambda: page.find(form).is_displayed(), "the form")
    page.find(f"{form} input[name=limit]").send_keys("1")
    page.find(f"{form} button").click()
    page.wait(lambda: page.find(f"{form} .answer").is_displayed(), "the answer")
    assert '"limit": 1' in page.find(f"{form} .answer").text


def test_a_refused_request_is_shown_with_its_reason(page: Page) -> None:
    page.open("/docs")
    page.wait(lambda: page.find(RETRIEVE).is_displayed(), "the form")
    assert send(page, RETRIEVE, '{"query": "dough", "top_k": 0}').startswith("400")
    assert "top_k: " in page.find(f"{RETRIEVE} .answer").text
    assert send(page, RETRIEVE, '{"query": ').startswith("Not sent: the body is not valid JSON")
    assert not page.find(f"{RETRIEVE} .answer").is_displayed()
    page.complaints()


def test_the_key_is_sent_and_kept_for_this_tab(page: Page) -> None:
    page.open("/docs")
    page.wait(lambda: page.find("#api-key").is_displayed(), "the field")
    page.find("#api-key").send_keys("sf_wrong")
    outcome = send(page, RETRIEVE, '{"query": "dough"}')
    page.open("/docs")
    assert outcome.startswith(("200", "401"))
    assert page.find("#api-key").get_attribute("value") == "sf_wrong"
    page.run("sessionStorage.clear()")
    page.complaints()
