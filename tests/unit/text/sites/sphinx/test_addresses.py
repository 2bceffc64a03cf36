"""Addresses of Sphinx pages, and the titles that references show."""

import pytest

from surefind.model import PageLocation, SkippedPage
from surefind.text.sites.sphinx.addresses import SphinxSite
from surefind.text.sites.sphinx.anchors import docutils_rule
from surefind.text.sites.sphinx.config import SphinxConfig
from surefind.text.sites.sphinx.titles import Titles

CONFIG = "extensions = []\nexclude_patterns = ['old/*', '**/draft*', 'parts']\n"


def located(path: str, *, config: str = CONFIG, directories: bool = False) -> str | None:
    site = SphinxSite(SphinxConfig(config), "https://x.org/docs", directories=directories)
    place = site.place(path, {})
    return place.url if isinstance(place, PageLocation) else None


@pytest.mark.parametrize(
    ("path", "html", "directory"),
    [
        ("index.rst", "index.html", ""),
        ("guide/index.rst", "guide/index.html", "guide/"),
        ("guide/a b.rst", "guide/a%20b.html", "guide/a%20b/"),
    ],
)
def test_both_builders(path: str, html: str, directory: str) -> None:
    assert located(path) == f"https://x.org/docs/{html}"
    assert located(path, directories=True) == f"https://x.org/docs/{directory}"


@pytest.mark.parametrize(
    "path", ["old/a.rst", "x/draft-1.rst", "draft.rst", "parts/deep/a.rst", "_build/a.rst", "a.md"]
)
def test_excluded_pages_have_no_address(path: str) -> None:
    assert located(path) is None
    assert located("older/a.rst") is not None


def test_only_included_patterns_are_pages() -> None:
    config = "extensions = []\ninclude_patterns = ['guide/**']\nhtml_file_suffix = '.htm'\n"
    assert located("guide/a.rst", config=config) == "https://x.org/docs/guide/a.htm"
    assert located("b.rst", config=config) is None


def test_the_base_url_and_what_is_missing() -> None:
    site = SphinxSite(
        SphinxConfig("extensions = []\nexclude_patterns = ['" + "*" * 20 + "']"), None
    )
    assert site.place("a.rst", {}) == PageLocation("/a.html")
    assert [note.split("; ")[0] for note in site.notes] == [
        "conf.py has no plain `html_baseurl`",
        f"the pattern {'*' * 20} is not supported and was ignored.",
    ]
    named = SphinxSite(SphinxConfig("html_baseurl = 'https://y.org/'\nextensions = []"), None)
    assert named.place("a.rst", {}) == PageLocation("https://y.org/a.html")
    assert named.addresses("b.html#c", "https://y.org/a.html") == ("https://y.org/b.html",)
    assert isinstance(named.place("a.txt", {}), SkippedPage)


def test_headings_have_docutils_ids() -> None:
    rule = docutils_rule()
    assert rule.slug("Über *uns* (2)") == "uber-uns-2"
    assert rule.slug("!") == "id1"
    assert rule.numbered("a", 3) == "id3"
    assert rule.split("Title {#id}") == ("Title {#id}", "")
    assert docutils_rule(attributes=True).split("Title {#id}") == ("Title", "id")


def test_references_show_titles() -> None:
    pages = {
        "a/one.rst": ".. _first:\n.. _`Second Label`:\n\nThe *first* ``page``\n====\n\ntext\n\n"
        ".. _figure:\n\n.. image:: x.png\n\n====\nBoth\n====\n",
        "a/two.md": "(md-label)=\n# Two of `them`\n",
        "short.rst": "Long title\n==\n",
    }
    titles = Titles(pages, lambda path: pages[path])

    def named(line: str) -> str:
        return titles.named("a/page.rst", line)

    assert named(":doc:`one` :doc:`/a/two` :doc:`x`") == (
        ":doc:`The first page <one>` :doc:`Two of them </a/two>` :doc:`x`"
    )
    assert named(":ref:`first` :ref:`second  label` :ref:`figure` :ref:`t <first>`") == (
        ":ref:`The first page <first>` :ref:`The first page <second  label>` :ref:`figure`"
        " :ref:`t <first>`"
    )
    assert named("{doc}`two` {ref}`md-label`") == (
        "{doc}`Two of them <two>` {ref}`Two of them <md-label>`"
    )
    assert named("plain") == "plain"
