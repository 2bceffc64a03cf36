"""The search page by keyboard, by screen reader, on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

from browser.questions import QUESTION

if TYPE_CHECKING:
    from browser.conftest import Page


NARROW = {"width": 375, "height": 740, "deviceScaleFactor": 1, "mobile": True}


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
    named = (
        "return [...document.querySelectorAll('input')].every(x => x.labels.length || x.ariaLabel)"
    )
    assert page.run(named)


def test_the_page_has_its_landmarks(page: Page) -> None:
    selectors = ("body > header", "form", "main", "footer", "#status")
    roles = [page.find(selector).aria_role for selector in selectors]
    assert roles == ["banner", "search", "main", "contentinfo", "status"]
    assert page.find("html").get_attribute("lang") == "en"


def test_the_keys_are_listed_and_can_be_switched_off(page: Page) -> None:
    page.ask(QUESTION)
    page.press(Keys.ARROW_DOWN)
    page.press("?")
    assert page.find("#keys").is_displayed()
    assert "explain the score" in page.find("#keys").text
    page.find("#single-keys").click()
    page.press(Keys.ESCAPE)
    assert not page.find("#keys").is_displayed()
    before = page.focused
    page.press("/")
    assert page.focused == before, "somebody who speaks to the machine writes single letters too"
    page.press(Keys.ESCAPE)
    assert page.focused == page.field
    page.find("#show-keys").click()
    page.find("#single-keys").click()
    page.find("#keys button").click()
    page.find_all(".hit h2 a")[0].send_keys("e")
    assert len(page.find_all(".score[open]")) == 1


def test_the_appearance_can_be_switched_and_stays(page: Page) -> None:
    page.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    ground = "return getComputedStyle(document.body).backgroundColor"
    button = page.find("#theme")
    assert (button.accessible_name, button.get_attribute("aria-pressed")) == (
        "Dark appearance",
        "false",
    )
    button.click()
    assert (page.run(ground), button.get_attribute("aria-pressed")) == ("rgb(20, 24, 26)", "true")
    page.driver.refresh()
    assert page.run(ground) == "rgb(20, 24, 26)"
    page.open("/read/docs/docs/traps.md")
    assert page.run(ground) == "rgb(20, 24, 26)"
    page.open()
    page.find("#theme").click()
    assert page.run(ground) == "rgb(250, 249, 246)"
    assert page.run("return localStorage.length") == 0, "it follows the system again"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_schemes(page: Page, scheme: str) -> None:
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
        "/?q=dough&where=level%3Dhard&where=has_code%3Dtrue&where=source_path%5E%3Ddocs%2Fkitchen",
        "/?view=collections",
        "/read/docs/docs/traps.md",
    ],
)
def test_a_phone_never_scrolls_sideways(page: Page, path: str) -> None:
    page.emulate("setDeviceMetricsOverride", **NARROW)
    page.open(path)
    page.wait(
        lambda: page.find_all(".hit, #notice h2, .build, article section"), "the page's content"
    )
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
    assert {
        f"{page.address}/static/search/app.js",
        f"{page.address}/static/styles/style.css",
    } <= set(loaded)
    assert [each for each in loaded if not each.startswith(f"{page.address}/")] == []
