"""How the Markdown of pages looks: element boxes and text, in the page, the box and the reader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys

from browser.axe import violations
from browser.conftest import Page, ingest
from support.commands import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium import webdriver

HANDBOOK = """\
# The greenhouse

Heating, lighting and [watering](./watering.md#drip-lines){.internal-link target=_blank}.

## Heating list {#heating-list}

- Open the `valve` of the **heater** a little, wait until the pipe is warm to the touch, and only \
then open it `fully`
- Check the *gauge*:
  - below `2 bar`, add water
  - above `4 bar`, let some out
    1. close the valve
    2. open the tap

## Heating table

| Setting | Day | Night |
|---------|-----|-------|
| `frost` | 5   | 2     |
| warm, for **tomatoes** and other plants that want it | 22 | 16 |

## Heating notes

:::tip Heating is cheap at noon

Let the sun do it.

:::

!!! warning "Hot pipes"
    Pipes reach 80 degrees.

    - wear gloves

/// info | Fuel
Wood works, too.
///

=== "Linux heating"

    ```js title="heater.js"
    // highlight-next-line
    const heater = open("heater");
    heater.start();
    ```

=== "Windows heating"

    Use the panel.

> [!NOTE]
> Ask before heating at night.

<div class="termy">

```console
$ <font color="#4E9A06">heater</font> --start
```

</div>

See <a href="https://heat.example.com" class="external-link">heating manuals</a> ![a heater](h.png).
"""
PAGES = {
    "greenhouse.md": HANDBOOK,
    "watering.md": "# Watering\n\n## Drip lines\n\nDrip lines water slowly.\n",
}
SOURCE = re.compile(
    r"\]\(|</?(?:a|div|span|font)\b|class=|^:::|^/// ?|^!!! |^=== |highlight-next|^```|title=\"|"
    r"\*\*\w|^#+ |\[!NOTE\]|\{#|\|---|^\|",
    re.MULTILINE,
)
BOXES = """
const root = arguments[1] ? document.querySelector(arguments[1]).shadowRoot : document;
return [...root.querySelectorAll(arguments[0])].map(each => {
  const { left, right, top, bottom } = each.getBoundingClientRect();
  return { text: each.innerText, left, right, top, bottom };
});
"""


@pytest.fixture(scope="module")
def greenhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = ingest(tmp_path_factory.mktemp("greenhouse"), pages=PAGES)
    with serving("--data-dir", "data", cwd=home) as (address, _):
        yield address


@pytest.fixture(params=["1200", "820", "375"])
def shown(driver: webdriver.Chrome, greenhouse: str, request: pytest.FixtureRequest) -> Page:
    page = Page(driver, greenhouse)
    page.complaints()
    width = int(request.param)
    page.emulate("setEmulatedMedia", features=[])
    page.emulate(
        "setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
    )
    return page


def search(page: Page, question: str) -> None:
    page.open()
    page.ask(question)
    for button in page.find_all(".more"):
        if button.is_displayed():
            button.click()


def boxes(page: Page, selector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.run(BOXES, selector, None)
    return found


def box(page: Page, selector: str, text: str) -> dict[str, Any]:
    return next(each for each in boxes(page, selector) if text in str(each["text"]))


def test_list_items_flow_and_nested_ones_are_indented(shown: Page) -> None:
    search(shown, "heating list")
    for word, item in (("valve", "Open the"), ("2 bar", "below")):
        inner, outer = box(shown, ".passage code", word), box(shown, ".passage li", item)
        assert outer["left"] <= inner["left"] < inner["right"] <= outer["right"] + 1
        assert outer["top"] - 2 <= inner["top"]
        assert inner["bottom"] <= outer["bottom"] + 2
    first = box(shown, ".passage li", "Open the")
    words = boxes(shown, ".passage li:first-child > :is(code, strong)")
    assert words[0]["top"] == pytest.approx(words[1]["top"], abs=6), "code and bold share a line"
    assert words[0]["right"] < words[1]["left"]
    nested, deepest = box(shown, ".passage li li", "below"), box(shown, ".passage ol li", "close")
    assert first["left"] < nested["left"] < deepest["left"]
    assert first["bottom"] <= nested["top"] < deepest["top"]


def test_tables_have_rows_and_columns(shown: Page) -> None:
    search(shown, "heating table")
    cells = boxes(shown, ".passage :is(th, td)")
    assert [str(cell["text"]) for cell in cells[:6]] == [
        "Setting", "Day", "Night", "frost", "5", "2",
    ]  # fmt: skip
    rows = [cells[at : at + 3] for at in (0, 3, 6)]
    for row in rows:
        assert row[0]["top"] == row[1]["top"] == row[2]["top"]
        assert row[0]["right"] <= row[1]["left"] + 1
    for column in zip(*rows, strict=True):
        assert len({round(cell["left"]) for cell in column}) == 1
        assert column[0]["bottom"] <= column[1]["top"] + 1
    outer = box(shown, ".passage", "frost")
    assert box(shown, ".passage .table", "frost")["right"] <= outer["right"] + 1
    assert shown.run("return document.documentElement.scrollWidth - innerWidth") <= 0


def test_admonitions_tabs_and_code_are_set_as_text(shown: Page) -> None:
    search(shown, "heating notes hot pipes fuel linux windows")
    text = "\n".join(str(each["text"]) for each in boxes(shown, ".passage"))
    assert SOURCE.search(text) is None, SOURCE.search(text)
    labels = [str(each["text"]) for each in boxes(shown, ".passage strong")]
    for label in ("Tip: Heating is cheap at noon", "Warning: Hot pipes", "Info: Fuel", "Note"):
        assert label in labels
    warning = box(shown, ".passage strong", "Warning: Hot pipes")
    assert warning["bottom"] <= box(shown, ".passage li", "wear gloves")["top"]
    code = [str(each["text"]) for each in boxes(shown, ".passage pre")]
    assert 'const heater = open("heater");\nheater.start();' in code
    assert "$ heater --start" in code
    assert "heating manuals a heater" in text
    assert violations(shown) == []


def test_the_reader_renders_a_page_with_anchors_and_marks_the_passage(shown: Page) -> None:
    search(shown, "hot pipes reach 80 degrees")
    shown.find(".hit h2 a").send_keys(Keys.ENTER)
    shown.wait(lambda: shown.find_all(".found"), "the marked passage")
    assert shown.driver.current_url.endswith("#heating-notes")
    marked = " ".join(str(each["text"]) for each in boxes(shown, ".found"))
    assert "Pipes reach 80 degrees" in marked
    assert "frost" not in marked
    seen = boxes(shown, ".found")[0]
    assert seen["top"] < 900
    assert seen["bottom"] > 0
    assert SOURCE.search(shown.find("main").text) is None
    headings = shown.run(
        "return [...document.querySelectorAll('main :is(h1, h2)')]"
        ".map(each => [each.tagName, each.innerText, each.closest('section').id])"
    )
    assert headings == [
        ["H1", "The greenhouse", "the-greenhouse"],
        ["H2", "Heating list", "heating-list"],
        ["H2", "Heating table", "heating-table"],
        ["H2", "Heating notes", "heating-notes"],
    ]
    links = shown.run("return [...document.querySelectorAll('main a')].map(a => [a.text, a.href])")
    assert links == [
        ["watering", f"{shown.address}/read/docs/docs/watering.md#drip-lines"],
        ["heating manuals", "https://heat.example.com/"],
    ]
    assert shown.find_all("main :is(img, script, style, iframe)") == []
    assert violations(shown) == []
    assert shown.run("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert shown.complaints() == []


def test_the_reader_of_a_passage_that_is_gone_shows_the_page(shown: Page) -> None:
    shown.open("/read/docs/docs/greenhouse.md?passage=of-an-older-page-0#heating-table")
    assert shown.find("section:target h2").text == "Heating table"
    assert shown.find_all(".found") == []


def test_the_passages_of_a_page_are_together(shown: Page) -> None:
    search(shown, "heating")
    paths = [str(each["text"]) for each in boxes(shown, "#hits > .hit > .trail .path")]
    assert len(paths) == len(set(paths))
    [first] = boxes(shown, "#hits > .hit:first-child > h2")
    below = boxes(shown, "#hits > .hit:first-child .same-page h3")
    assert 1 <= len(below) <= 2
    assert all(first["bottom"] < each["top"] and first["left"] < each["left"] for each in below)
    shown.find("#by-page").click()
    shown.wait(lambda: not shown.find_all(".same-page"), "the plain list")
    assert "group=off" in shown.query_string
    shown.driver.back()
    shown.wait(lambda: shown.find_all(".same-page"), "the pages again")
