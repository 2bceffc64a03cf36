"""A real Chromium in front of the real commands, on pages of its own."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from support.chromium import chromium
from support.commands import serving, surefind
from support.homes import copy_home

WAIT_S = 10
POLL_S = 0.05
ZONES = "\n".join(f"zone_{number} = {number} degrees" for number in range(150))
PAGES = {
    **dict.fromkeys(
        ("pantry/honey.md", "pantry/old/honey.md"),
        "# Storing honey\n\nHoney keeps for years in a closed jar, in the dark.\n",
    ),
    "garden/tomatoes.md": """\
---
level: easy
weight: 1
reviewed: 2026-03-01
---
# Growing tomatoes

Tomatoes want sun, warmth and patience.

## Watering tomatoes

Water tomatoes deeply at the root, early in the morning, twice a week. Wet leaves invite blight.

## Pruning side shoots

Pinch out the side shoots of cordon varieties, so that the plant puts its strength into fruit.
Start in June.
""",
    "kitchen/bread.md": """\
---
level: hard
weight: 2
reviewed: 2026-05-01
---
# Baking bread

## Kneading the dough

Knead the dough for ten minutes, until it is smooth and springs back.

```bash
timer --minutes 10
```

## Proving times

A cold kitchen doubles the proving time of a sourdough loaf.
"""
    + "".join(f"\nAt {degrees} degrees it needs its own time.\n" for degrees in range(15, 32)),
    "kitchen/oven.md": f"""\
# The oven

## Zones

```ini
{ZONES}
```

The preheating alarm rings when every zone is warm.
""",
    "workshop/tools.md": """\
# The workshop

## Sharpening tools

A dull tool is dangerous:

- Sharpen a `chisel` on the **coarse** stone first, then on the `fine` stone, then strop it on \
leather until it shaves hair.
- Sharpen a plane iron the same way:
  - set the honing guide to `30` degrees,
  - work in figures of eight.

1. Wipe the **stone**.
2. Oil the `hinge`.
""",
    "traps.md": """\
---
level: <img src=x onerror="window.pwned=1">
---
# Traps

## Hostile <img src=x onerror="window.pwned=1"> heading

A hostile passage tries <script>window.pwned = 1; alert("pwned")</script> to run.

</mark></p></div><b id="smuggled">bold</b> & <svg onload="window.pwned=1"> [link](javascript:pwned)
""",
}


class Page:
    """The search page, as a visitor meets it."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(self, path: str = "/") -> None:
        self.driver.get(self.address + path)

    @property
    def field(self) -> WebElement:
        return self.find("#question")

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        waiting = WebDriverWait(self.driver, WAIT_S, POLL_S)
        waiting.until(lambda _: condition(), f"waited for {what}")

    def ask(self, question: str) -> None:
        self.field.clear()
        self.field.send_keys(question, Keys.ENTER)
        self.wait_for_answer(question)

    def wait_for_answer(self, question: str) -> None:
        self.wait(
            lambda: f"“{question}”" in self.status and not self.busy, f"the answer to {question!r}"
        )

    @property
    def status(self) -> str:
        return str(self.run("return document.getElementById('status').textContent"))

    @property
    def busy(self) -> bool:
        return self.find("#hits").get_attribute("aria-busy") == "true"

    @property
    def headings(self) -> list[str]:
        script = (
            "return [...document.querySelectorAll('.hit > :is(h2, h3)')].map(x => x.textContent)"
        )
        return [str(heading) for heading in self.run(script)]

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    @property
    def query_string(self) -> str:
        return str(self.run("return location.search"))

    def press(self, *keys: str) -> None:
        """As soon as the focus has left what was just closed."""
        self.wait(self._focus_is_visible, "the focus is on something visible")
        self.focused.send_keys(*keys)

    def _focus_is_visible(self) -> bool:
        return self.focused.is_displayed()

    def requests(self) -> list[dict[str, Any]]:
        """The bodies sent to /retrieve since the last look."""
        bodies = []
        for entry in self.driver.get_log("performance"):  # type: ignore[no-untyped-call]
            event = json.loads(entry["message"])["message"]
            sent = event["params"].get("request", {})
            if event["method"] == "Network.requestWillBeSent" and "postData" in sent:
                bodies.append(json.loads(sent["postData"]))
        return bodies

    def complaints(self) -> list[str]:
        """What the console complained of since the last look, broken policies included."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries if entry["level"] in {"SEVERE", "WARNING"}]

    def emulate(self, command: str, **parameters: Any) -> None:
        self.driver.execute_cdp_cmd(f"Emulation.{command}", parameters)


def ingest(home: Path, *options: str, pages: Mapping[str, str | None] = PAGES) -> Path:
    """`home`, with the pages in docs/ and a data folder; None is no page."""
    for name, text in pages.items():
        if text is None:
            continue
        path = home / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    done = surefind("ingest", "docs", "--data-dir", "data", *options, cwd=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def address(home: Path) -> Iterator[str]:
    with serving("--data-dir", "data", cwd=home) as (address, _):
        yield address


@pytest.fixture
def own_home(home: Path, tmp_path: Path) -> Path:
    """A copy of the data, for a test that does something to it."""
    copy_home(home / "data", tmp_path / "data")
    return tmp_path


@pytest.fixture
def mortal_server(own_home: Path) -> Iterator[tuple[str, Popen[str]]]:
    """A second server, for a test that ends it."""
    with serving("--data-dir", "data", cwd=own_home) as server:
        yield server


@pytest.fixture
def address_without_catalog(own_home: Path) -> Iterator[str]:
    [catalog] = own_home.glob("data/collections/docs/*/catalog.sqlite")
    catalog.unlink()
    with serving("--data-dir", "data", cwd=own_home) as (address, _):
        yield address


@pytest.fixture
def site_address(tmp_path: Path) -> Iterator[str]:
    """A server of pages that are published on a site of their own."""
    home = ingest(tmp_path, "--base-url", "https://docs.example.com")
    with serving("--data-dir", "data", cwd=home) as (address, _):
        yield address


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(driver: webdriver.Chrome, address: str) -> Iterator[Page]:
    """Open on the empty page; after the test, the console must have nothing to complain of."""
    page = Page(driver, address)
    page.emulate("setEmulatedMedia", features=[])
    page.emulate("clearDeviceMetricsOverride")
    driver.set_window_size(1200, 900)
    page.complaints()
    page.open()
    page.wait(lambda: page.find_all("#notice h2"), "the empty page")
    page.requests()
    yield page
    assert page.complaints() == []
