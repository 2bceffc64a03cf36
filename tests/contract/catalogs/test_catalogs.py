"""What every catalog promises."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import pytest

from support.catalog_building import ONE, TWO, build, manifest
from support.fakes import NOW, MemoryCatalogStore, document, record
from support.postgres import PostgresService
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.errors import InputError, StoreBusy, StoreError, UnknownDocument, UnknownGeneration
from surefind.model import DocumentRecord, FailedTest, GateResult, Rate, Threshold
from surefind.ports import Catalog, CatalogStore, WholeCatalog


class CatalogContract:
    @pytest.fixture
    def store(self) -> CatalogStore:
        raise NotImplementedError

    @pytest.fixture
    async def catalog(self, store: CatalogStore) -> AsyncIterator[Catalog]:
        assert await build(store) == 5
        catalog = await store.open(ONE)
        yield catalog
        await catalog.close()

    async def test_chunks_are_found_by_point_in_one_go(self, catalog: Catalog) -> None:
        wanted = [record(2).chunk.point_id, record(0).chunk.point_id, uuid4()]
        found = await catalog.by_point(wanted)
        assert found == {wanted[0]: record(2), wanted[1]: record(0, "eins zwei")}
        assert await catalog.by_point([]) == {}

    async def test_who_writes_reads_what_was_written_last(self, store: CatalogStore) -> None:
        async with store.writing("ingest"):
            writer = await store.create(ONE, None)
            point = record(1).chunk.point_id
            for text in ("first", "second"):
                await writer.put(document(text=text), [record(1, text)])
                assert (await writer.by_point([point]))[point].chunk.text == text
            await writer.remove("docs/page.md")
            assert await writer.by_point([point]) == {}
            await writer.finish()

    async def test_chunks_asked_for_again_are_the_same_and_the_missing_still_missing(
        self, catalog: Catalog
    ) -> None:
        first, second, nobody = record(2).chunk.point_id, record(1).chunk.point_id, uuid4()
        await catalog.by_point([first, nobody])
        again = await catalog.by_point([second, nobody, first])
        assert again == {first: record(2), second: record(1)}

    async def test_a_chunk_is_found_by_its_id(self, catalog: Catalog) -> None:
        assert await catalog.chunk("chunk-1") == record(1)
        assert await catalog.chunk("no-such-chunk") is None

    async def test_a_documents_text_is_given_back(self, catalog: Catalog) -> None:
        assert await catalog.document_text("docs/page.md") == document().text
        with pytest.raises(UnknownDocument, match="nowhere"):
            await catalog.document_text("docs/nowhere.md")

    async def test_a_document_is_given_back_whole(self, catalog: WholeCatalog) -> None:
        assert await catalog.whole_document("docs/page.md") == document()
        with pytest.raises(UnknownDocument, match="nowhere"):
            await catalog.whole_document("docs/nowhere.md")

    async def test_documents_come_in_order_with_their_chunk_counts(self, catalog: Catalog) -> None:
        assert [(d.source_path, d.chunks) for d in await catalog.documents()] == [
            ("docs/a.md", 2),
            ("docs/empty.md", 0),
            ("docs/page.md", 3),
        ]
        page = document()
        assert await catalog.document("docs/page.md") == DocumentRecord(
            page.source_path,
            page.url,
            page.slug,
            page.title,
            page.content_hash,
            page.validator,
            3,
            page.attributes,
        )
        assert await catalog.document("docs/none.md") is None

    async def test_documents_are_listed_in_parts(self, store: CatalogStore) -> None:
        writer = await store.create(ONE, None)
        paths = ["docs/Z.md", "docs/a b.md", "docs/a-b.md", "docs/a.md", "docs/ä.md", "docs/😀.md"]
        for path in reversed(paths):
            await writer.put(document(path), [])
        await writer.finish()
        catalog = await store.open(ONE)

        async def listed(after: str | None, limit: int | None) -> list[str]:
            return [found.source_path for found in await catalog.documents(after, limit)]

        assert await listed(None, None) == sorted(paths)
        assert await listed(None, 2) == sorted(paths)[:2]
        assert await listed(sorted(paths)[1], 3) == sorted(paths)[2:5]
        assert await listed("docs/a", 1) == ["docs/a b.md"], "it need not be there"
        assert await listed(sorted(paths)[4], None) == sorted(paths)[5:]
        assert await listed(sorted(paths)[5], 5) == []
        assert await listed(None, 0) == []
        await catalog.close()

    async def test_all_chunks_come_by_path_and_position(self, catalog: Catalog) -> None:
        assert [r.chunk.id async for r in catalog.chunks()] == [
            "chunk-7",
            "chunk-8",
            "chunk-0",
            "chunk-1",
            "chunk-2",
        ]
        assert [r.chunk.id for r in await catalog.document_chunks("docs/a.md")] == [
            "chunk-7",
            "chunk-8",
        ]
        assert await catalog.document_chunks("docs/none.md") == []

    async def test_many_chunks_are_all_listed_once(self, store: CatalogStore) -> None:
        writer = await store.create(ONE, None)
        await writer.put(document(), [record(number) for number in range(1000)])
        assert await writer.finish() == 1000
        catalog = await store.open(ONE)
        listed = [r.chunk.position async for r in catalog.chunks()]
        assert listed == list(range(1000))
        await catalog.close()

    async def test_a_copy_takes_changes_and_the_original_does_not(
        self, store: CatalogStore, catalog: Catalog
    ) -> None:
        writer = await store.create(TWO, ONE)
        assert await writer.total_terms() == 2 + 2 + 2 + 1 + 1
        await writer.put(document(text="new"), [record(1, "new")])
        await writer.remove("docs/a.md")
        await writer.remove("docs/none.md")
        assert [r.chunk.id for r in await writer.document_chunks("docs/page.md")] == ["chunk-1"]
        assert await writer.total_terms() == 1
        assert await writer.finish() == 1
        copy = await store.open(TWO)
        assert (await catalog.count(), await copy.count()) == (5, 1)
        assert [d.source_path for d in await copy.documents()] == ["docs/empty.md", "docs/page.md"]
        await copy.close()

    async def test_a_generation_counts_once_it_is_sealed_and_is_current_once_pointed_to(
        self, store: CatalogStore
    ) -> None:
        assert await store.current("docs") is None
        assert await store.next_ref("docs") == ONE
        await build(store)
        assert await store.unfinished("docs") == [ONE]
        assert await store.manifests("docs") == []
        assert await store.next_ref("docs") == TWO
        with pytest.raises(UnknownGeneration):
            await store.point_to(ONE)
        await store.seal(manifest(ONE))
        assert await store.unfinished("docs") == []
        sealed = await store.manifest(ONE)
        assert replace(sealed, checksums=()) == manifest(ONE), "a store adds its own lists"
        assert await store.manifests("docs") == [sealed]
        assert await store.complete("docs") == [ONE]
        assert await store.current("docs") is None
        assert await store.collections() == []
        await store.point_to(ONE)
        assert await store.current("docs") == 1
        assert await store.collections() == ["docs"]

    async def test_it_is_distinguished_from_others_and_stays_the_same(
        self, store: CatalogStore
    ) -> None:
        identity = await store.identity()
        await build(store)
        assert await store.identity() == identity
        assert int(identity, 16) > 0

    async def test_sealing_again_replaces_the_manifest(self, store: CatalogStore) -> None:
        await build(store)
        rate = Rate(1, 20, 0.01, 0.2)
        threshold = Threshold(0.6, 40.0, rate, rate, 1.0, "golden.yaml", "abc", NOW, 3)
        failed = FailedTest("t", "Wie groß?", "failed", "outranked", "9th")
        gate = GateResult(1, "golden.yaml", 4, "fail", held=True, failed=(failed,))
        await store.seal(manifest(ONE))
        await store.seal(replace(manifest(ONE), threshold=threshold, gate=gate))
        again = await store.manifest(ONE)
        assert (again.threshold, again.gate) == (threshold, gate)
        assert await store.complete("docs") == [ONE]

    async def test_what_is_dropped_is_gone(self, store: CatalogStore) -> None:
        await build(store)
        await store.seal(manifest(ONE))
        await store.drop(ONE)
        await store.drop(ONE)
        assert await store.manifests("docs") == []
        assert await store.unfinished("docs") == []
        with pytest.raises(UnknownGeneration):
            await store.manifest(ONE)

    async def test_an_abandoned_catalog_stays_unfinished(self, store: CatalogStore) -> None:
        writer = await store.create(ONE, None)
        await writer.put(document(), [record(0)])
        await writer.abandon()
        assert await store.unfinished("docs") == [ONE]


class TestMemoryCatalog(CatalogContract):
    @pytest.fixture
    def store(self) -> CatalogStore:
        return MemoryCatalogStore()


class TestPostgres(CatalogContract):
    """What it does in addition is in test_postgres.py."""

    @pytest.fixture
    async def store(self, postgres: PostgresService, schema: str) -> AsyncIterator[CatalogStore]:
        store = PostgresCatalogStore(Database(postgres.url, schema))
        yield store
        await store.close()


class TestSqlite(CatalogContract):
    @pytest.fixture
    def store(self, folder: DataFolder) -> CatalogStore:
        return SqliteCatalogStore(folder)

    async def test_only_one_may_write_and_the_other_names_the_writer(
        self, store: CatalogStore, folder: DataFolder
    ) -> None:
        other = SqliteCatalogStore(folder)
        async with store.writing("ingest"):
            with pytest.raises(StoreBusy, match=r"another `surefind ingest` \(process \d+"):
                async with other.writing("ingest"):
                    pytest.fail("two writers at once")
        async with other.writing("ingest"):
            assert folder.root.exists()

    async def test_a_damaged_catalog_is_a_store_error_with_advice(
        self, store: CatalogStore, folder: DataFolder
    ) -> None:
        await build(store)
        (folder.generation(ONE) / "catalog.sqlite").write_bytes(b"no database" * 1000)
        with pytest.raises(StoreError, match="rollback"):
            await store.open(ONE)

    async def test_a_damaged_manifest_and_pointer_are_store_errors(
        self, store: CatalogStore, folder: DataFolder
    ) -> None:
        await build(store)
        await store.seal(manifest(ONE))
        await store.point_to(ONE)
        (folder.generation(ONE) / "manifest.json").write_text('{"collection": 5}')
        with pytest.raises(StoreError, match="is damaged"):
            await store.manifest(ONE)
        assert await store.complete("docs") == [ONE]
        (folder.generation(ONE) / "manifest.json").unlink()
        (folder.generation(ONE) / "manifest.json").mkdir()
        with pytest.raises(StoreError, match="can't be read"):
            await store.manifest(ONE)
        (folder.collection("docs") / "CURRENT").write_text("")
        with pytest.raises(StoreError, match="rollback --to"):
            await store.current("docs")

    @pytest.mark.parametrize("name", ["", "..", "a/b", "UPPER", "-x", "a" * 64, "ü"])
    async def test_a_name_that_could_leave_the_folder_is_refused(
        self, store: CatalogStore, name: str
    ) -> None:
        with pytest.raises(InputError, match="invalid collection name"):
            await store.current(name)

    async def test_what_the_file_system_refuses_is_a_store_error(
        self, store: CatalogStore, folder: DataFolder
    ) -> None:
        (folder.root / "collections").write_text("in the way")
        with pytest.raises(StoreError, match="collections"):
            await store.create(ONE, None)
