"""The search page, in a real browser: asking, modes, the address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser.questions import QUESTION
from support.commands import serving, surefind

if TYPE_CHECKING:
    from pathlib import Path

    from browser.conftest import Page


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


def shown(page: Page, selector: str) -> str:
    """Its text, in one line, with a space between its parts."""
    parts = (
        "return [...document.querySelector(arguments[0]).children].map(each => each.textContent)"
    )
    return " ".join(str(part) for part in page.run(parts, selector) if part)


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
    assert "garden/tomatoes.md?passage=" in page.driver.current_url
    assert page.driver.current_url.endswith("#watering-tomatoes")
    target = page.find("section:target")
    assert target.text.startswith("Watering tomatoes\nWater tomatoes deeply")
    seen = page.run(
        "const box = arguments[0].getBoundingClientRect();"
        "return box.top >= 0 && box.top < innerHeight",
        target,
    )
    assert seen
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
    page.wait(lambda: page.status.startswith("Still searching"), "a word about it")
    assert page.find("#status").is_displayed()
    page.run("window.release()")
    page.wait_for_answer(QUESTION)
    assert not page.busy


@pytest.mark.parametrize(
    ("mode", "explained"),
    [
        pytest.param("dense", r"score 0\.\d\d meaning only", id="dense"),
        pytest.param("lexical", r"score 1\.00 words only", id="lexical"),
    ],
)
def test_the_mode_changes_the_request_and_the_address(
    page: Page, mode: str, explained: str
) -> None:
    page.ask(QUESTION)
    assert [body["mode"] for body in page.requests()] == ["hybrid"]
    page.find(f"input[value={mode}]").click()
    page.wait(lambda: f"mode={mode}" in page.query_string, "the mode in the address")
    page.wait(lambda: re.match(explained, shown(page, ".score summary")), "the score of one leg")
    assert [body["mode"] for body in page.requests()] == [mode]


def test_a_score_is_explained_by_its_legs(page: Page) -> None:
    page.ask(QUESTION)
    first = page.find(".score")
    summary = shown(page, ".score summary")
    numbers = [float(number) for number in re.findall(r"\d\.\d\d", summary)]
    assert numbers[0] == pytest.approx(sum(numbers[1:]), abs=0.03), summary
    assert re.match(r"score \S+ meaning \S+ \+ words \S+ \+ (page|title) ", summary)
    first.find_element("css selector", "summary").click()
    rows = [row.text.replace("\n", " ") for row in page.find_all(".score[open] dl div")]
    assert re.fullmatch(r"meaning cosine 0\.\d{3}, rank 1: 0\.\d{3} of the score", rows[0])
    assert re.fullmatch(r"words BM25 \d+\.\d\d, rank 1: 0\.\d{3} of the score", rows[1])
    assert any("of the page: 0." in row for row in rows[2:])
    told = page.run("return [...document.querySelectorAll('.score')].at(-1).textContent")
    assert "no words in common" in told


def test_the_bar_is_as_long_as_the_shares_of_the_score(page: Page) -> None:
    page.ask(QUESTION)
    widths = page.run(
        "return [...document.querySelectorAll('.score .bar')].map(bar => 100 / bar.clientWidth *"
        "[...bar.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0))"
    )
    told = page.run("return [...document.querySelectorAll('.score')].map(each => each.textContent)")
    scores = [float(str(score).split()[1][:4]) for score in told]
    assert len(set(scores)) > 2
    assert widths == pytest.approx([100 * score for score in scores], abs=1)


def test_an_address_carries_the_whole_search(page: Page) -> None:
    page.open("/?q=kneading+dough&mode=lexical")
    page.wait_for_answer("kneading dough")
    assert page.field.get_attribute("value") == "kneading dough"
    assert page.find("input[value=lexical]").is_selected()
    assert page.headings[0] == "Kneading the dough"


def test_the_page_says_what_it_searched_for_a_misspelt_word(page: Page) -> None:
    for mode in ("", "&mode=lexical"):
        page.open(f"/?q=kneeding{mode}")
        page.wait_for_answer("kneeding")
        assert page.headings[0] == "Kneading the dough"
        note = "kneeding: no passage has this word; searched for kneading."
        assert note in page.find("#notice").text
    assert "kneading" in {mark.text.lower() for mark in page.find_all("#hits mark")}


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
    """The browser's own count ends at fifty, so the steps are counted as they are made."""
    page.run(
        "window.steps = 0; const push = history.pushState;"
        "history.pushState = function () { window.steps += 1; return push.apply(this, arguments); }"
    )
    page.field.send_keys("kneading")
    page.wait_for_answer("kneading")
    page.field.send_keys(" dough")
    page.wait_for_answer("kneading dough")
    assert page.run("return window.steps") == 1


def test_the_time_of_each_stage_and_the_generation_are_reported(page: Page) -> None:
    page.ask("what nobody has asked this server yet")
    assert re.fullmatch(r"\d+\.\d ms", page.find("#timings summary").text)
    page.find("#timings summary").click()
    stages = [row.text.replace("\n", " ") for row in page.find_all(".stages div")]
    assert len(stages) == 6
    assert all(re.fullmatch(r"[a-z ]+ \d+\.\d ms", stage) for stage in stages)
    assert page.find("#facts").text == "generation 1 of docs"


def test_an_answer_that_was_remembered_says_so(page: Page) -> None:
    page.ask("what nobody will ask but twice")
    page.driver.refresh()
    page.wait_for_answer("what nobody will ask but twice")
    assert re.fullmatch(r"\d+\.\d ms, cached", page.find("#timings summary").text)
    page.find("#timings summary").click()
    assert "This result is cached" in page.find("#timings div").text


def test_another_collection_is_chosen_at_the_top(page: Page, own_home: Path) -> None:
    done = surefind(
        *("import", _archive(own_home), "--collection", "copy", "--data-dir", "data"), cwd=own_home
    )
    assert done.returncode == 0, done.stderr
    with serving("--data-dir", "data", cwd=own_home) as (address, _):
        page.address = address
        page.open("/?q=kneading+dough&where=level%3Dhard")
        page.wait_for_answer("kneading dough")
        page.wait(lambda: page.find("#choose").is_displayed(), "the chooser")
        choice = Select(page.find("#choose"))
        assert [option.text.split(" · ")[0] for option in choice.options] == ["docs", "copy"]
        page.requests()
        choice.select_by_index(1)
        page.wait(lambda: "collection=copy" in page.query_string, "the collection in the address")
        page.wait(lambda: page.find("#facts").text == "generation 1 of copy", "its answer")
        assert page.requests()[-1]["collection"] == "copy"
        assert "where" not in page.query_string
        page.driver.back()
        page.wait(lambda: page.find("#facts").text == "generation 1 of docs", "the first answer")
        assert Select(page.find("#choose")).first_selected_option.text.startswith("docs")


def _archive(home: Path) -> str:
    done = surefind("export", "docs.surefind", "--data-dir", "data", cwd=home)
    assert done.returncode == 0, done.stderr
    return "docs.surefind"
