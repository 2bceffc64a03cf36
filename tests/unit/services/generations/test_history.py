"""What changed from one generation to another."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import MemoryCatalogStore, document
from surefind.errors import UnknownGeneration
from surefind.model import GenerationRef
from surefind.ports import Catalog
from surefind.services.generations.history import difference
from unit.installation import Installation

PATHS = st.dictionaries(st.sampled_from([f"docs/{n}.md" for n in "aAbäz"]), st.sampled_from("xy"))


async def catalog_of(pages: dict[str, str]) -> Catalog:
    catalog = await MemoryCatalogStore().create(GenerationRef("docs", 1), None)
    for path, text in pages.items():
        await catalog.put(document(path, text), [])
    return catalog


@given(before=PATHS, after=PATHS)
async def test_every_page_is_listed_once(before: dict[str, str], after: dict[str, str]) -> None:
    found = await difference(await catalog_of(before), await catalog_of(after))
    assert found.added == sorted(after.keys() - before.keys())
    assert found.removed == sorted(before.keys() - after.keys())
    both = before.keys() & after.keys()
    assert found.changed == sorted(path for path in both if before[path] != after[path])
    assert found.unchanged == len(both) - len(found.changed)


async def test_long_lists_are_walked_to_their_ends() -> None:
    many = {f"docs/{number:04d}.md": "x" for number in range(1203)}
    fewer = {path: text for path, text in many.items() if not path.endswith("7.md")}
    found = await difference(await catalog_of(many), await catalog_of(fewer))
    assert (len(found.removed), found.added, found.unchanged) == (120, [], 1083)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest({"a.md": "# A\n\none", "b.md": "# B\n\ntwo", "c.md": "# C\n\nthree"})
    yield installation
    await installation.close()


async def test_a_generation_is_compared_with_the_one_that_readers_saw_before(
    home: Installation,
) -> None:
    pages = {"a.md": "# A\n\none", "b.md": "# B\n\nnew words", "d.md": "# D\n\nfour"}
    await home.ingest(pages, allow_shrink=True)
    changes = await home.generations.changes(2)
    assert (changes.generation.number, changes.compared_with) == (2, 1)
    assert changes.pages.added == ["docs/d.md"]
    assert changes.pages.changed == ["docs/b.md"]
    assert changes.pages.removed == ["docs/c.md"]
    assert changes.pages.unchanged == 1
    await home.generations.rollback(1)
    await home.ingest({**pages, "c.md": "# C\n\nthree"}, allow_shrink=True)
    third = await home.generations.changes(3)
    assert (third.compared_with, third.pages.removed) == (1, [])


async def test_the_oldest_one_added_all_it_has(home: Installation) -> None:
    changes = await home.generations.changes(1)
    assert changes.compared_with is None
    assert changes.pages.added == ["docs/a.md", "docs/b.md", "docs/c.md"]
    with pytest.raises(UnknownGeneration):
        await home.generations.changes(7)
