"""A real Chromium in front of the real commands, on pages of its own."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

T = TypeVar("T")

SUREFIND = Path(sys.executable).parent / "surefind"
START_S = 60
WAIT_S = 10
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAGES = {
    "garden/tomatoes.md": """\
# Growing tomatoes

Tomatoes want sun, warmth and patience.

## Watering tomatoes

Water tomatoes deeply at the root, early in the morning, twice a week. Wet leaves invite blight.

## Pruning side shoots

Pinch out the side shoots of cordon varieties, so that the plant puts its strength into fruit.
""",
    "kitchen/bread.md": """\
# Baking bread

## Kneading the dough

Knead the dough for ten minutes, until it is smooth and springs back.

```bash
timer --minutes 10
```

## Proving times

A cold kitchen doubles the proving time of a sourdough loaf.
"""
    + "".join(
        f"\nAt {degrees} degrees the loaf needs its own time.\n" for degrees in range(15, 32)
    ),
    "traps.md": """\
# Traps

## Hostile <img src=x onerror="window.pwned=1"> heading

A hostile passage tries <script>window.pwned = 1; alert("pwned")</script> to run.

</mark></p></div><b id="smuggled">bold</b> & <svg onload="window.pwned=1"> [link](javascript:pwned)
""",
}


class Server:
    """`surefind serve` as a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = self._announced()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=START_S)
        self._reader.join(timeout=START_S)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _read(self) -> None:
        for line in self._process.stderr or ():
            self._lines.put(line)

    def _announced(self) -> str:
        said, deadline = "", monotonic() + START_S
        while (left := deadline - monotonic()) > 0 and self._process.poll() is None:
            try:
                said += self._lines.get(timeout=min(left, 1))
            except Empty:
                continue
            if found := re.search(r"http://\S+(?=/\n)", said):
                return found[0]
        self.stop()
        pytest.fail(f"`surefind serve` named no address; it said: {said or 'nothing'}")


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
        return self.driver.execute_script(script, *arguments)  # type: ignore[no-untyped-call]

    def wait(self, condition: Callable[[], T | None], what: str) -> T:
        def holds(_: webdriver.Chrome) -> T | None:
            return condition()

        return WebDriverWait(self.driver, WAIT_S).until(holds, f"waited for {what}")

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
        script = "return [...document.querySelectorAll('.hit h2')].map(each => each.textContent)"
        return [str(heading) for heading in self.run(script)]

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    @property
    def query_string(self) -> str:
        return str(self.run("return location.search"))

    def press(self, *keys: str) -> None:
        self.focused.send_keys(*keys)

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


def ingest(folder: Path, data_dir: Path, *options: str) -> None:
    for name, text in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    command = [str(SUREFIND), "ingest", str(folder), "--data-dir", str(data_dir), *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=START_S, check=False
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def serving(data_dir: Path) -> Iterator[Server]:
    command = [str(SUREFIND), "serve", "--port", "0", "--data-dir", str(data_dir)]
    server = Server(subprocess.Popen(command, cwd=data_dir, stderr=subprocess.PIPE, text=True))
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("data")
    ingest(tmp_path_factory.mktemp("pages"), data_dir)
    return data_dir


@pytest.fixture(scope="session")
def address(data_dir: Path) -> Iterator[str]:
    with serving(data_dir) as server:
        yield server.address


@pytest.fixture
def mortal_server(data_dir: Path) -> Iterator[Server]:
    """A second server, for a test that stops it."""
    with serving(data_dir) as server:
        yield server


@pytest.fixture
def site_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of pages that are published on a site of their own."""
    data_dir = tmp_path_factory.mktemp("site-data")
    pages = tmp_path_factory.mktemp("site-pages")
    ingest(pages, data_dir, "--base-url", "https://docs.example.com")
    with serving(data_dir) as server:
        yield server.address


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    chromedriver = shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        pytest.fail(
            "these tests need Chromium and its driver: `apt install chromium chromium-driver`"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(executable_path=chromedriver))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: webdriver.Chrome, address: str) -> Iterator[Page]:
    """Open on the empty page; after the test, the console must have nothing to complain of."""
    page = Page(driver, address)
    page.emulate("setEmulatedMedia", features=[])
    page.emulate("clearDeviceMetricsOverride")
    driver.set_window_size(1200, 900)
    page.complaints()
    page.open()
    page.wait(lambda: page.find_all(".ideas a"), "the empty page")
    page.requests()
    yield page
    # The reader's pages name no icon, so the browser looks for one in the usual place.
    assert [each for each in page.complaints() if "/favicon.ico" not in each] == []
