"""The search page, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from subprocess import Popen

    from browser.conftest import Page

QUESTION = "how often should I water tomatoes"
NARROW = {"width": 375, "height": 740, "deviceScaleFactor": 1, "mobile": True}

HOLD_FIRST_ANSWER = """
const real = window.fetch;
let calls = 0;
window.fetch = (address, options) => calls++
  ? real(address, options)
  : new Promise(resolve => {
      window.release = async () => {
        const answer = await real(address, {...options, signal: undefined});
        resolve(new Response(await answer.text()));
        setTimeout(() => { window.released = true; }, 50);
      };
    });
"""

CONTRASTS = """
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => numbers(colour).slice(0, 3).map(each => each / 255)
  .map(each => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4)
  .reduce((sum, each, at) => sum + each * [.2126, .7152, .0722][at], 0);
const ground = element => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if ((numbers(colour)[3] ?? 1) === 1) return colour;
  }
};
return arguments[0].map(selector => {
  const element = document.querySelector(selector);
  const pair = [light(getComputedStyle(element).color), light(ground(element))];
  return [selector, (Math.max(...pair) + .05) / (Math.min(...pair) + .05)];
});
"""


# --- asking -----------------------------------------------------------------------------------


def test_the_empty_page_says_what_can_be_asked_and_of_what(page: Page) -> None:
    notice = page.find("#notice").text
    assert "What would you like to know?" in notice
    assert "passages of “docs”" in notice
    assert re.fullmatch(r"docs · \d+ passages", page.find("#collection").text)
    assert page.focused == page.field
    assert page.headings == []


def test_an_idea_of_the_empty_page_is_a_search(page: Page) -> None:
    idea = page.find(".ideas a")
    question = idea.text
    idea.click()
    page.wait_for_answer(question)
    assert page.headings[0] == question


def test_a_question_finds_the_passage_that_answers_it(page: Page) -> None:
    page.ask(QUESTION)
    first = page.find(".hit")
    assert first.find_element("css selector", "h2").text == "Watering tomatoes"
    assert first.text.startswith("Growing tomatoes ›")
    assert "twice a week" in first.text
    assert page.status == f"{len(page.headings)} passages for “{QUESTION}”"
    assert page.driver.title == f"{QUESTION} · surefind"


def test_the_link_of_a_hit_opens_the_page_at_its_heading(page: Page) -> None:
    page.ask(QUESTION)
    page.find(".hit h2 a").click()
    page.wait(lambda: "/read/docs/" in page.driver.current_url, "the reader's page")
    assert page.driver.current_url.endswith("garden/tomatoes.md#watering-tomatoes")
    target = page.find("section:target")
    assert target.text.startswith("## Watering tomatoes")
    seen = page.run(
        "const box = arguments[0].getBoundingClientRect();"
        "return box.top >= 0 && box.top < innerHeight",
        target,
    )
    assert seen
    assert target.value_of_css_property("white-space-collapse") == "preserve"
    page.driver.back()
    page.wait_for_answer(QUESTION)
    assert page.headings[0] == "Watering tomatoes"


def test_pages_of_a_published_site_link_to_the_site(page: Page, site_address: str) -> None:
    page.address = site_address
    page.open("/?q=kneading+dough")
    page.wait_for_answer("kneading dough")
    link = page.find(".hit h2 a").get_attribute("href")
    assert link == "https://docs.example.com/kitchen/bread#kneading-the-dough"


def test_typing_alone_searches(page: Page) -> None:
    page.field.send_keys("kneading dough")
    page.wait_for_answer("kneading dough")
    assert page.headings[0] == "Kneading the dough"
    assert page.query_string == "?q=kneading+dough"


def test_enter_does_not_wait_for_the_pause(page: Page) -> None:
    page.run("window.setTimeout = () => 0")
    page.field.send_keys("kneading dough", Keys.ENTER)
    page.wait_for_answer("kneading dough")
    assert page.headings[0] == "Kneading the dough"


def test_typing_on_without_a_pause_spares_the_server(page: Page) -> None:
    for letter in "kneading":
        page.field.send_keys(letter)
    page.wait_for_answer("kneading")
    asked = [body["query"] for body in page.requests()]
    assert asked[-1] == "kneading"
    assert len(asked) < len("kneading") / 2


def test_clearing_the_field_brings_the_empty_page_back(page: Page) -> None:
    page.ask(QUESTION)
    page.press(Keys.CONTROL, "a", Keys.NULL, Keys.BACKSPACE)
    page.wait(lambda: page.find_all("#notice h2"), "the empty page")
    assert page.headings == []
    assert page.query_string == ""


def test_an_answer_that_comes_too_late_is_dropped(page: Page) -> None:
    page.run(HOLD_FIRST_ANSWER)
    page.field.send_keys("tomatoes", Keys.ENTER)
    page.wait(lambda: page.busy, "the search to begin")
    page.ask("kneading dough")
    page.run("window.release()")
    page.wait(lambda: page.run("return window.released"), "the late answer")
    assert page.headings[0] == "Kneading the dough"
    assert "“kneading dough”" in page.status


def test_the_list_is_busy_until_the_answer_is_there(page: Page) -> None:
    page.run(HOLD_FIRST_ANSWER)
    page.field.send_keys(QUESTION, Keys.ENTER)
    page.wait(lambda: page.busy, "the list to be busy")
    assert page.headings == []
    page.run("window.release()")
    page.wait_for_answer(QUESTION)
    assert not page.busy


# --- modes and the address --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "explained"),
    [
        pytest.param("dense", r"score 0\.\d\d: meaning rank 1 \(cosine 0\.\d\d\)", id="dense"),
        pytest.param("lexical", r"score 1\.00: words rank 1 \(BM25 \d+\.\d\)", id="lexical"),
    ],
)
def test_the_mode_changes_the_request_and_the_address(
    page: Page, mode: str, explained: str
) -> None:
    page.ask(QUESTION)
    assert [body["mode"] for body in page.requests()] == ["hybrid"]
    page.find(f"input[value={mode}]").click()
    page.wait(lambda: f"mode={mode}" in page.query_string, "the mode in the address")
    page.wait(lambda: re.fullmatch(explained, page.find(".score").text), "the score of one leg")
    assert [body["mode"] for body in page.requests()] == [mode]


def test_a_hybrid_score_names_both_legs(page: Page) -> None:
    page.ask(QUESTION)
    explained = r"score 1\.00: meaning rank 1 \(cosine 0\.\d\d\), words rank 1 \(BM25 \d+\.\d\)"
    assert re.fullmatch(explained, page.find(".score").text)
    assert "no words in common" in page.find_all(".score")[-1].text


def test_the_bar_is_as_long_as_the_score(page: Page) -> None:
    page.ask(QUESTION)
    sizes = page.run(
        "return [...document.querySelectorAll('.bar')]"
        ".map(bar => parseFloat(getComputedStyle(bar).backgroundSize.match(/[\\d.]+/)))"
    )
    scores = [float(score.text.split()[1].rstrip(":")) for score in page.find_all(".score")]
    assert len(set(scores)) > 2
    assert sizes == pytest.approx([100 * score for score in scores], abs=0.51)


def test_an_address_carries_the_whole_search(page: Page) -> None:
    page.open("/?q=kneading+dough&mode=lexical")
    page.wait_for_answer("kneading dough")
    assert page.field.get_attribute("value") == "kneading dough"
    assert page.find("input[value=lexical]").is_selected()
    assert page.headings[0] == "Kneading the dough"


def test_back_and_forward_walk_through_the_searches(page: Page) -> None:
    page.ask("kneading dough")
    page.ask(QUESTION)
    page.driver.back()
    page.wait_for_answer("kneading dough")
    assert page.field.get_attribute("value") == "kneading dough"
    assert page.headings[0] == "Kneading the dough"
    page.driver.back()
    page.wait(lambda: page.find_all("#notice h2"), "the empty page")
    page.driver.forward()
    page.wait_for_answer("kneading dough")


def test_typing_on_adds_one_step_to_the_history(page: Page) -> None:
    before = page.run("return history.length")
    page.field.send_keys("kneading")
    page.wait_for_answer("kneading")
    page.field.send_keys(" dough")
    page.wait_for_answer("kneading dough")
    assert page.run("return history.length") == before + 1


def test_the_footer_tells_the_time_and_the_generation(page: Page) -> None:
    page.ask(QUESTION)
    told = r"\d+\.\d ms \(embedding \d+\.\d, search \d+\.\d\) · generation 1 of docs"
    assert re.fullmatch(told, page.find("#facts").text)


# --- passages ---------------------------------------------------------------------------------


def test_words_of_the_question_are_marked_in_all_their_forms(page: Page) -> None:
    """Stop words are not: they would mark every line."""
    page.ask("how do I water the tomato")
    marked = {mark.text.lower() for mark in page.find_all(".hit:first-child mark")}
    assert marked == {"water", "watering", "tomatoes"}


def test_the_heading_is_not_said_twice_and_code_is_set_as_code(page: Page) -> None:
    page.ask("kneading dough")
    passage = page.find(".hit:first-child .passage")
    assert passage.text.startswith("Knead the dough for ten minutes")
    assert [code.text for code in page.find_all(".hit:first-child pre")] == ["timer --minutes 10"]


def test_a_passage_that_begins_inside_code_is_told_apart_from_its_prose(page: Page) -> None:
    page.ask("preheating alarm")
    code, prose = page.find(".hit:first-child pre"), page.find_all(".hit:first-child .passage p")
    assert code.text.splitlines()[-1] == "zone_149 = 149 degrees"
    told = "The preheating alarm rings when every zone is warm."
    assert [each.get_attribute("textContent") for each in prose] == [told]


def test_a_passage_that_is_cut_shows_the_words_that_were_sought(page: Page) -> None:
    page.ask("preheating alarm")
    assert page.find(".hit .more").text == "Show all"
    inside = page.run(
        "const box = selector => document.querySelector(selector).getBoundingClientRect();"
        "const [word, passage] = [box('.passage mark'), box('.passage')];"
        "return passage.top <= word.top && word.bottom <= passage.bottom"
    )
    assert inside


def test_a_long_passage_opens_and_closes(page: Page) -> None:
    page.ask("proving time of a sourdough loaf")
    passage, button = page.find(".hit .passage"), page.find(".hit .more")
    cut = passage.size["height"]
    assert (button.text, button.get_attribute("aria-expanded")) == ("Show all", "false")
    button.click()
    assert passage.size["height"] > 2 * cut
    assert (button.text, button.get_attribute("aria-expanded")) == ("Show less", "true")
    button.click()
    assert passage.size["height"] == cut


def test_a_short_passage_has_nothing_to_open(page: Page) -> None:
    page.ask("pruning side shoots")
    assert page.headings[0] == "Pruning side shoots"
    assert not page.find(".hit .more").is_displayed()


def test_markup_in_a_passage_is_shown_and_never_run(page: Page) -> None:
    page.ask("hostile passage")
    first = page.find(".hit")
    for text in (
        'Hostile <img src=x onerror="window.pwned=1"> heading',
        '<script>window.pwned = 1; alert("pwned")</script>',
        '</mark></p></div><b id="smuggled">bold</b> & <svg onload="window.pwned=1">',
    ):
        assert text in first.text
    assert page.find_all("#hits :is(script, img, svg, b), #smuggled, a[href^=javascript]") == []
    assert page.run("return window.pwned") is None


def test_markup_in_a_question_is_shown_and_never_run(page: Page) -> None:
    question = '<img src=x onerror="window.pwned=1">'
    page.ask(question)
    assert page.find_all("main img") == []
    assert page.run("return window.pwned") is None


def test_markup_in_a_page_of_the_reader_is_shown_and_never_run(page: Page) -> None:
    page.ask("hostile passage")
    page.find(".hit h2 a").click()
    page.wait(lambda: page.find_all("section:target"), "the reader's page")
    assert 'alert("pwned")</script>' in page.find("section:target").text
    assert page.find_all("article :not(section), script") == []
    assert page.run("return window.pwned") is None


def test_the_policy_keeps_inline_scripts_from_running(page: Page) -> None:
    page.run(
        "const script = document.createElement('script');"
        "script.textContent = 'window.pwned = 1';"
        "document.body.append(script)"
    )
    assert page.run("return window.pwned") is None
    assert any("Content Security Policy" in complaint for complaint in page.complaints())


# --- when there is nothing to show ------------------------------------------------------------


def test_words_that_no_passage_has_are_answered_with_a_way_on(page: Page) -> None:
    page.open("/?q=xylophone&mode=lexical")
    page.wait(lambda: "Nothing found" in page.find("#notice").text, "the empty answer")
    assert "No passage has any of these words." in page.status
    page.find("#notice button").click()
    page.wait_for_answer("xylophone")
    assert page.query_string == "?q=xylophone"
    assert page.headings


def test_an_answer_below_the_threshold_tells_the_best_similarity(page: Page) -> None:
    page.open("/?q=xylophone&threshold=0.95")
    page.wait(lambda: "Nothing found" in page.find("#notice").text, "the empty answer")
    told = r"The nearest passage has a similarity of 0\.\d\d; 0\.95 was asked for\."
    assert re.search(told, page.find("#notice").text)
    assert page.headings == []


def test_an_answer_without_the_catalog_says_so(page: Page, address_without_catalog: str) -> None:
    page.address = address_without_catalog
    page.open(f"/?q={QUESTION}")
    page.wait_for_answer(QUESTION)
    assert page.find("#notice").text.startswith("The catalog is away")
    assert page.headings[0] == "Watering tomatoes"


def test_a_refused_question_is_explained_and_the_page_goes_on(page: Page) -> None:
    page.ask(QUESTION)
    page.run(
        "const field = arguments[0]; field.value = 'x'.repeat(2001);"
        "field.dispatchEvent(new Event('input'))",
        page.field,
    )
    page.wait(lambda: "validation_error" in page.find("#notice").text, "the error")
    assert "query: String should have at most 2000 characters" in page.find("#notice").text
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
    assert "The server does not answer" in page.find("#notice").text
    page.requests()
    page.find("#notice button").click()
    page.wait(lambda: len(page.requests()) == 1, "another try")
    page.wait(lambda: not page.busy and page.find_all("#notice button"), "the error again")
    assert page.focused == page.field
    assert any("ERR_CONNECTION_REFUSED" in complaint for complaint in page.complaints())


# --- for everybody ----------------------------------------------------------------------------


def test_the_keyboard_is_enough(page: Page) -> None:
    page.run("document.activeElement.blur()")
    page.press("/")
    assert page.focused == page.field
    page.press(QUESTION, Keys.ENTER)
    page.wait_for_answer(QUESTION)
    headings = page.headings
    page.press(Keys.ARROW_DOWN)
    assert page.focused.text == headings[0]
    page.press(Keys.ARROW_DOWN)
    assert page.focused.text == headings[1]
    page.press("j")
    assert page.focused.text == headings[2]
    page.press("k")
    page.press(Keys.ARROW_UP)
    assert page.focused.text == headings[0]
    page.press(Keys.ESCAPE)
    assert page.focused == page.field
    assert page.field.get_attribute("value") == QUESTION
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait(lambda: page.driver.current_url.endswith("#watering-tomatoes"), "the reader's page")


def test_letters_typed_into_the_field_move_nothing(page: Page) -> None:
    page.ask(QUESTION)
    page.press("/jk")
    assert page.focused == page.field
    assert page.field.get_attribute("value") == f"{QUESTION}/jk"


def test_every_control_has_a_name(page: Page) -> None:
    page.ask("proving time of a sourdough loaf")
    shown = [each for each in page.find_all("a, button, input, summary") if each.is_displayed()]
    assert len(shown) > 8
    assert [each.get_attribute("outerHTML") for each in shown if not each.accessible_name] == []
    assert page.run("return document.querySelectorAll('input').length") == 4
    assert page.run("return [...document.querySelectorAll('input')].every(x => x.labels.length)")


def test_the_page_has_its_landmarks(page: Page) -> None:
    selectors = ("body > header", "form", "main", "footer", "#status")
    roles = [page.find(selector).aria_role for selector in selectors]
    assert roles == ["banner", "search", "main", "contentinfo", "status"]
    assert page.find("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(page: Page, scheme: str) -> None:
    """WCAG AA: 4.5 to 1."""
    page.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.ask("kneading dough")
    selectors = ["h1", "#status", ".trail", "h2 a", ".passage", "p mark", "pre", ".score", "footer"]
    contrasts = page.run(CONTRASTS, [*selectors, "#question", ":checked + span"])
    assert [pair for pair in contrasts if pair[1] < 4.5] == []
    dark = page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"
    assert dark == (scheme == "dark")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?q=hostile+passage",
        "/?q=proving+times&mode=lexical",
        "/?q=xylophone&mode=lexical",
        "/read/docs/docs/traps.md",
    ],
)
def test_a_phone_never_scrolls_sideways(page: Page, path: str) -> None:
    page.emulate("setDeviceMetricsOverride", **NARROW)
    page.open(path)
    page.wait(lambda: page.find_all(".hit, #notice h2, section"), "the page's content")
    assert page.run("return innerWidth") == 375
    assert page.run("return document.documentElement.scrollWidth") <= 375


def test_a_wish_for_less_motion_is_respected(page: Page) -> None:
    script = (
        "document.getElementById('hits').ariaBusy = 'true';"
        "return getComputedStyle(document.querySelector('.field'), '::after').animationName"
    )
    assert page.run(script) == "seek"
    page.emulate(
        "setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}]
    )
    assert page.run(script) == "none"


def test_nothing_comes_from_another_host(page: Page) -> None:
    page.ask(QUESTION)
    loaded = page.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert {f"{page.address}/static/app.js", f"{page.address}/static/style.css"} <= set(loaded)
    assert [each for each in loaded if not each.startswith(f"{page.address}/")] == []
