"""Chapter 3: the search page, the search box and the reader, in a browser."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from selenium.webdriver.common.keys import Keys

from browser.axe import violations
from browser.conftest import Page
from support.chromium import chromium
from support.commands import serving
from tour.measuring import REPORT
from tour.searching import QUESTIONS
from tour.tour import Tour

MOST_KILOBYTES = 150
WIDTHS = {"wide": 1280, "tablet": 820, "phone": 390}
HEIGHT = 640
PICTURED = "why is the pressure so low?"
BOX_FIELD = "document.querySelector('surefind-search').shadowRoot.querySelector('input')"
BOX_TEXT = "document.querySelector('surefind-search').shadowRoot.querySelector('.found').innerText"

SOURCE = re.compile(
    r"\]\(|</?(?:a|div|span)\b|class=\"|^:::|^/// |^!!! |^=== |highlight-next-line|"
    r"^```|^import |title=\"|\*\*\w|^#+ ",
    re.MULTILINE,
)
"""What people should never see: Markdown, HTML and the syntax of site generators."""

SITE = """<!doctype html>
<html lang="en"><title>Ember</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.6 system-ui; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181a; color: #dde3e4 }} }}
</style>
<main><h1>Ember boiler controller</h1><p>Ember keeps a home warm with less gas. It runs on a
small box beside the boiler and is set up in a browser.</p><p id="search"></p></main>
<script src="{address}/embed.js" data-target="#search" data-label="Search Ember"></script></html>
"""


TERMINAL = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Terminal</title>
<style>
body {{ margin: 0 }}
pre {{ margin: 0; padding: 20px 24px; font: 14px/1.45 ui-monospace, monospace; color: #d9e2e1;
  background: #14181a }}
b {{ color: #5fc9b5 }}
</style><pre><b>$</b> {command}
"""


class Viewer:
    """A browser in front of a server of the handbook."""

    def __init__(self, tour: Tour, page: Page, site: str) -> None:
        self.tour, self.page, self.site = tour, page, site

    def resize(self, width: str, *, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        self.page.emulate(
            "setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self.page.emulate(
            "setDeviceMetricsOverride",
            width=WIDTHS[width],
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=width == "phone",
        )

    def picture(self, name: str) -> None:
        """What is visible, as `name`.png."""
        taken = self.page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        content = base64.b64decode(taken["data"])
        (self.tour.pictures / f"{name}.png").write_bytes(content)
        kilobytes = len(content) / 1000
        small = kilobytes < MOST_KILOBYTES
        self.tour.expect(f"the picture {name} is small", small, f"{kilobytes:.0f} kB")

    def expect_clean(self, what: str, text: str) -> None:
        """The visible text has no source, nothing sticks out, and nobody is left out."""
        found = SOURCE.search(text)
        around = text[max(0, found.start() - 80) : found.end() + 80] if found else ""
        self.tour.expect(f"{what} shows no markup", found is None, around)
        wider = self.page.run("return document.documentElement.scrollWidth - innerWidth")
        self.tour.expect(f"{what} does not scroll sideways", wider <= 0, f"{wider} px too wide")

    def expect_silence(self, what: str) -> None:
        complaints = self.page.complaints()
        self.tour.expect(f"{what} writes no error to the console", not complaints, complaints)


@contextmanager
def looking(tour: Tour) -> Iterator[Viewer]:
    """With a site of another origin, as the box is used."""
    folder = tour.home / "site"
    folder.mkdir()
    with (
        _site(folder) as site,
        serving(cwd=tour.home, SUREFIND_CORS_ORIGINS=site) as (address, _),
        chromium(tour.home / "profile") as driver,
    ):
        (folder / "index.html").write_text(SITE.format(address=address))
        (folder / "favicon.ico").write_bytes(b"")
        yield Viewer(tour, Page(driver, address), site)


def look_at_the_page(viewer: Viewer) -> None:
    page, tour = viewer.page, viewer.tour
    page.complaints()
    for width in WIDTHS:
        for dark in (False, True):
            viewer.resize(width, dark=dark)
            page.open()
            page.ask(PICTURED)
            scheme = "dark" if dark else "light"
            viewer.expect_clean(f"the page ({width}, {scheme})", page.find("#hits").text)
            broken = violations(page)
            tour.expect(
                f"the page ({width}, {scheme}) is accessible", not broken, "\n".join(broken)
            )
            if width == "wide" or (width == "phone" and not dark):
                viewer.picture(f"page-{'dark' if dark else width}")
    viewer.resize("wide")
    for question, section in QUESTIONS.items():
        page.ask(question)
        tour.expect(
            f"{question!r} shows {section!r} in the first three",
            any(section in heading for heading in page.headings[:3]),
            page.headings,
        )
        viewer.expect_clean(f"the answer to {question!r}", page.find("#hits").text)
    viewer.expect_silence("the page")


def look_at_the_reader(viewer: Viewer) -> None:
    page, tour = viewer.page, viewer.tour
    viewer.resize("wide")
    page.open("/read/docs/handbook/guide/install.md#install-the-command")
    viewer.expect_clean("the reader", page.find("main").text)
    headings = page.run("return [...document.querySelectorAll('main h2')].map(h => h.innerText)")
    tour.expect("the reader has headings", "Install the command" in " ".join(headings), headings)
    target = page.run("return Boolean(document.querySelector(':target'))")
    tour.expect("a link leads to the heading", target)
    viewer.expect_silence("the reader")


def look_at_the_box(viewer: Viewer) -> None:
    page = viewer.page
    shots = [(width, width, False) for width in WIDTHS]
    for name, width, dark in (*shots, ("dark", "wide", True)):
        viewer.resize(width, dark=dark)
        page.driver.get(viewer.site)
        page.wait(lambda: page.find_all("surefind-search"), "the box")
        page.find("body").send_keys(Keys.CONTROL, "k")
        page.run(f"return {BOX_FIELD}").send_keys(PICTURED)
        page.wait(lambda: "E27" in page.run(f"return {BOX_TEXT}"), "an answer in the box")
        viewer.expect_clean(f"the box ({name})", page.run(f"return {BOX_TEXT}"))
        if name != "tablet":
            viewer.picture(f"box-{name}")
    viewer.expect_silence("the box")


def look_at_the_report(viewer: Viewer) -> None:
    page, tour = viewer.page, viewer.tour
    for name, dark in (("light", False), ("dark", True)):
        viewer.resize("wide", dark=dark)
        page.driver.get((tour.home / REPORT).as_uri())
        broken = violations(page)
        tour.expect(f"the report ({name}) is accessible", not broken, "\n".join(broken))
    viewer.resize("wide")
    viewer.picture("report")
    viewer.expect_silence("the report")


def look_at_the_terminal(viewer: Viewer) -> None:
    """What a search prints, in the colors of a terminal."""
    page, tour = viewer.page, viewer.tour
    found = tour.run("search", PICTURED, "--top-k", "2", COLUMNS="80")
    shown = tour.home / "terminal.html"
    shown.write_text(
        TERMINAL.format(command=escape(f"surefind search {PICTURED!r} --top-k 2"))
        + escape(found.stdout.rstrip() + "\n\n" + found.stderr)
        + "</pre></html>"
    )
    viewer.resize("wide")
    page.driver.get(shown.as_uri())
    height = page.run("return Math.ceil(document.querySelector('pre').offsetHeight)")
    page.emulate(
        "setDeviceMetricsOverride", width=820, height=height, deviceScaleFactor=1, mobile=False
    )
    viewer.picture("terminal")


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
