"""What an ingest refuses."""

from collections.abc import AsyncIterator, Mapping

import pytest

from support.fakes import PageSource, WordEmbedder
from surefind.errors import GuardStopped, InputError, StoreBusy
from surefind.model import (
    ChunkerSettings,
    PageFailure,
    PageUnchanged,
    SourcePage,
)
from surefind.services.ingest.inspect import inspect
from unit.installation import PAGES, Installation


@pytest.mark.parametrize(
    ("pages", "failing", "message"),
    [
        ({}, {}, "no page to read in docs"),
        ({"a.md": b"\x00"}, {"b.md": "gone"}, "none of the 2 pages in docs could be used"),
    ],
)
async def test_a_source_without_usable_pages_is_an_error(
    home: Installation, pages: dict[str, bytes], failing: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        await home.ingest(pages, failing)
    assert await home.catalogs.current("docs") is None
    assert await home.catalogs.unfinished("docs") == []


async def test_a_source_that_shrank_is_refused_and_nothing_changes(home: Installation) -> None:
    pages = {f"{section}/{n}.md": f"text {n}" for section in "ab" for n in range(4)}
    await home.ingest(pages)
    before = await home.texts()
    less = {k: v for k, v in pages.items() if k.startswith("a/")}
    with pytest.raises(GuardStopped, match="section docs/b is missing entirely"):
        await home.ingest({**less, "a/0.md": "edited"})
    assert await home.texts() == before
    assert await home.catalogs.unfinished("docs") == []
    report = await home.ingest(less, allow_shrink=True)
    assert (report.removed, report.chunks) == (4, 4)


async def test_another_model_or_chunker_is_refused_until_a_rebuild(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    home.embedder = WordEmbedder(dimensions=48, weights="words-2")
    with pytest.raises(InputError, match=r"32 dimensions, words-1.*48 dimensions, words-2"):
        await home.ingest(PAGES)
    home.embedder = WordEmbedder()
    home.chunker = ChunkerSettings(max_tokens=40)
    with pytest.raises(InputError, match=r"at most 400 tokens.*at most 40 tokens"):
        await home.ingest(PAGES)
    home.chunker = ChunkerSettings(overlap_tokens=50)
    with pytest.raises(
        InputError, match=r"1999 characters, but the settings now name.*, 50 tokens repeated"
    ):
        await home.ingest(PAGES)
    assert await home.texts() == before
    home.embedder = WordEmbedder(dimensions=48, weights="words-2")
    report = await home.ingest(PAGES, rebuild=True)
    assert (report.embedded, report.generation, report.chunks) == (5, 2, 5)
    assert (await home.search("install")).hits[0].record.section == "Install"


async def test_pages_that_lost_all_their_text_count_as_gone(home: Installation) -> None:
    pages = {f"{n}.md": f"text {n}" for n in range(10)}
    await home.ingest(pages)
    with pytest.raises(GuardStopped, match="10 of 10 pages"):
        await home.ingest(dict.fromkeys(pages, ""))
    assert len(await home.texts()) == 10


async def test_a_page_that_can_not_be_inspected_is_named() -> None:
    deep = PageSource({"deep.html": f"<p>{'<div>' * 40_000}x"})
    with pytest.raises(InputError, match=r"^docs/deep\.html: its elements are nested too deeply"):
        await inspect(deep, ChunkerSettings(), WordEmbedder())


async def test_a_page_that_can_not_be_read_can_not_be_inspected() -> None:
    source = PageSource({}, {"a.md": "it can't be read"})
    with pytest.raises(InputError, match=r"docs/a\.md: it can't be read"):
        await inspect(source, ChunkerSettings(), WordEmbedder())


async def test_a_second_writer_is_refused(home: Installation) -> None:
    async with home.catalogs.writing("ingest"):
        with pytest.raises(StoreBusy, match="another `surefind ingest`"):
            await home.ingest(PAGES)
        with pytest.raises(StoreBusy):
            await home.generations.rollback()


async def test_two_sources_of_one_name_are_refused(home: Installation) -> None:
    with pytest.raises(InputError, match="two sources have the same name: docs"):
        await home.ingest_from(PageSource({}), PageSource({}))
    with pytest.raises(InputError, match="no source"):
        await home.ingest_from()


async def test_a_page_that_comes_twice_is_refused(home: Installation) -> None:
    class Twice(PageSource):
        async def pages(
            self, known: Mapping[str, str] | None = None
        ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
            for _ in range(2):
                async for page in super().pages(known):
                    yield page

    with pytest.raises(InputError, match=r"docs/a\.md is in two"):
        await home.ingest_from(Twice({"a.md": "x"}))


async def test_a_budget_that_the_model_can_not_read_is_refused(home: Installation) -> None:
    home.chunker = ChunkerSettings(max_tokens=10_000)
    with pytest.raises(InputError, match="max_tokens is 10000"):
        await home.ingest(PAGES)
