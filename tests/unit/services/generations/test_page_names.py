"""Pages by the names that people have for them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from surefind.model import AnyOf, Mode, Query, Under
from surefind.services.generations.page_names import nearest
from surefind.services.search.search import Searcher
from surefind.services.search.why_not import chunks_matching
from unit.installation import Installation

PAGE = "# {0}\n\nAll about {0}.\n"
PAGES = {
    "index.md": PAGE.format("home"),
    "guide/install.md": PAGE.format("install"),
    "guide/quick-start.mdx": PAGE.format("starting"),
    "guide/old/install.md": PAGE.format("former"),
    "api/index.md": PAGE.format("calls"),
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES, base_url="https://docs.example.com")
    yield installation
    await installation.close()


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("quick-start.mdx", "docs/guide/quick-start.mdx"),
        ("quick-start", "docs/guide/quick-start.mdx"),
        ("Quick-Start/", "docs/guide/quick-start.mdx"),
        ("/guide/quick-start", "docs/guide/quick-start.mdx"),
        ("guide/quick-start.html", "docs/guide/quick-start.mdx"),
        ("https://other.example/guide/quick-start#first", "docs/guide/quick-start.mdx"),
        ("http://localhost:8000/read/docs/docs/guide/install.md", "docs/guide/install.md"),
        ("install.md", "docs/guide/install.md"),
        ("old/install", "docs/guide/old/install.md"),
        ("api", "docs/api/index.md"),
        ("./api/index.md", "docs/api/index.md"),
    ],
)
async def test_a_page_is_found_by_what_people_have(
    home: Installation, wanted: str, path: str
) -> None:
    async with home.reader.lease() as generation:
        found = await chunks_matching(wanted.partition("#")[0], generation.require_catalog())
    assert {record.chunk.source_path for record in found} == {path}


async def test_a_name_that_no_page_has_is_not_guessed(home: Installation) -> None:
    async with home.reader.lease() as generation:
        catalog = generation.require_catalog()
        for wanted in ("start", "quick", "guide/instal", "/", "http://[", "md"):
            assert await chunks_matching(wanted, catalog) == []


def test_the_nearest_names_are_suggested() -> None:
    names = ["docs/guide/install.md", "docs/guide/quick-start.mdx"]
    assert nearest("quik-start.md", names) == ["docs/guide/quick-start.mdx"]
    assert nearest("docs/gude/install.md", names)[0] == "docs/guide/install.md"
    assert nearest("zzz", names) == []


@pytest.mark.parametrize(
    ("condition", "paths", "note"),
    [
        (AnyOf("source_path", ("quick-start.md",)), {"docs/guide/quick-start.mdx"}, "was read as"),
        (AnyOf("path", ("docs/index.md",)), {"docs/index.md"}, ""),
        (Under("source_path", "docs/api"), {"docs/api/index.md"}, ""),
        (Under("source_path", "api/"), {"docs/api/index.md"}, "was read as docs/api"),
        (Under("source_path", "docs/giude"), set(), "no page is under docs/giude; the nearest"),
        (AnyOf("source_path", ("instal.md",)), set(), "docs/guide/install.md"),
        (AnyOf("title", ("instal.md",)), set(), ""),
    ],
)
async def test_filters_by_path_take_such_names_and_say_so(
    home: Installation, condition: AnyOf | Under, paths: set[str], note: str
) -> None:
    searcher = Searcher(home.readers, home.embedder, home.terms)
    query = Query("home install starting former calls", 10, mode=Mode.LEXICAL, where=(condition,))
    result = await searcher.search(query)
    assert {hit.record.chunk.source_path for hit in result.hits} == paths
    assert note in " ".join(result.notes)
    assert bool(result.notes) == bool(note)
