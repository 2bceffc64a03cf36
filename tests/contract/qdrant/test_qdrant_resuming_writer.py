"""The writer that goes on with a collection in a Qdrant server, and who has lost its place."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from contract.qdrant.dying_uploads import BEGUN, FIRST, POINTS, Home, written
from support.fakes import MemoryCatalogStore, record, word_terms
from support.qdrant.service import Service, Trouble
from surefind.adapters.files.data_folder import DataFolder
from surefind.bootstrap.stores import index_store
from surefind.errors import StoreChanged, StoreError
from surefind.ports import DenseQuery, SparseQuery
from surefind.settings import load


@pytest.fixture
def service(keyless: Service) -> Service:
    return keyless


# --- the writer -------------------------------------------------------------------------------


async def test_a_writer_that_goes_on_deletes_replaces_and_removes(
    home: Home, service: Service
) -> None:
    store = home.index
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS))
    await asyncio.sleep(0)
    await writer._settle()  # type: ignore[attr-defined]
    assert writer.resumable
    await writer.abandon()
    written(service)
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS[:3]))
    await writer.upsert(entries(["another text"], first=1))
    await writer.delete([record(0).chunk.point_id])
    assert await writer.finish() == 2
    assert written(service) == 1
    index = await store.open(ONE)
    ids = [record(number).chunk.point_id for number in range(5)]
    assert {one.chunk.text for one in (await index.payloads(ids)).values()} == {
        "another text",
        TEXTS[2],
    }


async def test_words_weigh_the_same_after_an_upload_in_two_parts(home: Home) -> None:
    store = home.index
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS[:2]))
    await writer._settle()  # type: ignore[attr-defined]
    await writer.abandon()
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS))
    assert await writer.finish() == 5
    await build(store, TWO, entries(TEXTS))
    queries: list[DenseQuery | SparseQuery] = [SparseQuery(word_terms("install the cats"), 5)]
    [resumed] = await (await store.open(ONE)).search(queries)
    [at_once] = await (await store.open(TWO)).search(queries)
    assert (resumed.points, resumed.scores) == (at_once.points, at_once.scores)


async def test_indexes_that_were_not_made_in_time_are_made(home: Home, service: Service) -> None:
    """A run may die between the collection and its last index."""
    await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    service.collections[FIRST].delete_index("url")
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS))
    await writer.finish()
    assert "url" in service.collections[FIRST].info()["payload_schema"]


async def test_a_copy_keeps_the_indexes_of_the_front_matter(home: Home, service: Service) -> None:
    """Of pages that did not change as well: strict servers refuse to filter without."""
    [entry] = entries(TEXTS[:1])
    levelled = replace(entry, record=replace(entry.record, attributes={"level": 3}))
    await build(home.index, ONE, [levelled])
    await build(home.index, TWO, entries(TEXTS[1:2], first=1), ONE)
    before, after = (
        {key for key in service.collections[name].info()["payload_schema"] if "level" in key}
        for name in (FIRST, "docs--0002")
    )
    assert before == after != set()


async def test_a_collection_that_is_deleted_meanwhile_is_told(home: Home, service: Service) -> None:
    await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    service.delete(FIRST)
    with pytest.raises(StoreChanged, match=f"has no collection {FIRST}"):
        await writer.upsert(entries(TEXTS))
    await writer.abandon()


# --- who has lost the place for writing -------------------------------------------------------


async def test_what_is_copied_stops_when_the_place_is_lost(
    home: Home, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying takes minutes; another run may have published it all meanwhile."""
    monkeypatch.setattr("surefind.adapters.qdrant.server.writer._PAGE", 1)
    await build(home.index, ONE, entries(TEXTS))
    writer = await home.index.create(TWO, DIMENSIONS, ONE, BEGUN)
    home.asks = 2
    with pytest.raises(StoreError, match="place was lost"):
        await writer.finish()
    await writer.abandon()
    await home.is_gone()
    copied = service.collections["docs--0002"].count({})["count"]
    assert copied <= 2 < len(TEXTS), "those that were under way may have been given up"


@pytest.mark.parametrize("act", ["finish", "delete", "create"])
async def test_nothing_is_removed_once_the_place_is_lost(
    home: Home, service: Service, act: str
) -> None:
    first = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    await first.upsert(entries(TEXTS))
    await first.finish()
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS[:3]))
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "finish": writer.finish,
        "delete": lambda: writer.delete([record(0).chunk.point_id]),
        "create": lambda: home.index.create(
            ONE, DIMENSIONS, None, replace(BEGUN, build_digest="another")
        ),
    }
    home.asks = 0
    with pytest.raises(StoreError, match="place was lost"):
        await acts[act]()
    await writer.abandon()
    assert service.collections[FIRST].count({})["count"] == len(TEXTS)


async def test_what_is_tried_again_asks_again(home: Home, service: Service) -> None:
    """A server may be away for minutes, and the place with it."""
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    service.troubles.append(Trouble(503, on=POINTS))
    home.asks = 1
    await writer.upsert(entries(TEXTS))
    with pytest.raises(StoreError, match="place was lost"):
        await writer.finish()
    await writer.abandon()
    assert service.collections[FIRST].count({})["count"] == 0


async def test_the_server_is_guarded_by_the_catalog_beside_it(
    service: Service, tmp_path: Path
) -> None:
    class Lost(MemoryCatalogStore):
        async def require_writing(self) -> None:
            raise StoreError("the one writer's place was lost")

    settings = load(data_dir=tmp_path, qdrant_url=service.url)
    store = index_store(settings, DataFolder(tmp_path), Lost(), print)
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    with pytest.raises(StoreError, match="place was lost"):
        await writer.finish()
    await store.close()
