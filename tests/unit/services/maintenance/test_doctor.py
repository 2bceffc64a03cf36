"""The doctor compares catalog and index, and repairs what differs."""

import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore, WordEmbedder
from surefind.adapters.catalog_rows import written_manifest
from surefind.adapters.files.data_folder import DataFolder
from surefind.errors import EmbeddingError, StoreChanged, StoreError
from surefind.model import GenerationRef, Replication
from surefind.ports import StoreFacts, Vector
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.index_building import Progress
from surefind.services.generations.integrity import require_complete
from surefind.services.maintenance.doctor_examination import Examiner
from surefind.services.maintenance.doctor_findings import (
    CheckSeverity,
    Examination,
    Remedy,
    Repair,
)
from surefind.services.maintenance.doctor_repair import Repairer
from unit.installation import PAGES, Installation

ONE = GenerationRef("docs", 1)


def quiet(_: Progress) -> None:
    pass


def opening(embedder: WordEmbedder) -> Callable[[], Awaitable[CachedEmbedder]]:
    cached = CachedEmbedder(embedder, None)

    async def opened() -> CachedEmbedder:
        return cached

    return opened


def examiner(home: Installation, embedder: WordEmbedder | None = None) -> Examiner:
    opened = opening(embedder or home.embedder)
    return Examiner(home.index, home.catalogs, opened, home.terms.name)


def repairer(home: Installation, embedder: WordEmbedder | None = None) -> Repairer:
    opened = opening(embedder or home.embedder)
    return Repairer(home.index, home.catalogs, opened, home.terms, "test")


def messages(examination: Examination, severity: CheckSeverity) -> list[str]:
    return [finding.message for finding in examination.findings if finding.severity is severity]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path)
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def index_folder(home: Installation, ref: GenerationRef) -> Path:
    return DataFolder(home.root).generation(ref) / "index"


async def test_a_sound_installation_has_no_problems(home: Installation) -> None:
    seen = await examiner(home).examine()
    assert seen.sound
    assert not seen.unavailable
    assert not seen.repairs
    assert {one.severity for one in seen.findings} == {CheckSeverity.FINE}
    assert [
        (state.ref, state.cataloged, state.indexed, state.current) for state in seen.generations
    ] == [(ONE, "complete", True, True)]
    assert any("generation 1 is intact: 3 pages" in one.message for one in seen.findings)


async def test_an_empty_installation_is_sound(tmp_path: Path) -> None:
    seen = await examiner(Installation(tmp_path)).examine()
    assert (seen.sound, seen.generations) == (True, ())


async def remove_checksums(home: Installation, ref: GenerationRef) -> None:
    """As an earlier surefind has left it: no lists of checksums, and none in the manifest."""
    manifest = await home.catalogs.manifest(ref)
    path = DataFolder(home.root).generation(ref) / "manifest.json"
    path.write_text(written_manifest(replace(manifest, checksums=())))
    for checksums in DataFolder(home.root).generation(ref).glob("*.checksums"):
        checksums.unlink()


async def test_a_missing_index_is_rebuilt_as_a_new_generation(
    home: Installation,
) -> None:
    before = await home.texts()
    await home.readers.close()
    shutil.rmtree(index_folder(home, ONE))
    seen = await examiner(home).examine()
    assert messages(seen, CheckSeverity.PROBLEM) == [
        "the index of the published generation 1 is missing"
    ]
    assert seen.repairs == [Repair(Remedy.REBUILD, ONE)]
    for repair in seen.repairs:
        await repairer(home).repair(repair, quiet)
    after = await examiner(home).examine()
    assert after.sound
    assert [(state.ref.number, state.current) for state in after.generations] == [(2, True)]
    assert await home.texts() == before
    assert (await home.search("installer")).hits[0].record.chunk.source_path == "docs/guide/a.md"


async def test_an_index_that_lost_points_is_rebuilt(home: Installation) -> None:
    await home.readers.close()
    writer = await home.index.create(GenerationRef("docs", 9), 32, ONE)
    record = (await (await home.catalogs.open(ONE)).document_chunks("docs/index.md"))[0]
    await writer.delete([record.chunk.point_id])
    await writer.finish()
    shutil.rmtree(index_folder(home, ONE))
    index_folder(home, GenerationRef("docs", 9)).rename(index_folder(home, ONE))
    await remove_checksums(home, ONE)
    seen = await examiner(home).examine()
    [problem] = messages(seen, CheckSeverity.PROBLEM)
    assert f"the index lacks chunk {record.chunk.id}" in problem
    quick = await examiner(home).examine(quick=True)
    assert messages(quick, CheckSeverity.PROBLEM) == [
        "the index holds 4 points for the 5 chunks of generation 1"
    ]
    assert quick.repairs[0] == seen.repairs[0] == Repair(Remedy.REBUILD, ONE)
    await repairer(home).repair(seen.repairs[0], quiet)
    assert (await examiner(home).examine()).sound


