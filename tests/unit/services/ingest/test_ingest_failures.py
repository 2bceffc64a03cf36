"""What goes wrong in an ingest never reaches those who read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
import qdrant_edge as edge

from support.fakes import (
    FaultyIndexStore,
    MemoryCatalogStore,
    MemoryIndexStore,
    PageSource,
    WordEmbedder,
)
from surefind.adapters.files.checksums import HEAL_INDEX, Checksums
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.errors import EmbeddingError, GuardStopped, StoreError
from surefind.model import (
    Chunk,
    GenerationRef,
    PageLocation,
    Replication,
    point_id,
)
from surefind.ports import IndexEntry, IndexWriter
from surefind.text.sites.plain import PlainSite
from unit.installation import PAGES, Crash, Installation


async def test_a_page_that_fails_keeps_its_chunks_and_is_named(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    left = {k: v for k, v in PAGES.items() if k != "guide/a.md"}
    report = await home.ingest(left, {"guide/a.md": "it can't be read"})
    assert [f.source_path for f in report.failures] == ["docs/guide/a.md"]
    assert not report.published
    assert await home.texts() == before
    report = await home.ingest({**PAGES, "guide/b.md": b"\x00binary", "index.md": "# Home\n\nnew"})
    assert "binary" in report.failures[0].reason
    assert (await home.texts())["docs/guide/b.md"] == before["docs/guide/b.md"]
    assert (await home.texts())["docs/index.md"] == ["# Home\n\nnew"]


async def test_a_rebuild_keeps_the_chunks_of_pages_that_fail(home: Installation) -> None:
    await home.ingest(PAGES)
    home.embedder = WordEmbedder(dimensions=48)
    left = {k: v for k, v in PAGES.items() if k != "guide/a.md"}
    report = await home.ingest(left, {"guide/a.md": "it can't be read"}, rebuild=True)
    assert (report.chunks, report.index_points, report.embedded) == (5, 5, 5)
    assert len((await home.texts())["docs/guide/a.md"]) == 3


async def test_replicas_are_reported_and_a_store_that_can_not_tell_stops_nothing(
    home: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    class Unseen(MemoryIndexStore):
        async def replication(self, ref: GenerationRef) -> Replication | None:
            raise StoreError(f"{ref} can't be seen")

    home.index, home.catalogs = cluster, _ = MemoryIndexStore(), MemoryCatalogStore()
    cluster.replicas = Replication(2, (2, 1), ("shard 1 at http://b:6335: Dead",))
    assert (await home.ingest(PAGES)).replication == cluster.replicas
    cluster.replicas = Replication(2, (2, 2))
    unchanged = await home.ingest(PAGES)
    assert (unchanged.published, unchanged.replication) == (False, cluster.replicas)
    home.index, home.catalogs = Unseen(), MemoryCatalogStore()
    report = await home.ingest(PAGES)
    assert (report.published, report.replication) == (True, None)
    assert "docs--0001 can't be seen" in caplog.text


@pytest.mark.parametrize(
    ("replication", "words"),
    [
        (Replication(2, (2, 3)), "2 shards, 2 active replicas each"),
        (Replication(1, (1,)), "1 shard, 1 active replica each"),
        (Replication(1, (0,), ("shard 0 at a: Dead",)), "fewer than 1 active replica (shard 0 at"),
        (Replication(2, (1, 2)), "1 of 2 shards with fewer than 2 active replicas"),
    ],
)
def test_replicas_in_words(replication: Replication, words: str) -> None:
    assert words in str(replication)
    assert replication.is_complete == ("fewer" not in words)


async def test_a_failing_embedder_leaves_what_readers_see_and_what_was_paid_for(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    home.embedder.batch_size = 2
    many = {**PAGES, **{f"new/{n}.md": f"new page {n}" for n in range(20)}}
    home.embedder.passages, home.embedder.calls, home.embedder.fail_at = [], 0, 4
    with pytest.raises(EmbeddingError):
        await home.ingest(many)
    assert await home.texts() == before
    assert await home.catalogs.unfinished("docs") == []
    paid = len(home.embedder.passages)
    assert paid > 0
    home.embedder.fail_at = None
    report = await home.ingest(many)
    assert report.embedded == 20 - paid
    assert len(set(home.embedder.passages)) == len(home.embedder.passages) == 20


async def test_what_a_dead_run_left_is_removed_by_the_next(home: Installation) -> None:
    await home.ingest(PAGES)
    writer = await home.catalogs.create(GenerationRef("docs", 2), None)
    await writer.abandon()
    report = await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    assert await home.catalogs.unfinished("docs") == []
    assert [m.number for m in await home.generations.list()] == [1, report.generation]


async def test_a_damaged_old_generation_does_not_stop_an_ingest(home: Installation) -> None:
    for number in range(3):
        await home.ingest({"a.md": f"version {number}"}, keep_generations=3)
    (home.root / "collections" / "docs" / "0001" / "manifest.json").write_text("{}")
    report = await home.ingest({"a.md": "version 3"}, keep_generations=3)
    assert (report.pruned, report.generation) == ((1,), 4)


async def test_old_generations_that_can_not_be_removed_do_not_undo_what_was_published(
    home: Installation,
) -> None:
    class Clinging(MemoryCatalogStore):
        async def drop(self, ref: GenerationRef) -> None:
            raise StoreError("it can't be removed")

    home.catalogs, home.index = Clinging(), MemoryIndexStore()
    await home.ingest({"a.md": "one"}, keep_generations=1)
    report = await home.ingest({"a.md": "two"}, keep_generations=1)
    assert (report.published, report.pruned) == (True, ())


async def test_a_lost_index_is_rebuilt_automatically(home: Installation) -> None:
    await home.ingest(PAGES)
    await home.index.drop(GenerationRef("docs", 1))
    report = await home.ingest(PAGES)
    assert (report.published, report.generation, report.unchanged) == (True, 2, 3)
    assert (report.embedded, report.from_cache, report.index_points) == (0, 5, 5)
    assert (await home.search("install")).hits[0].record.section == "Install"


async def test_an_index_of_an_earlier_surefind_is_rebuilt_too(home: Installation) -> None:
    """Its points were named by UUIDs."""
    await home.ingest(PAGES)
    _name_points_by_uuid(home.root / "collections" / "docs" / "0001" / "index")
    with pytest.raises(StoreError, match="built by an earlier surefind"):
        await home.search("install")
    report = await home.ingest(PAGES)
    assert (report.published, report.unchanged) == (True, 3)
    assert (report.embedded, report.index_points) == (0, 5)
    assert (await home.search("install")).hits[0].record.section == "Install"


def _name_points_by_uuid(index: Path) -> None:
    shard = edge.EdgeShard.load(str(index))
    points, _ = shard.scroll(edge.ScrollRequest(limit=100, with_payload=True, with_vector=True))
    assert points
    named = [edge.Point(_uuid_of(one), one.vector or {}, one.payload) for one in points]
    shard.update(edge.UpdateOperation.delete_points([one.id for one in points]))
    shard.update(edge.UpdateOperation.upsert_points(named))
    shard.flush()
    shard.close()
    Checksums(index, index.with_name("index.checksums"), HEAL_INDEX).write()


def _uuid_of(point: edge.Record) -> UUID:
    assert point.payload is not None
    return point_id(str(point.payload["chunk_id"]))


@pytest.mark.parametrize("file", ["catalog.sqlite", "manifest.json"])
@pytest.mark.parametrize("rebuild", [True, False])
async def test_a_damaged_generation_is_built_again(
    home: Installation, file: str, *, rebuild: bool
) -> None:
    await home.ingest(PAGES)
    (home.root / "collections" / "docs" / "0001" / file).write_bytes(b"junk" * 500)
    report = await home.ingest(PAGES, rebuild=rebuild)
    assert (report.generation, report.added, report.embedded) == (2, 3, 0)
    assert len(await home.texts()) == 3


@pytest.mark.parametrize("rebuild", [True, False])
async def test_what_a_damaged_catalog_had_is_not_lost_with_too_few_sources(
    home: Installation, *, rebuild: bool
) -> None:
    pages = {f"{number}.md": f"# Page {number}" for number in range(5)}
    await home.ingest(pages)
    (home.root / "collections" / "docs" / "0001" / "catalog.sqlite").write_bytes(b"junk")
    some = {"0.md": pages["0.md"]}
    with pytest.raises(GuardStopped, match=r"had 5 pages, but these sources have 1"):
        await home.ingest(some, rebuild=rebuild)
    report = await home.ingest(some, rebuild=rebuild, allow_shrink=True)
    assert report.documents == 1


class GarblingWriter:
    """Writes another text than it is given."""

    def __init__(self, inner: IndexWriter) -> None:
        self._inner = inner

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        await self._inner.upsert(
            [with_chunk(one, replace(one.record.chunk, text="something else")) for one in entries]
        )

    async def delete(self, point_ids: Sequence[UUID]) -> None:
        await self._inner.delete(point_ids)

    async def finish(self) -> int:
        return await self._inner.finish()

    async def abandon(self) -> None:
        await self._inner.abandon()


class LosingWriter(GarblingWriter):
    """Loses a point."""

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        await self._inner.upsert(entries[1:])


class CollidingWriter(GarblingWriter):
    """Names every chunk by one of two ids, so that they share two numbers."""

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        await self._inner.upsert(
            [
                with_chunk(one, replace(one.record.chunk, id=f"same-{number % 2}"))
                for number, one in enumerate(entries)
            ]
        )


def with_chunk(entry: IndexEntry, chunk: Chunk) -> IndexEntry:
    return replace(entry, record=replace(entry.record, chunk=chunk))


async def test_chunks_that_share_a_number_are_never_published(home: Installation) -> None:
    await home.ingest({"index.md": "# Home\n\nold"})
    home.index = FaultyIndexStore(home.index, written_by=CollidingWriter)
    with pytest.raises(StoreError, match=r"incomplete.* not published"):
        await home.ingest(PAGES, rebuild=True)
    assert list(await home.texts()) == ["docs/index.md"]


async def test_an_index_with_another_text_than_the_catalog_is_never_published(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    home.index = FaultyIndexStore(home.index, written_by=GarblingWriter)
    with pytest.raises(StoreError, match="its text does not match its hash"):
        await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    assert await home.texts() == before


async def test_a_pending_page_is_read_again_once_it_is_back(
    home: Installation,
) -> None:
    """It failed while the site moved: its old address must not stay for ever."""
    await home.ingest(PAGES)
    left = {k: v for k, v in PAGES.items() if k != "guide/a.md"}
    await home.ingest(left, {"guide/a.md": "gone today"}, base_url="https://x.org")
    still = await home.ingest(
        {**left, "new.md": "x"}, {"guide/a.md": "gone today"}, base_url="https://x.org"
    )
    assert still.added == 1
    back = await home.ingest({**PAGES, "new.md": "x"}, base_url="https://x.org")
    assert back.changed_pages == ("docs/guide/a.md",)
    assert (await home.search("install")).hits[0].record.link == "https://x.org/guide/a#install"
    assert not (await home.ingest({**PAGES, "new.md": "x"}, base_url="https://x.org")).published


async def test_a_folder_that_can_not_be_read_keeps_all_its_pages(home: Installation) -> None:
    await home.ingest(PAGES)
    report = await home.ingest({"index.md": PAGES["index.md"]}, {"guide/": "it can't be read"})
    assert (report.removed, report.published) == (0, False)
    assert len(await home.texts()) == 3


class FailingLate(SqliteCatalogStore):
    """It moves the pointer, and fails then."""

    async def point_to(self, ref: GenerationRef) -> None:
        await super().point_to(ref)
        raise StoreError("the disk did not answer")


async def test_what_readers_see_is_never_dropped(home: Installation) -> None:
    """The pointer moved, and then something failed: the generation is the current one now."""
    await home.ingest(PAGES)
    sound, home.catalogs = home.catalogs, FailingLate(DataFolder(home.root))
    with pytest.raises(StoreError, match="did not answer"):
        await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    home.catalogs = sound
    assert (await home.texts())["docs/index.md"] == ["# Home\n\nnew"]
    (home.root / "collections" / "docs" / "0002" / "manifest.json").unlink()
    assert (await home.ingest(PAGES)).generation == 3
    assert (home.root / "collections" / "docs" / "0002" / "catalog.sqlite").exists()


async def test_a_page_that_crashes_surefind_is_named_and_the_others_are_ingested(
    home: Installation,
) -> None:
    class Stumbling(PlainSite):
        def place(self, site_path: str, front_matter: Mapping[str, object]) -> PageLocation:
            if front_matter.get("trap"):
                raise RuntimeError("a fault of our own")
            return super().place(site_path, front_matter)

    source = PageSource({**PAGES, "trap.md": "---\ntrap: yes\n---\nx"})
    source.site = Stumbling("https://x.org")
    report = await home.ingest_from(source)
    assert len(await home.texts()) == 3
    [failure] = report.failures
    assert failure.source_path == "docs/trap.md"
    assert "(RuntimeError: a fault of our own); please report it" in failure.reason


async def test_an_index_that_lost_a_point_is_never_published(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    home.index = FaultyIndexStore(home.index, written_by=LosingWriter)
    with pytest.raises(StoreError, match="incomplete"):
        await home.ingest({**PAGES, "more.md": "more"})
    assert await home.texts() == before


@pytest.mark.parametrize("moment", range(1, 9))
async def test_broken_at_any_reported_moment_readers_see_the_old(
    home: Installation, moment: int
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    changed = {**PAGES, "index.md": "# Home\n\nnew", "more.md": "more"}
    try:
        await home.ingest(changed, crash_at=moment)
    except Crash:
        assert await home.texts() == before
    else:
        assert moment == 9
    await home.ingest(changed)
    assert (await home.texts())["docs/more.md"] == ["more"]
