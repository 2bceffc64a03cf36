"""How the search page shows passages, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browser.conftest import Page


def test_words_of_the_question_are_marked_in_all_their_forms(page: Page) -> None:
    """Stop words are not: they would mark every line."""
    page.ask("how do I water the tomato")
    marked = {mark.text.lower() for mark in page.find_all(".hit:first-child mark")}
    assert marked == {"water", "watering", "tomatoes"}


def test_the_heading_is_not_said_twice_and_code_is_set_as_code(page: Page) -> None:
    page.ask("kneading dough")
    passage = page.find(".hit:first-child .passage")
    assert passage.text.startswith("Knead the dough for ten minutes")
    code = [each.text for each in page.find_all("#hits > .hit:first-child > .passage pre")]
    assert code == ["timer --minutes 10"]


def test_a_list_item_flows_as_one_paragraph(page: Page) -> None:
    """Code and emphasis in it stay on the line of the words around them."""
    page.ask("sharpening a chisel on a coarse stone")
    assert page.headings[0] == "Sharpening tools"
    tops = page.run(
        "const item = [...document.querySelectorAll('.hit:first-child :is(li, .item)')]"
        ".find(each => each.textContent.includes('coarse'));"
        "return [...item.querySelectorAll('code, strong')].slice(0, 2)"
        ".map(each => [each.getBoundingClientRect().top, each.getBoundingClientRect().height])"
    )
    (code_top, height), (strong_top, _) = tops
    assert abs(code_top - strong_top) < height


def test_a_passage_that_begins_inside_code_is_separated_from_its_prose(page: Page) -> None:
    page.ask("preheating alarm")
    first = "#hits > .hit:first-child > .passage"
    code, prose = page.find(f"{first} pre"), page.find_all(f"{first} p")
    assert code.text.splitlines()[-1] == "zone_149 = 149 degrees"
    told = "The preheating alarm rings when every zone is warm."
    assert [each.get_attribute("textContent") for each in prose] == [told]


def test_a_passage_that_is_cut_shows_the_words_of_the_query(page: Page) -> None:
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


def test_markup_in_a_passage_never_runs_and_its_text_is_shown(page: Page) -> None:
    page.ask("hostile passage")
    first = page.find(".hit")
    for text in (
        "Hostile heading",
        "A hostile passage tries to run.",
        "bold & link",
    ):
        assert text in first.text
    assert page.find_all("#hits :is(script, img, svg), #smuggled, a[href^=javascript]") == []
    assert page.run("return window.pwned") is None


def test_markup_in_a_question_is_shown_and_never_run(page: Page) -> None:
    question = '<img src=x onerror="window.pwned=1">'
    page.ask(question)
    assert page.find_all("main img") == []
    assert page.run("return window.pwned") is None


def test_markup_in_a_page_of_the_reader_never_runs(page: Page) -> None:
    page.ask("hostile passage")
    page.find(".hit h2 a").click()
    page.wait(lambda: page.find_all("section:target"), "the reader's page")
    assert "A hostile passage tries to run." in page.find("section:target").text
    assert page.find_all("article :is(script, img, svg, [onload], [onerror]), #smuggled") == []
    assert page.find_all("article a") == []
    assert page.run("return window.pwned") is None


def test_the_policy_keeps_inline_scripts_from_running(page: Page) -> None:
    page.run(
        "const script = document.createElement('script');"
        "script.textContent = 'window.pwned = 1';"
        "document.body.append(script)"
    )
    assert page.run("return window.pwned") is None
    assert any("Content Security Policy" in complaint for complaint in page.complaints())


def test_equal_passages_are_shown_once_with_the_way_to_the_others(page: Page) -> None:
    page.open("/?q=how+long+does+honey+keep")
    page.wait_for_answer("how long does honey keep")
    assert page.headings.count("Storing honey") == 1
    same = page.find(".hit .also")
    assert same.text.startswith("The same in ")
    assert "honey.md" in (same.find_element("tag name", "a").get_attribute("href") or "")


def test_thin_evidence_is_reported(page: Page) -> None:
    page.open("/?q=quarterly+tax+return+of+a+limited+company")
    page.wait_for_answer("quarterly tax return of a limited company")
    assert "The evidence is thin" in page.find("#notice").text