async def test_only_unfinished_and_orphaned_generations_are_dropped(
    home: Installation,
) -> None:
    await home.ingest({**PAGES, "new.md": "# New\n\nmore"})
    shutil.rmtree(index_folder(home, ONE))
    await home.catalogs.create(GenerationRef("docs", 7), None)
    orphan = GenerationRef("lost", 3)
    await (await home.index.create(orphan, 32, None)).finish()
    seen = await examiner(home).examine()
    assert seen.sound, "readers see what they should"
    assert set(seen.repairs) == {
        Repair(Remedy.DROP, GenerationRef("docs", 7)),
        Repair(Remedy.DROP, ONE),
        Repair(Remedy.DROP, orphan),
    }
    for repair in seen.repairs:
        await repairer(home).repair(repair, quiet)
    after = await examiner(home).examine()
    assert [(state.ref.number, state.current) for state in after.generations] == [(2, True)]
    assert not after.repairs


async def test_an_index_without_a_catalog_is_dropped() -> None:
    """In stores that do not share a folder an index may outlive its catalog."""
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    await index.create(GenerationRef("docs", 4), 32, None)
    opened = opening(WordEmbedder())

    class NoTerms(Bm25Encoder):
        def __init__(self) -> None: ...

    seen = await Examiner(index, catalogs, opened, "no terms").examine()
    [warning] = messages(seen, CheckSeverity.WARNING)
    assert "generation 4 that is missing from the catalog" in warning
    await Repairer(index, catalogs, opened, NoTerms(), "test").repair(seen.repairs[0], quiet)
    assert not index.generations


async def test_the_published_generation_is_not_dropped(home: Installation) -> None:
    with pytest.raises(StoreError, match="has been published since it was examined"):
        await repairer(home).repair(Repair(Remedy.DROP, ONE), quiet)
    assert (await home.search("installer")).hits


async def test_another_embedder_or_analyzer_is_reported(home: Installation) -> None:
    seen = await examiner(home, WordEmbedder(48)).examine()
    [problem] = messages(seen, CheckSeverity.PROBLEM)
    assert "configure the original embedder" in problem
    with pytest.raises(StoreError, match="configure the original embedder"):
        await repairer(home, WordEmbedder(48)).repair(Repair(Remedy.REBUILD, ONE), quiet)
    manifest = await home.catalogs.manifest(ONE)
    await home.catalogs.seal(
        replace(manifest, lexical=replace(manifest.lexical, analyzer="older rules"))
    )
    seen = await examiner(home).examine()
    assert seen.sound
    assert any("older rules" in warning for warning in messages(seen, CheckSeverity.WARNING))


async def test_an_unavailable_part_does_not_stop_the_other_checks(home: Installation) -> None:
    class Mute(WordEmbedder):
        async def embed_query(self, query: str) -> Vector:
            raise EmbeddingError("nobody answers; start the service")

    seen = await examiner(home, Mute()).examine()
    assert (seen.unavailable, seen.sound) == (True, False)
    assert any("is intact" in one.message for one in seen.findings)
    catalogs = MemoryCatalogStore(away=True)
    opened = opening(home.embedder)
    seen = await Examiner(home.index, catalogs, opened, home.terms.name).examine()
    assert (seen.unavailable, seen.generations) == (True, ())
    assert any("the catalog is unavailable" in one.message for one in seen.findings)


async def test_a_catalog_that_lost_chunks_needs_an_ingest(home: Installation) -> None:
    manifest = await home.catalogs.manifest(ONE)
    await home.catalogs.seal(replace(manifest, chunks=6))
    seen = await examiner(home).examine()
    assert messages(seen, CheckSeverity.PROBLEM) == [
        "the catalog of docs--0001 has 3 pages and 5 chunks, but its manifest says 3 and 6; "
        "rebuild it from the sources with `surefind ingest`"
    ]
    assert not seen.repairs
    (DataFolder(home.root).generation(ONE) / "manifest.json").write_text("{")
    assert "is damaged" in messages(await examiner(home).examine(), CheckSeverity.PROBLEM)[0]


