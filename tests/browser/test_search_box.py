"""The search box on a site of somebody else, with a policy that allows little."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from selenium.webdriver.common.keys import Keys

from browser.axe import violations
from browser.conftest import Page
from browser.questions import QUESTION
from support.commands import serving, surefind
from support.homes import copy_home
from surefind.text.sites.docusaurus.config import read_config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium import webdriver
    from selenium.webdriver.remote.webelement import WebElement

DOCS = Path(__file__).parents[2] / "docs" / "search-box.md"
EXAMPLES = dict(
    re.findall(r"```(js|yaml|html)\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)[::-1]
)
ROOT = "document.querySelector('surefind-search').shadowRoot"


class Site(BaseHTTPRequestHandler):
    """Pages by their path, each under its policy."""

    def __init__(self, pages: dict[str, tuple[str, str]], *arguments: Any) -> None:
        self.pages = pages
        super().__init__(*arguments)

    def do_GET(self) -> None:
        policy, content = self.pages.get(self.path, ("", ""))
        body = content.encode()
        self.send_response(200 if content else 404)
        kind = "text/javascript" if self.path.endswith(".js") else "text/html; charset=utf-8"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening(pages: dict[str, tuple[str, str]]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, pages)) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Foreign(NamedTuple):
    """A site that embeds the box of a service."""

    address: str
    service: str
    key: str
    pages: dict[str, tuple[str, str]]

    def put(self, tags: str, *, policy: str = "", path: str = "/") -> None:
        strict = f"script-src 'self' {self.service}; connect-src {self.service}"
        page = f"<!doctype html><html lang=en><title>Site</title><main><h1>Site</h1>{tags}</main>"
        self.pages[path] = (f"default-src 'none'; {policy or strict}", page)

    def script(self, **options: str) -> str:
        given = {"data-key": self.key, **options}
        written = "".join(f" {name.replace('_', '-')}='{value}'" for name, value in given.items())
        return f"<script src='{self.service}/embed.js'{written}></script>"


@pytest.fixture(scope="module")
def site(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    own = tmp_path_factory.mktemp("service")
    copy_home(home / "data", own / "data")
    made = surefind("keys", "create", "--name", "site", "--data-dir", "data", cwd=own)
    pages: dict[str, tuple[str, str]] = {}
    with (
        listening(pages) as address,
        serving("--data-dir", "data", cwd=own, SUREFIND_CORS_ORIGINS=address) as (service, _),
    ):
        yield Foreign(address, service, made.stdout.strip(), pages)


class Box(Page):
    """The search box, as a visitor of the site meets it."""

    def inside(self, selector: str) -> WebElement:
        element: WebElement = self.run(f"return {ROOT}.querySelector(arguments[0])", selector)
        return element

    def texts(self, selector: str) -> list[str]:
        script = f"return [...{ROOT}.querySelectorAll(arguments[0])].map(each => each.textContent)"
        return [str(text) for text in self.run(script, selector)]

    def show(self, path: str = "/") -> None:
        self.open(path)
        self.wait(lambda: self.find_all("surefind-search"), "the box")

    def search(self, question: str) -> None:
        field = self.inside("input")
        field.clear()
        field.send_keys(question, Keys.ENTER)
        self.wait(lambda: self.texts(".status") != [""] and not self.searching, "the answer")

    @property
    def searching(self) -> bool:
        return self.inside(".found").get_attribute("aria-busy") == "true"

    def is_open(self) -> bool:
        return bool(self.run(f"return {ROOT}.querySelector('dialog').open"))

    @property
    def active(self) -> WebElement:
        element: WebElement = self.run(f"return {ROOT}.activeElement")
        return element


@pytest.fixture
def box(driver: webdriver.Chrome, site: Foreign) -> Iterator[Box]:
    """After the test, the console must have nothing to complain of."""
    box = Box(driver, site.address)
    box.emulate("setEmulatedMedia", features=[])
    box.emulate("clearDeviceMetricsOverride")
    driver.set_window_size(1200, 900)
    box.complaints()
    site.pages["/favicon.ico"] = ("", "no icon")
    yield box
    assert box.complaints() == []


def test_the_box_searches_under_a_strict_policy(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    box.inside(".open").click()
    assert box.is_open()
    box.search(QUESTION)
    assert box.texts(".title")[0] == "Watering tomatoes"
    assert box.texts(".status") == [f"8 passages for “{QUESTION}”"]
    assert "water" in {word.lower() for word in box.texts("li:first-child mark")}
    assert "twice a week" in box.texts(".text")[0]
    link = box.inside("a").get_attribute("href")
    page, _, passage = str(link).partition("?passage=")
    assert page == f"{site.service}/read/docs/docs/garden/tomatoes.md"
    assert passage.endswith("#watering-tomatoes")
    loaded = box.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert {str(name).rpartition("/")[0] for name in loaded} <= {site.service, site.address}


def test_the_box_by_keyboard(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    box.press(Keys.CONTROL, "k", Keys.NULL)
    assert box.is_open()
    assert box.active == box.inside("input")
    box.active.send_keys(QUESTION)
    told = [f"8 passages for “{QUESTION}”"]
    box.wait(lambda: box.texts(".status") == told, "the passages, without Enter")
    box.active.send_keys(Keys.ARROW_DOWN)
    assert box.active.text.startswith("Watering tomatoes\n")
    box.active.send_keys(Keys.ARROW_DOWN)
    assert box.active == box.run(f"return {ROOT}.querySelectorAll('ol a')[1]")
    box.active.send_keys(Keys.ARROW_UP, Keys.ARROW_UP)
    assert box.active == box.inside("input")
    box.active.send_keys(Keys.ESCAPE)
    assert not box.is_open()
    box.press(Keys.META, "k", Keys.NULL)
    assert box.is_open()
    assert box.run(f"return {ROOT}.querySelector('input').value") == QUESTION


def test_the_box_says_what_it_searched_for_a_misspelt_word(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    box.inside(".open").click()
    note = "kneeding: no passage has this word; searched for kneading."
    box.active.send_keys("kneeding")
    box.wait(lambda: "“kneeding”" in box.texts(".status")[0], "the passages, without Enter")
    assert box.texts(".notes p") == [], "while the visitor types, notes would flicker"
    box.wait(lambda: note in box.texts(".notes p"), "the note")
    assert box.texts(".title")[0] == "Kneading the dough"
    assert box.inside(".notes").get_attribute("role") == "status"
    box.search(QUESTION)
    assert box.texts(".notes p") == []
    box.search("quarterly tax return of a limited company")
    assert "may not cover this" in box.texts(".notes p")[0]


def test_the_box_fits_into_the_window_on_a_site_with_another_root_size(
    box: Box, site: Foreign
) -> None:
    policy = f"script-src {site.service}; connect-src {site.service}; style-src 'unsafe-inline'"
    site.put(f"<style>html {{ font-size: 24px }}</style>{site.script()}", policy=policy)
    box.driver.set_window_size(1000, 700)
    box.show()
    box.inside(".open").click()
    box.search("growing tomatoes")
    height = box.run("return innerHeight")
    edges = box.run(
        "const x = arguments[0].getBoundingClientRect(); return [x.top, x.bottom]",
        box.inside("dialog"),
    )
    assert 0 < edges[0] < edges[1] < height


def test_the_box_shows_the_passages_of_a_page_together(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    box.inside(".open").click()
    box.search("growing tomatoes")
    titles = box.texts(".page-title")
    assert len(titles) == len(set(titles))
    assert "Growing tomatoes" in titles
    assert len(box.texts(".page:first-child a")) > 1
    assert all("#" not in text and "`" not in text for text in box.texts(".text"))
    left = "const x = arguments[0].getBoundingClientRect(); return [x.left, x.top, x.bottom]"
    title, link = (box.run(left, box.inside(each)) for each in (".page-title", ".page a"))
    assert title[0] < link[0]
    assert title[2] <= link[1] + 1


def test_enter_opens_the_best_passage_of_the_answered_question(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    box.press(Keys.CONTROL, "k", Keys.NULL)
    box.search(QUESTION)
    best = box.inside("a").get_attribute("href")
    box.run(
        f"{ROOT}.addEventListener('click', event => {{"
        "window.opened = event.target.closest('a')?.href; event.preventDefault() }, true)"
    )
    box.active.send_keys(Keys.ENTER)
    assert box.run("return window.opened") == best
    box.active.send_keys(Keys.END, " today", Keys.ENTER)
    box.wait(lambda: any("today" in told for told in box.texts(".status")), "another search")
    box.active.send_keys(Keys.ARROW_DOWN, Keys.END)
    assert box.active == box.run(f"return [...{ROOT}.querySelectorAll('ol a')].at(-1)")
    box.active.send_keys(Keys.HOME)
    assert box.active == box.inside("ol a")
    box.active.send_keys("/")
    assert box.active == box.inside("input")


def test_recent_searches_are_offered_and_forgotten(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    box.run("localStorage.clear()")
    stay = f"{ROOT}.addEventListener('click', event => event.preventDefault(), true)"
    for question in ("kneading dough", QUESTION, "kneading dough"):
        box.show()
        box.run(stay)
        box.press(Keys.CONTROL, "k", Keys.NULL)
        box.search(question)
        box.active.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    box.show()
    box.press(Keys.CONTROL, "k", Keys.NULL)
    assert box.texts(".status") == ["Recent searches"]
    assert box.texts(".recent") == ["kneading dough", QUESTION, "Forget these"]
    box.active.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    box.active.send_keys(Keys.ENTER)
    box.wait(lambda: any(QUESTION in told for told in box.texts(".status")), "the answer again")
    box.inside("input").clear()
    box.inside("input").send_keys(" ")
    box.wait(lambda: box.texts(".status") == ["Recent searches"], "the recent searches")
    assert violations(box) == []
    box.active.send_keys(Keys.ARROW_DOWN, Keys.END, Keys.ENTER)
    assert (box.texts(".recent"), box.texts(".status")) == ([], [""])
    assert box.run("return localStorage.length") == 0


def test_a_box_can_remember_nothing(box: Box, site: Foreign) -> None:
    site.put(site.script(data_recent="off", data_group="off"))
    box.show()
    box.run("localStorage.clear()")
    box.run(f"{ROOT}.addEventListener('click', event => event.preventDefault(), true)")
    box.press(Keys.CONTROL, "k", Keys.NULL)
    box.search("growing tomatoes")
    assert box.texts(".page-title") == []
    box.active.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert box.run("return localStorage.length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_the_box(box: Box, site: Foreign, theme: str) -> None:
    site.put(site.script(data_theme=theme))
    box.show()
    assert violations(box) == []
    box.inside(".open").click()
    box.search(QUESTION)
    assert violations(box) == []


def test_a_page_that_tries_to_run_something_is_harmless(box: Box, site: Foreign) -> None:
    site.put(site.script(), policy=f"script-src 'unsafe-inline' {site.service}; connect-src *")
    box.show()
    box.inside(".open").click()
    box.search("hostile passage")
    assert "Hostile  heading" in box.texts(".title")
    assert any("A hostile passage tries to run." in text for text in box.texts(".text"))
    box.search('<img src=x onerror="window.pwned=1">')
    assert box.texts("dialog :is(img, script, b, [onload])") == []
    assert box.run("return window.pwned") is None


def test_the_box_looks_as_the_site_says(box: Box, site: Foreign) -> None:
    site.put(site.script())
    box.show()
    colour = f"return getComputedStyle({ROOT}.querySelector('.open')).backgroundColor"
    schemes = []
    for place, value in (
        ("documentElement.dataset.theme", "dark"),
        ("documentElement.dataset.theme", "light"),
        ("documentElement.dataset.theme", ""),
        ("body.dataset.mdColorScheme", "slate"),
    ):
        box.run(f"document.{place} = arguments[0]", value)
        box.wait(lambda: box.run("return new Promise(done => setTimeout(done, 0, true))"), "a turn")
        schemes.append(box.run(colour))
    dark, light = "rgb(27, 32, 35)", "rgb(255, 255, 255)"
    assert schemes == [dark, light, light, dark]
    box.run(
        "const sheet = new CSSStyleSheet();"
        "sheet.replaceSync('* { color: red } surefind-search { --surefind-background: #010203 }');"
        "document.adoptedStyleSheets = [sheet]"
    )
    assert box.run(colour) == "rgb(1, 2, 3)"
    assert (
        box.run(f"return getComputedStyle({ROOT}.querySelector('.open')).color") != "rgb(255, 0, 0)"
    )


def test_the_options_are_followed(box: Box, site: Foreign) -> None:
    tags = "<div id=here></div>" + site.script(
        data_target="#here",
        data_label="Ask us",
        data_top_k="2",
        data_mode="lexical",
        data_where='{"source_path": {"under": "docs/kitchen"}}',
        data_shortcut="off",
    )
    site.put(tags)
    box.show()
    box.requests()
    assert box.find_all("#here surefind-search")
    assert box.texts(".open") == ["Ask us"]
    box.find("html").send_keys(Keys.CONTROL, "k", Keys.NULL)
    assert not box.is_open()
    box.inside(".open").click()
    box.search("dough degrees")
    [asked] = [body for body in box.requests() if body["query"] == "dough degrees"][:1]
    assert (asked["top_k"], asked["mode"]) == (2, "lexical")
    assert asked["where"] == {"source_path": {"under": "docs/kitchen"}}
    assert len(box.texts("li")) == 2


def test_the_example_for_docusaurus_works(box: Box, site: Foreign) -> None:
    config, _ = read_config(EXAMPLES["js"].replace("https://search.example.com", site.service))
    scripts = config["scripts"]
    assert isinstance(scripts, list)
    [attributes] = scripts
    attributes["data-key"] = site.key
    written = "".join(
        f" {name}" if value is True else f" {name}='{value}'" for name, value in attributes.items()
    )
    site.put(f"<script{written}></script>")
    box.show()
    box.inside(".open").click()
    box.search(QUESTION)
    assert box.texts(".title")[0] == "Watering tomatoes"


def test_the_example_for_mkdocs_works(box: Box, site: Foreign) -> None:
    text = DOCS.read_text("utf-8")
    [options] = re.findall(r"```js\n(window\.surefind.*?)```", text, re.DOTALL)
    scripts = yaml.safe_load(EXAMPLES["yaml"])["extra_javascript"]
    assert scripts == ["javascripts/search-box.js", "https://search.example.com/embed.js"]
    local, service = scripts[0], scripts[1].replace("https://search.example.com", site.service)
    site.pages[f"/{local}"] = ("", options.replace("surefind_1f0c52d7_…", site.key))
    site.put(f"<script src='{local}'></script><script src='{service}'></script>")
    box.show()
    assert box.texts(".open")[0].startswith("Search the handbook")
    box.inside(".open").click()
    box.search(QUESTION)
    assert box.texts(".title")[0] == "Watering tomatoes"


# --- when it can't search ---------------------------------------------------------------------


def complaint(box: Box) -> str:
    return " ".join(box.complaints())


def test_a_service_that_does_not_know_the_site_is_explained(
    box: Box, site: Foreign, address: str
) -> None:
    other = site._replace(service=address)
    other.put(other.script())
    box.show()
    box.inside(".open").click()
    box.search(QUESTION)
    assert box.texts(".status.bad") == [
        "The search does not allow this site yet. "
        f"Its owner must add {site.address} to cors_origins."
    ]
    assert f"SUREFIND_CORS_ORIGINS={site.address}" in complaint(box)


def test_a_key_that_is_missing_is_explained(box: Box, site: Foreign) -> None:
    site.put(site.script(**{"data-key": ""}))
    box.show()
    box.inside(".open").click()
    box.search(QUESTION)
    assert box.texts(".status.bad") == ["The search is not working. Try again later."]
    assert "set it as data-key" in complaint(box)


def test_a_policy_that_forbids_the_search_is_explained(box: Box, site: Foreign) -> None:
    site.put(site.script(), policy=f"script-src {site.service}")
    box.show()
    box.inside(".open").click()
    box.search(QUESTION)
    assert box.texts(".status.bad") == ["This page is not allowed to reach the search."]
    assert f"add {site.service} to connect-src" in complaint(box)


def test_nothing_found_says_what_to_do(box: Box, site: Foreign) -> None:
    site.put(site.script(data_mode="lexical"))
    box.show()
    box.run("localStorage.clear()")
    box.inside(".open").click()
    box.search("xylophone")
    assert box.texts(".status") == ["Nothing found for “xylophone”. Try other words."]
    box.inside("input").clear()
    box.inside("input").send_keys(" ")
    box.wait(lambda: box.texts(".status") == [""], "the empty panel")
