"""The site of this documentation: strict links, nothing from other servers, a search of its own."""

import re
from pathlib import Path

import pytest

from sites.conftest import PROJECT, generate


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def build(folder: Path) -> Path:
    configuration = PROJECT / "website" / "mkdocs.yml"
    generate(["mkdocs", "build", "--quiet", "--strict", "-f", configuration, "-d", folder], folder)
    return folder


def test_every_page_is_built_with_its_links(site: Path) -> None:
    """MkDocs itself fails for a broken link; this is about links out of docs/."""
    page = (site / "index.html").read_text()
    assert '/surefind/blob/main/CONTRIBUTING.md"' in page
    assert (site / "commands/ingest/index.html").exists()


def test_the_site_loads_nothing_from_other_servers(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert 'data-md-component="source"' not in page.read_text(), "it asks api.github.com"
        loaded = re.findall(
            r'<(?:script|img|iframe|source)[^>]* src="(https?:[^"]*)"', page.read_text()
        )
        sheets = re.findall(
            r'<link[^>]* rel="stylesheet"[^>]* href="(https?:[^"]*)"', page.read_text()
        )
        assert loaded + sheets == [], page


def test_a_server_is_named_to_the_search_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREFIND_SITE_SEARCH", "https://search.example.com")
    build(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert '<meta name="surefind-server" content="https://search.example.com">' in page
    assert 'class="md-search"' in page, "it is used while the server can't be reached"


def test_the_search_of_the_theme_is_there_without_a_server(site: Path) -> None:
    page = (site / "index.html").read_text()
    assert 'class="md-search"' in page
    assert "surefind-server" not in page
