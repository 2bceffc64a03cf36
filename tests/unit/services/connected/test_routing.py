"""Our own collections and those that are only read, behind one door."""

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore, document, record
from surefind.errors import StoreError
from surefind.model import GenerationRef, Replication
from surefind.services.connected.routing import RoutedCatalogStore, RoutedIndexStore

OURS, THEIRS = GenerationRef("docs", 1), GenerationRef("theirs", 1)


async def test_each_collection_is_routed_to_its_store() -> None:
    own, other = MemoryCatalogStore(), MemoryCatalogStore()
    door = RoutedCatalogStore(own, {"theirs": other})
    for ref in (OURS, THEIRS):
        writer = await door.create(ref, None)
        await writer.put(document(), [record(0)])
        assert await door.unfinished(ref.collection) == [ref]
        assert (await door.next_ref(ref.collection)).number == 2
        assert await (await door.open(ref)).count() == 1
        assert await door.current(ref.collection) is None
        assert await door.complete(ref.collection) == []
        assert await door.manifests(ref.collection) == []
    assert (list(own.documents), list(other.documents)) == ([OURS], [THEIRS])
    await door.drop(THEIRS)
    assert (list(own.documents), list(other.documents)) == ([OURS], [])
    assert "theirs" in await door.collections()
    async with door.writing("ingest"):
        await door.require_writing()
    await door.close()


async def test_each_index_is_made_and_removed_where_it_belongs() -> None:
    own, other = MemoryIndexStore(), MemoryIndexStore()
    door = RoutedIndexStore(own, {"theirs": other})
    await door.require_room(1, 32)
    for ref in (OURS, THEIRS):
        await (await door.create(ref, 32, None)).finish()
        await door.published(ref)
    assert (own.alias, other.alias) == (OURS, THEIRS)
    assert await door.held() == [OURS, THEIRS]
    assert (await door.facts()).name == "in memory"
    other.replicas = Replication(2, (1,))
    assert await door.replication(OURS) is None
    assert await door.replication(THEIRS) == other.replicas
    await door.drop(THEIRS)
    assert await door.held() == [OURS]
    with pytest.raises(StoreError):
        await door.open(THEIRS)
    assert await (await door.open(OURS)).count() == 0
    await door.close()
