"""Readers see exactly one generation, and the next as soon as it is published."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore
from support.fakes.faults import FaultyIndexStore
from surefind.errors import InputError, StoreError, UnknownCollection, UnknownGeneration
from surefind.model import GenerationRef
from surefind.ports import VectorIndex
from surefind.services.encoding.circuit_breaker import BreakingIndexes, Circuit, CircuitBreaker
from surefind.services.generations.readers import CollectionReader, OpenGeneration, Readers
from unit.installation import Installation


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest({"a.md": "first words", "b.md": "more words"})
    yield installation
    await installation.close()


async def test_a_published_generation_is_seen_without_a_restart(home: Installation) -> None:
    assert (await home.search("words")).generation == 1
    await home.ingest({"a.md": "second words", "b.md": "more words"})
    result = await home.search("words")
    assert result.generation == 2
    assert {hit.record.chunk.text for hit in result.hits} == {"second words", "more words"}


async def test_a_lease_outlives_what_is_published_and_pruned_meanwhile(home: Installation) -> None:
    async with home.reader.lease() as held:
        await home.ingest({"a.md": "second words", "b.md": "x"}, keep_generations=1)
        assert (await home.search("words")).generation == 2
        assert held.catalog is not None
        records = [record async for record in held.catalog.chunks()]
        assert [record.chunk.text for record in records] == ["first words", "more words"]
        payloads = await held.index.payloads([record.chunk.point_id for record in records])
        assert len(payloads) == 2


async def test_searches_while_generations_come_and_go_never_mix_them(home: Installation) -> None:
    seen: list[set[str]] = []
    published = asyncio.Event()

    async def search_often() -> None:
        last = False
        while not last:
            last = published.is_set()
            result = await home.search("words", top_k=10)
            seen.append({hit.record.chunk.text.split()[0] for hit in result.hits})
            await asyncio.sleep(0.002)

    async def publish_often() -> None:
        for number in range(6):
            pages = {f"{n}.md": f"version{number} words {n}" for n in range(3)}
            await home.ingest(pages, allow_shrink=True, keep_generations=1)
        published.set()

    await asyncio.gather(search_often(), publish_often())
    assert seen[-1] == {"version5"}
    assert all(words == {"first", "more"} or len(words) == 1 for words in seen)


async def test_rollback_goes_back_and_forth(home: Installation) -> None:
    await home.ingest({"a.md": "second words", "b.md": "more words"})
    await home.ingest({"a.md": "third words", "b.md": "more words"})
    assert (await home.generations.rollback()).number == 2
    assert (await home.search("words")).generation == 2
    assert (await home.generations.rollback(to=3)).number == 3
    assert (await home.generations.rollback(to=1)).number == 1
    assert "docs/a.md" in await home.texts()
    with pytest.raises(InputError, match="is the oldest one"):
        await home.generations.rollback()
    with pytest.raises(UnknownGeneration, match="no generation 9"):
        await home.generations.rollback(to=9)
    assert await home.generations.current() == 1


async def test_after_a_rollback_the_next_ingest_builds_on_what_readers_see(
    home: Installation,
) -> None:
    pages = {"a.md": "second words", "b.md": "more words"}
    await home.ingest(pages)
    await home.generations.rollback()
    report = await home.ingest(pages)
    assert (report.generation, report.changed, report.embedded) == (3, 1, 0)
    assert (await home.texts())["docs/a.md"] == ["second words"]


async def test_a_recreated_data_folder_is_recognized_as_new(
    home: Installation, tmp_path: Path
) -> None:
    """Its first generation has the number that is open already, and other pages."""
    assert (await home.search("words")).generation == 1
    shutil.rmtree(tmp_path / "data" / "collections")
    await home.ingest({"z.md": "entirely different words"})
    assert [h.record.chunk.text for h in (await home.search("words")).hits] == [
        "entirely different words"
    ]


async def test_an_index_without_its_segments_is_an_error_never_an_empty_answer(
    home: Installation, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "data" / "collections" / "docs" / "0001" / "index" / "segments")
    with pytest.raises(StoreError, match="builds it"):
        await home.search("words")
    assert not list((tmp_path / "data" / "views").iterdir())
    assert (await home.ingest({"a.md": "first words", "b.md": "more words"})).published
    assert len((await home.search("words")).hits) == 2


async def test_naming_a_generation_repairs_a_damaged_pointer(home: Installation) -> None:
    (home.root / "collections" / "docs" / "CURRENT").write_text("x")
    with pytest.raises(StoreError, match="rollback --to N"):
        await home.search("words")
    await home.generations.rollback(to=1)
    assert (await home.search("words")).generation == 1


async def test_rollback_refuses_what_can_not_be_opened(home: Installation) -> None:
    await home.ingest({"a.md": "second words", "b.md": "more words"})
    await home.index.drop(GenerationRef("docs", 1))
    with pytest.raises(StoreError, match="no index"):
        await home.generations.rollback()
    assert await home.generations.current() == 2


async def numbers_in(generation: OpenGeneration) -> list[int]:
    assert generation.catalog is not None
    return [
        generation.index.number(record.chunk.point_id)
        async for record in generation.catalog.chunks()
    ]


async def test_what_the_catalog_said_once_is_known(home: Installation) -> None:
    async with home.reader.lease() as held:
        first, second = await numbers_in(held)
        [one], whole = await held.numbered([first])
        catalog, held.catalog = held.catalog, None
        assert whole
        assert await held.numbered([first]) == ([one], True)
        both, whole = await held.numbered([second, first])
        assert [record.chunk.text for record in both] == ["more words", "first words"]
        assert not whole, "the second came from the index"
        held.catalog = catalog
        assert (await held.numbered([second, first]))[1], "what stood in is not remembered"


async def test_it_remembers_no_more_records_than_it_may(home: Installation) -> None:
    async with home.reader.lease() as opened:
        held = OpenGeneration(opened.manifest, opened.index, opened.catalog, max_records=1)
        first, second = await numbers_in(held)
        for number in (first, second, first):
            [record], whole = await held.numbered([number])
            assert whole
            assert held.index.number(record.chunk.point_id) == number
        held.catalog = None
        assert (await held.numbered([first]))[1]
        assert not (await held.numbered([second]))[1], "it was forgotten for the first"


class RacingIndexStore(MemoryIndexStore):
    """Each time a generation is opened, it has just been replaced: `moves` times."""

    def __init__(self, catalogs: MemoryCatalogStore, moves: int) -> None:
        super().__init__()
        self._catalogs = catalogs
        self._moves = moves

    async def open(self, ref: GenerationRef) -> VectorIndex:  # type: ignore[override]
        if self._moves and self._catalogs.pointers.get("docs") == ref.number:
            self._moves -= 1
            numbers = [r.number for r in self.generations]
            self._catalogs.pointers["docs"] = max(n for n in numbers if n != ref.number)
            raise StoreError("it was removed just now")
        return await super().open(ref)


@pytest.mark.parametrize(("moves", "opens"), [(1, True), (100, False)])
async def test_a_generation_replaced_while_it_is_opened_is_tried_again(
    tmp_path: Path, moves: int, opens: bool
) -> None:
    home = Installation(tmp_path / "memory")
    catalogs = MemoryCatalogStore()
    home.catalogs, home.index = catalogs, MemoryIndexStore()
    await home.ingest({"a.md": "one"})
    await home.ingest({"a.md": "two"})
    racing = RacingIndexStore(catalogs, moves)
    racing.generations = home.index.generations
    reader = CollectionReader("docs", racing, catalogs)
    if opens:
        async with reader.lease() as generation:
            assert generation.manifest.number == 1
    else:
        with pytest.raises(StoreError, match="removed just now"):
            async with reader.lease():
                pytest.fail("it can't be opened")
    await reader.close()


class SlowIndexStore(MemoryIndexStore):
    """As a server far away: others come while it is being opened."""

    opened = 0

    async def open(self, ref: GenerationRef) -> VectorIndex:  # type: ignore[override]
        self.opened += 1
        await asyncio.sleep(0.01)
        return await super().open(ref)


async def test_readers_that_come_while_it_is_opened_wait_for_it(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    slow = SlowIndexStore()
    home.index, home.catalogs = slow, MemoryCatalogStore()
    await home.ingest({"a.md": "some words"})
    home.readers = Readers(slow, home.catalogs)
    slow.opened = 0
    results = await asyncio.gather(*(home.search("words") for _ in range(5)))
    assert slow.opened == 1
    assert {result.generation for result in results} == {1}


async def test_many_first_readers_open_it_once(home: Installation, tmp_path: Path) -> None:
    await asyncio.gather(*(home.search("words") for _ in range(8)))
    assert len(list((tmp_path / "data" / "views").glob("*.lock"))) == 1


async def without_catalog(tmp_path: Path) -> tuple[MemoryIndexStore, MemoryCatalogStore]:
    home = Installation(tmp_path / "data")
    home.index, home.catalogs = (index := MemoryIndexStore()), (catalogs := MemoryCatalogStore())
    await home.ingest({"a.md": "some words"})
    catalogs.away = True
    return index, catalogs


async def test_a_catalog_that_returns_is_used_without_a_new_generation(tmp_path: Path) -> None:
    index, catalogs = await without_catalog(tmp_path)
    reader = CollectionReader("docs", index, catalogs, pause_s=0)
    for _ in range(2):
        async with reader.lease() as generation:
            assert generation.catalog is None
    catalogs.away = False
    async with reader.lease() as generation:
        assert generation.catalog is not None
        assert generation.manifest.number == 1
    await reader.close()


async def test_an_unavailable_catalog_is_not_retried_by_every_reader(tmp_path: Path) -> None:
    index, catalogs = await without_catalog(tmp_path)
    reader = CollectionReader("docs", index, catalogs, pause_s=3600)
    async with reader.lease() as generation:
        assert generation.catalog is None
    catalogs.away = False
    async with reader.lease() as generation:
        assert generation.catalog is None, "the pause is not over"
    await reader.close()


async def test_a_generation_that_is_gone_meanwhile_is_still_read(tmp_path: Path) -> None:
    index, catalogs = await without_catalog(tmp_path)
    reader = CollectionReader("docs", index, catalogs, pause_s=0)
    async with reader.lease() as generation:
        catalogs.sealed.clear()
        async with reader.lease() as again:
            assert (again, again.catalog) == (generation, None)
    await reader.close()


async def test_names_of_collections_that_do_not_exist_are_not_kept(home: Installation) -> None:
    await home.ingest({"a.md": "# A\n\none"})
    async with home.reader.lease():
        for number in range(3000):
            reader = home.readers.of(f"none-{number}")
            with pytest.raises(UnknownCollection):
                async with reader.lease():
                    pass
        assert len(home.readers._readers) < 2000
        assert home.readers.of("docs") is home.reader


async def test_a_health_check_that_fails_counts_as_one_failure(home: Installation) -> None:
    store = FaultyIndexStore(home.index)
    breaker = CircuitBreaker("the index", failures=2)
    breaking = BreakingIndexes(store, lambda _: True, lambda _: breaker)
    reader = CollectionReader("docs", breaking, home.catalogs)
    await reader.check_index()
    store.uncountable = True
    with pytest.raises(StoreError, match="the index is unavailable"):
        await reader.check_index()
    assert breaker.circuit is Circuit.CLOSED
    store.uncountable = False
    await reader.check_index()
    await reader.close()
