"""What a collection can be filtered by."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from surefind.errors import StoreError
from surefind.services.search.facets import FEW, MOST_CHUNKS, Facet, Facets
from unit.installation import Installation

PAGES = {
    "a.md": (
        "---\nlevel: easy\ntags: [api, cli]\norder: 1\ndraft: true\n---\n# A\n\none\n\n## B\n\ntwo"
    ),
    "b.md": "---\nlevel: hard\ntags: [api]\norder: 2\ndraft: 1\n---\n# C\n\n```\ncode\n```\n",
    "c.md": f"---\nlevel: easy\nsummary: {'word ' * 30}\n---\n# D\n\nfour",
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


async def facets(home: Installation, max_chunks: int = MOST_CHUNKS) -> dict[str, Facet]:
    offer = await Facets(home.readers, max_chunks).read("docs")
    return {facet.field.name: facet for facet in offer.facets}


async def test_fields_with_few_values_list_them_the_most_frequent_first(
    home: Installation,
) -> None:
    found = await facets(home)
    assert found["level"].values == (("easy", 3), ("hard", 1))
    assert found["tags"].values == (("api", 3), ("cli", 2))
    assert found["order"].values == ((1, 2), (2, 1))
    assert found["source"].values == (("docs", 4),)
    assert dict(found["has_code"].values or ()) == {False: 3, True: 1}
    assert found["version"].values == (), "no page has one"
    assert found["level"].from_front_matter
    assert not found["version"].from_front_matter


async def test_a_flag_is_not_a_number(home: Installation) -> None:
    values = (await facets(home))["draft"].values
    assert values is not None
    assert [(type(value), number) for value, number in values] == [(int, 1), (bool, 2)][::-1]


async def test_long_values_and_names_of_single_passages_are_not_listed(home: Installation) -> None:
    found = await facets(home)
    assert found["summary"].values is None
    for name in ("chunk_id", "url", "title", "tokens", "created_at"):
        assert found[name].values is None


async def test_a_field_with_many_values_is_not_listed(home: Installation) -> None:
    pages = {f"{n}.md": f"---\nticket: {n}\n---\n# T\n\ntext {n}" for n in range(FEW + 1)}
    await home.ingest(pages, allow_shrink=True)
    assert (await facets(home))["ticket"].values is None


async def test_a_very_large_collection_lists_only_its_fields(home: Installation) -> None:
    found = await facets(home, max_chunks=3)
    assert (found["level"].field.kinds, found["level"].values) == (("text",), None)
    assert found["has_code"].values is None


async def test_facets_are_counted_once_per_generation(home: Installation) -> None:
    offers = Facets(home.readers)
    first = await offers.read("docs")
    assert await offers.read("docs") is first
    await home.ingest({**PAGES, "d.md": "---\nlevel: hard\n---\n# E\n\nfive"})
    second = await offers.read("docs")
    assert second.generation.number == first.generation.number + 1
    [level] = [facet for facet in second.facets if facet.field.name == "level"]
    assert level.values == (("easy", 3), ("hard", 2))


async def test_without_the_catalog_there_are_no_facets(home: Installation) -> None:
    [catalog] = home.root.glob("collections/docs/*/catalog.sqlite")
    catalog.unlink()
    with pytest.raises(StoreError, match="catalog is unavailable"):
        await Facets(home.readers).read("docs")


async def test_folders_are_counted_below_the_one_that_has_all_pages(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data")
    page = "# A\n\none"
    await installation.ingest({"guide/a.md": page, "guide/deep/b.md": page, "api/c.md": page})
    offer = await Facets(installation.readers).read("docs")
    assert offer.folders == (("docs/api", 1), ("docs/guide", 2))
    await installation.close()


async def test_pages_in_one_folder_have_no_folders_to_choose(home: Installation) -> None:
    assert (await Facets(home.readers).read("docs")).folders == ()