@pytest.mark.parametrize(("ahead_s", "word"), [(120.0, "ahead of"), (-3600.0, "behind")])
async def test_clock_skew_is_reported(home: Installation, ahead_s: float, word: str) -> None:
    class Late(MemoryIndexStore):
        async def facts(self) -> StoreFacts:
            return StoreFacts("a server", "1.18", ("it is nearly full",), ahead_s)

    late = Examiner(Late(), home.catalogs, opening(home.embedder), home.terms.name)
    warnings = messages(await late.examine(), CheckSeverity.WARNING)
    assert "it is nearly full" in warnings
    assert any(f"{abs(ahead_s):.0f} s {word} this machine's" in one for one in warnings)


async def test_missing_replicas_are_reported(tmp_path: Path) -> None:
    home = Installation(tmp_path)
    home.index = cluster = MemoryIndexStore()
    await home.ingest(PAGES)
    cluster.replicas = Replication(2, (2, 2))
    healthy = await examiner(home).examine()
    fine = "generation 1 has 2 shards, 2 active replicas each"
    assert fine in messages(healthy, CheckSeverity.FINE)
    cluster.replicas = Replication(2, (2, 1), ("shard 1 at http://b:6335: Dead",))
    [missing] = messages(await examiner(home).examine(), CheckSeverity.WARNING)
    assert missing.startswith("generation 1 has 1 of 2 shards with fewer than 2 active replicas")
    assert missing.endswith("bring the missing nodes back, and the server restores the replicas")

    class Unseen(MemoryIndexStore):
        async def replication(self, ref: GenerationRef) -> Replication | None:
            raise StoreError(f"{ref} can't be seen")

    unseen = Unseen()
    unseen.generations = cluster.generations
    home.index = unseen
    [unknown] = messages(await examiner(home).examine(), CheckSeverity.WARNING)
    assert unknown == "the replicas of generation 1 can't be checked: docs--0001 can't be seen"
    await home.close()


@pytest.mark.parametrize("content", ["junk", None])
async def test_a_damaged_or_lost_pointer_is_rewritten(
    home: Installation, content: str | None
) -> None:
    pointer = home.root / "collections" / "docs" / "CURRENT"
    pointer.unlink()
    if content is not None:
        pointer.write_text(content)
    seen = await examiner(home).examine()
    assert not seen.sound
    assert seen.repairs == [Repair(Remedy.PUBLISH, ONE)]
    await repairer(home).repair(seen.repairs[0], quiet)
    assert (await examiner(home).examine()).sound
    assert (await home.search("installer")).hits


async def test_a_store_of_an_earlier_surefind_is_compared_by_its_contents(
    home: Installation,
) -> None:
    folder = DataFolder(home.root).generation(ONE)
    await remove_checksums(home, ONE)
    seen = await examiner(home).examine()
    assert any(
        "texts and vectors of all 5 chunks were compared" in one.message for one in seen.findings
    )
    catalog = folder / "catalog.sqlite"
    catalog.write_bytes(catalog.read_bytes().replace(b"run the installer", b"ruN the installer"))
    [problem] = messages(await examiner(home).examine(), CheckSeverity.PROBLEM)
    assert "its text does not match its hash" in problem
    found = (await home.search("installer")).hits[0].record.chunk.text
    assert "run the installer" in found, "the index stands in for it"


LOSE_CHUNK = "DELETE FROM chunk WHERE chunk_id = (SELECT max(chunk_id) FROM chunk)"


@pytest.mark.parametrize(
    "statement", [LOSE_CHUNK, "DELETE FROM document WHERE source_path = 'docs/index.md'"]
)
@pytest.mark.parametrize("quick", [True, False])
async def test_a_catalog_without_checksums_that_lost_rows_is_healed_by_an_ingest(
    home: Installation, statement: str, *, quick: bool
) -> None:
    before = await home.texts()
    await home.readers.close()
    await remove_checksums(home, ONE)
    alter_catalog(home, statement)
    seen = await examiner(home).examine(quick=quick)
    [problem] = messages(seen, CheckSeverity.PROBLEM)
    assert "its manifest says 3 and 5; rebuild it from the sources" in problem
    assert not seen.repairs
    assert (await home.ingest(PAGES)).published
    after = await examiner(home).examine()
    assert (after.sound, await home.texts()) == (True, before)


