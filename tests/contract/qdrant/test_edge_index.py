"""The embedded engine: what every index promises, and how it shares a folder and a full disk."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from uuid import UUID

import numpy as np
import pytest
import qdrant_edge as edge

from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from contract.indexes.test_indexes import IndexContract
from support.fakes import WordEmbedder, record, word_terms
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import EdgeIndex, EdgeIndexStore, EdgeIndexWriter
from surefind.adapters.qdrant.points import DENSE, LEXICAL
from surefind.errors import StoreError, StoreFull
from surefind.model import AnyOf, Between, GenerationRef
from surefind.ports import DenseQuery, IndexEntry, IndexStore


@contextmanager
def written_by_others(folder: DataFolder) -> Iterator[edge.EdgeShard]:
    """Generation ONE, to change it without surefind; it loses its checksums."""
    shard = edge.EdgeShard.load(str(folder.generation(ONE) / "index"))
    yield shard
    shard.flush()
    shard.close()
    (folder.generation(ONE) / "index.checksums").unlink()


def apparent_bytes(folder: DataFolder, ref: GenerationRef) -> int:
    return sum(path.stat().st_size for path in folder.generation(ref).rglob("*"))


class TestEdge(IndexContract):
    @pytest.fixture
    def store(self, folder: DataFolder) -> IndexStore:
        return EdgeIndexStore(folder)

    async def test_many_readers_share_a_generation_and_leave_its_bytes_alone(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        files = sorted(p for p in folder.generation(ONE).rglob("*") if p.is_file())
        before = [path.read_bytes() for path in files]
        readers = [await store.open(ONE) for _ in range(3)]
        vector = WordEmbedder(DIMENSIONS).embed(TEXTS[0])
        for reader in readers:
            [answer] = await reader.search([DenseQuery(vector, 1)])
            assert answer.points[0] == reader.number(record(0).chunk.point_id)
        for reader in readers:
            await reader.close()
        assert sorted(p for p in folder.generation(ONE).rglob("*") if p.is_file()) == files
        assert [path.read_bytes() for path in files] == before
        assert not list((folder.root / "views").iterdir())

    async def test_tar_and_cp_store_hardly_more_than_there_is(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        assert apparent_bytes(folder, ONE) < 8e6, "the engine's files have 100 MB and a log 64 MB"
        await build(store, TWO, entries(["a passage that is new"], first=9), copy_of=ONE)
        assert apparent_bytes(folder, TWO) < 8e6
        index = await store.open(TWO)
        assert await index.count() == 6
        await index.close()
        assert apparent_bytes(folder, TWO) < 8e6

    @pytest.mark.parametrize("log", ["kept", "removed"])
    async def test_an_index_of_an_earlier_version_with_a_log_takes_changes(
        self, store: IndexStore, folder: DataFolder, log: str
    ) -> None:
        path = folder.generation(ONE) / "index"
        path.mkdir(parents=True)
        config = edge.EdgeConfig(
            vectors={DENSE: edge.EdgeVectorParams(DIMENSIONS, edge.Distance.Cosine)},
            sparse_vectors={LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        )
        shard = edge.EdgeShard.create(str(path), config)
        writer = EdgeIndexWriter(path, shard, DIMENSIONS, 1000)
        for entry in entries(TEXTS) * 3:
            await writer.upsert([entry])
        shard.flush()
        shard.close()
        if log == "removed":
            shutil.rmtree(path / "wal")
        await build(store, TWO, entries(["another text"]), copy_of=ONE)
        index = await store.open(TWO)
        number = record(0).chunk.point_id
        assert (await index.payloads([number]))[number].chunk.text == "another text"
        await index.close()

    @pytest.fixture
    def temporary(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        """The temporary folder, to oneself."""
        place = tmp_path_factory.mktemp("temporary")
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        return place

    async def test_the_views_of_dead_readers_are_swept_and_those_of_living_ones_are_not(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        views = folder.root / "views"
        (views / "dead").mkdir(parents=True)
        (views / "dead.lock").touch()
        living = await store.open(ONE)
        assert not (views / "dead").exists()
        another = await store.open(ONE)
        assert len(list(views.glob("*.lock"))) == 2
        assert await living.count() == await another.count() == 5
        await living.close()
        await another.close()

    async def test_without_hard_links_a_reader_copies(
        self, store: IndexStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_args: object, **_options: object) -> None:
            raise OSError("no links here")

        await build(store, ONE, entries(TEXTS))
        monkeypatch.setattr("os.link", refuse)
        index = await store.open(ONE)
        assert await index.count() == 5
        await index.close()

    async def test_a_folder_that_may_only_be_read_is_read_through_a_temporary_one(
        self, store: IndexStore, folder: DataFolder, temporary: Path
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        (folder.root / "views").write_text("in the way: nothing can be made here")
        room = temporary / f"surefind-views-{os.getuid()}"
        room.mkdir(mode=0o700)
        (room / "dead").mkdir()
        (room / "dead.lock").touch()
        index = await store.open(ONE)
        assert await index.count() == 5
        assert not (room / "dead").exists(), "what a killed reader left"
        assert len(list(room.iterdir())) == 2, "a view and its lock"
        await index.close()
        assert list(room.iterdir()) == []

    @pytest.mark.parametrize("kind", ["open to all", "a link", "a file"])
    async def test_a_room_that_others_can_look_into_is_not_used(
        self, store: IndexStore, folder: DataFolder, temporary: Path, kind: str
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        (folder.root / "views").write_text("in the way")
        room, bait = temporary / f"surefind-views-{os.getuid()}", temporary / "bait"
        (bait / "dead").mkdir(parents=True)
        (bait / "dead.lock").touch()
        if kind == "a link":
            room.symlink_to(bait)
        elif kind == "a file":
            room.touch()
        else:
            room.mkdir()
            room.chmod(0o777)
        index = await store.open(ONE)
        assert await index.count() == 5
        await index.close()
        assert (bait / "dead").exists()
        assert not room.is_dir() or kind == "a link" or list(room.iterdir()) == []

    async def test_on_a_full_disk_searching_goes_on_elsewhere_or_says_why_not(
        self, store: IndexStore, folder: DataFolder, temporary: Path
    ) -> None:
        """The engine would be killed by a memory map that can't grow: so it is asked beforehand."""
        await build(store, ONE, entries(TEXTS))
        full = EdgeIndexStore(folder, free=lambda path: 0 if folder.root in path.parents else 2**40)
        index = await full.open(ONE)
        assert await index.count() == 5
        assert not list((folder.root / "views").iterdir())
        await index.close()
        with pytest.raises(StoreError, match="free some space"):
            await EdgeIndexStore(folder, free=lambda _: 0).open(ONE)

    async def test_a_disk_without_room_is_refused_in_advance(self, folder: DataFolder) -> None:
        store = EdgeIndexStore(folder, free=lambda _: 70 * 2**20)
        await store.require_room(points=1, dimensions=DIMENSIONS)
        with pytest.raises(StoreFull, match="Free some space"):
            await store.require_room(points=1000, dimensions=DIMENSIONS)

    async def test_a_damaged_index_is_a_store_error(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        for path in (folder.generation(ONE) / "index" / "segments").rglob("segment.json"):
            path.write_text("{")
        with pytest.raises(StoreError, match=r"segment\.json is damaged .*doctor --repair"):
            await store.open(ONE)
        (folder.generation(ONE) / "index.checksums").unlink()  # as if by an earlier surefind
        with pytest.raises(StoreError, match=r"vector index .*surefind doctor"):
            await store.open(ONE)
        assert not list((folder.root / "views").iterdir())

    async def test_a_strange_payload_is_a_store_error(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        with written_by_others(folder) as shard:
            numbers, _ = shard.scroll(edge.ScrollRequest(limit=len(TEXTS)))
            ids = [point.id for point in numbers]
            shard.update(edge.UpdateOperation.overwrite_payload(ids, {"heading_path": "text"}))
        index = await store.open(ONE)
        with pytest.raises(StoreError, match="payload"):
            await index.payloads([record(0).chunk.point_id])
        with pytest.raises(StoreError, match="does not name the chunk"):
            await index.point_ids([index.number(record(0).chunk.point_id)])
        await index.close()

    async def test_an_unknown_point_number_is_a_store_error(self, store: IndexStore) -> None:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        with pytest.raises(StoreError, match="the chunk of its point 7"):
            await index.point_ids([index.number(record(0).chunk.point_id), 7])
        await index.close()

    async def test_two_chunks_with_one_number_are_one_point_less(self, store: IndexStore) -> None:
        """The build notices it, because the catalog has both."""
        [first] = entries(TEXTS[:1])
        [second] = entries(TEXTS[1:2])
        assert first.record.chunk.point_id == second.record.chunk.point_id
        assert await build(store, ONE, [first, second]) == 1

    async def test_an_index_with_the_ids_of_an_earlier_version_is_rejected(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        with written_by_others(folder) as shard:
            numbered, _ = shard.scroll(edge.ScrollRequest(limit=len(TEXTS), with_vector=True))
            points = [
                edge.Point(str(UUID(int=cast("int", one.id))), one.vector or {}, one.payload)
                for one in numbered
            ]
            shard.update(edge.UpdateOperation.delete_points([one.id for one in numbered]))
            shard.update(edge.UpdateOperation.upsert_points(points))
        with pytest.raises(StoreError, match=r"an earlier surefind.*run `surefind ingest`"):
            await store.open(ONE)
        with pytest.raises(StoreError, match=r"docs.* an earlier surefind"):
            await store.create(TWO, DIMENSIONS, ONE)
        assert await build(store, TWO, entries(TEXTS)) == len(TEXTS)

    async def test_enough_points_are_indexed_and_found(self, folder: DataFolder) -> None:
        """Past the engine's threshold a graph is built; what it finds is still right."""
        store = EdgeIndexStore(folder)
        generator = np.random.default_rng(1)
        vectors = generator.standard_normal((1400, 2048)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        writer = await store.create(ONE, 2048, None)
        terms = word_terms("word")
        for start in range(0, 1400, 350):
            await writer.upsert(
                [IndexEntry(record(n), vectors[n], terms) for n in range(start, start + 350)]
            )
        assert await writer.finish() == 1400
        index = await store.open(ONE)
        assert await index.indexed() == 1400
        for number in (0, 777, 1399):
            [answer] = await index.search([DenseQuery(vectors[number], 1)])
            assert answer.points[0] == index.number(record(number).chunk.point_id)
        await index.close()

    async def test_the_best_of_what_a_filter_leaves_are_found_where_the_graph_would_miss_them(
        self, folder: DataFolder
    ) -> None:
        """Forty heaps, and a third of each is left: most neighbours of one that is left are not."""
        store, chance = EdgeIndexStore(folder), np.random.default_rng(3)
        heaps = chance.standard_normal((40, 2048))
        vectors = np.repeat(heaps, 100, axis=0) + chance.standard_normal((4000, 2048)) * 0.6
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        writer = await store.create(ONE, 2048, None)
        terms = word_terms("word")
        for start in range(0, 4000, 500):
            await writer.upsert(
                [
                    IndexEntry(replace(record(n), attributes={"third": n % 3}), vectors[n], terms)
                    for n in range(start, start + 500)
                ]
            )
        await writer.finish()
        index = await store.open(ONE)
        assert await index.indexed() == 4000
        one, two = (AnyOf("third", (1,)),), (AnyOf("third", (0, 1)), AnyOf("third", (1, 2)))
        for where in (one, two):  # the engine takes the two for four ninths
            for number in range(0, 4000, 100):
                query = DenseQuery(vectors[number], 10, where=where)
                found, best = await index.search([query, query._replace(exact=True)])
                assert found.points == best.points
        await index.close()


class TestEdgeWithIndexesOfThePayload(IndexContract):
    """As many points have: what a filter finds must be the same by index and by looking."""

    @pytest.fixture
    def store(self, folder: DataFolder) -> IndexStore:
        return EdgeIndexStore(folder, worth_indexes=0)

    async def test_points_are_indexed_once_there_are_enough_of_them(
        self, folder: DataFolder
    ) -> None:
        store = EdgeIndexStore(folder, worth_indexes=8)
        for ref, texts in ((ONE, TEXTS), (TWO, [*TEXTS, *TEXTS])):
            writer = await store.create(ref, DIMENSIONS, None)
            for entry in entries(texts):
                await writer.upsert([entry])
            assert await writer.finish() == len(texts)
        few, many = [await store.open(ref) for ref in (ONE, TWO)]
        assert not few._shard.info().payload_schema
        assert "tokens" in many._shard.info().payload_schema
        vector = WordEmbedder(DIMENSIONS).embed(TEXTS[0])
        for index, expected in ((few, len(TEXTS)), (many, 2 * len(TEXTS))):
            where = (Between("tokens", gte=0),)
            [answer] = await index.search([DenseQuery(vector, 99, where=where)])
            assert len(answer.points) == expected
            await index.close()

    async def test_the_keys_of_pages_have_indexes_too_also_in_the_next_generation(
        self, store: IndexStore
    ) -> None:
        tagged = [
            replace(
                entry, record=replace(entry.record, attributes={"level": 3, "due": "2026-01-31"})
            )
            for entry in entries(TEXTS)
        ]
        await build(store, ONE, tagged)
        await build(store, TWO, entries(["one more"], first=9), copy_of=ONE)
        for ref in (ONE, TWO):
            index = cast("EdgeIndex", await store.open(ref))
            kinds = {
                key: info.data_type for key, info in index._shard.info().payload_schema.items()
            }
            assert kinds["front_matter.level"] == edge.PayloadSchemaType.Float
            assert kinds["front_matter.due"] == edge.PayloadSchemaType.Datetime
            assert kinds["version"] == edge.PayloadSchemaType.Keyword
            assert "chunk_id" not in kinds
            linked = [
                key
                for key, info in index._shard.info().payload_schema.items()
                if info.params is None or info.params.enable_hnsw is not False
            ]
            assert not linked  # every search would go along these links
            vector = WordEmbedder(DIMENSIONS).embed(TEXTS[0])
            where = (AnyOf("level", (3,)), Between("due", lt=datetime(2026, 2, 1, tzinfo=UTC)))
            [answer] = await index.search([DenseQuery(vector, 9, where=where)])
            assert len(answer.points) == 5
            await index.close()
