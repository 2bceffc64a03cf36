"""The page as axe sees it: WCAG 2.2 at level AA, and good practice beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser.axe import violations

if TYPE_CHECKING:
    from browser.conftest import Page

NARROW = {"width": 375, "height": 740, "deviceScaleFactor": 1, "mobile": True}
# Colours are judged as they end up, not half way.
FINISH = "document.getAnimations().forEach(each => each.finish())"
PLACES = {
    "start": "/",
    "answer": "/?q=kneading+dough&where=has_code%3Dtrue",
    "nothing": "/?q=xylophone&mode=lexical",
    "thin": "/?q=quarterly+tax+return+of+a+limited+company",
    "collections": "/?view=collections",
    "reader": "/read/docs/docs/kitchen/bread.md",
    "the API": "/docs",
}


def settle(page: Page, path: str) -> None:
    page.open(path)
    found = ".hit, #notice h2, .build, article section"
    page.wait(lambda: page.find_all(found), "the page's content")
    page.run(FINISH)


@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing_light_dark_or_on_a_phone(page: Page, place: str) -> None:
    settle(page, PLACES[place])
    grounds = set()
    for scheme in ("light", "dark"):
        look = [{"name": "prefers-color-scheme", "value": scheme}]
        page.emulate("setEmulatedMedia", features=look)
        page.run(FINISH)
        grounds.add(page.run("return getComputedStyle(document.body).backgroundColor"))
        assert (scheme, violations(page)) == (scheme, [])
    assert len(grounds) == 2
    page.emulate("setDeviceMetricsOverride", **NARROW)
    page.run(FINISH)
    assert page.run("return innerWidth") == NARROW["width"]
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_opens(page: Page, scheme: str) -> None:
    page.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    settle(page, "/?q=kneading+dough")
    page.wait(lambda: page.find("#filter").is_displayed(), "something to filter by")
    page.find("#filter").click()
    page.find(".choice").click()
    page.find("#timings summary").click()
    page.find(".score summary").click()
    page.find("#wanted").send_keys("docs/traps.md")
    page.run("document.getElementById('why-not').requestSubmit()")
    page.wait(lambda: page.find_all("#cause h3"), "the cause")
    page.wait(lambda: not page.busy, "the answer")
    page.run(FINISH)
    assert violations(page) == []
    page.find("#show-keys").click()
    assert page.find("#keys").is_displayed()
    assert violations(page) == []


def test_axe_finds_nothing_in_an_error(page: Page) -> None:
    settle(page, "/?q=dough&where=lvel%3Deasy")
    assert page.find_all("#notice.failed")
    assert violations(page) == []
    page.complaints()