async def test_an_earlier_generation_that_lost_rows_is_not_whole(home: Installation) -> None:
    await home.ingest({**PAGES, "new.md": "# New"})
    await remove_checksums(home, ONE)
    alter_catalog(home, LOSE_CHUNK)
    seen = await examiner(home).examine()
    assert (seen.sound, seen.repairs) == (True, [Repair(Remedy.DROP, ONE)])


async def test_a_rollback_does_not_return_to_a_generation_that_lost_rows(
    home: Installation,
) -> None:
    """Without checksums, only the numbers in the manifest show it."""
    await home.ingest({**PAGES, "new.md": "# New"})
    await remove_checksums(home, ONE)
    alter_catalog(home, LOSE_CHUNK)
    with pytest.raises(StoreChanged, match="has 3 pages and 4 chunks, but its manifest says 3"):
        await home.generations.rollback(1)
    assert await home.catalogs.current("docs") == 2


async def test_an_index_with_other_chunks_than_its_manifest_is_not_complete(
    home: Installation,
) -> None:
    await home.ingest({**PAGES, "new.md": "# New"})
    manifest = await home.catalogs.manifest(ONE)
    index, catalog = await home.index.open(GenerationRef("docs", 2)), await home.catalogs.open(ONE)
    with pytest.raises(StoreChanged, match="has 6 chunks, but its manifest says 5"):
        await require_complete(manifest, index, catalog)
    await index.close()
    await catalog.close()


def alter_catalog(home: Installation, statement: str) -> None:
    path = DataFolder(home.root).generation(ONE) / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as catalog, catalog:
        assert catalog.execute(statement).rowcount == 1


@pytest.mark.parametrize(
    ("file", "repaired"), [("catalog.sqlite", False), ("manifest.json", False), ("index", True)]
)
async def test_the_message_names_the_command_that_heals_the_damage(
    home: Installation, file: str, *, repaired: bool
) -> None:
    await home.readers.close()
    path = DataFolder(home.root).generation(ONE) / file
    if path.is_dir():
        [path] = path.rglob("chunk_0.mmap")
    path.write_bytes(b"junk" + path.read_bytes()[4:])
    seen = await examiner(home).examine()
    [problem] = messages(seen, CheckSeverity.PROBLEM)
    assert "`surefind ingest` rebuilds it from the sources" in problem
    assert ("doctor --repair" in problem, "can't be made" in problem) == (repaired, False)
    assert bool(seen.repairs) == repaired


async def test_a_damaged_generation_is_never_returned_to(home: Installation) -> None:
    await home.ingest({**PAGES, "new.md": "# New"})
    [vectors] = DataFolder(home.root).generation(ONE).rglob("chunk_0.mmap")
    with vectors.open("r+b") as stream:
        stream.write(b"\xff")
    with pytest.raises(StoreError, match="is damaged"):
        await home.generations.rollback()
    assert await home.generations.current() == 2


@pytest.mark.parametrize("name", ["index.checksums", "catalog.checksums"])
async def test_a_lost_list_of_checksums_is_damage(home: Installation, name: str) -> None:
    before = await home.texts()
    await home.readers.close()
    path = DataFolder(home.root).generation(ONE) / name
    path.unlink()
    open_it = home.index.open if name == "index.checksums" else home.catalogs.open
    with pytest.raises(StoreError, match=r"it is missing.*`surefind ingest` rebuilds it"):
        await open_it(ONE)
    [problem] = messages(await examiner(home).examine(), CheckSeverity.PROBLEM)
    assert str(path) in problem
    await home.ingest(PAGES)
    assert (await examiner(home).examine()).sound
    assert await home.texts() == before


async def test_sealing_again_does_not_forget_a_list_of_checksums_that_was_lost(
    home: Installation,
) -> None:
    (DataFolder(home.root).generation(ONE) / "index.checksums").unlink()
    await home.catalogs.seal(replace(await home.catalogs.manifest(ONE), checksums=()))
    assert "index.checksums" in (await home.catalogs.manifest(ONE)).checksums
    assert not (await examiner(home).examine()).sound


async def test_a_lost_manifest_of_what_readers_see_is_reported(home: Installation) -> None:
    (DataFolder(home.root).generation(ONE) / "manifest.json").unlink()
    problems = messages(await examiner(home).examine(), CheckSeverity.PROBLEM)
    assert any("the manifest of the published generation 1 is missing" in p for p in problems)
    await home.ingest(PAGES)
    assert (await examiner(home).examine()).sound
