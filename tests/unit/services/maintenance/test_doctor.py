"""What the doctor sees on both sides, and puts right."""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore, WordEmbedder
from surefind.adapters.catalog_rows import written_manifest
from surefind.adapters.files.data_folder import DataFolder
from surefind.errors import EmbeddingError, StoreError
from surefind.model import GenerationRef
from surefind.ports import StoreFacts, Vector
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.index_building import Progress
from surefind.services.maintenance.doctor import CheckSeverity, Doctor, Examination, Remedy, Repair
from unit.installation import PAGES, Installation

ONE = GenerationRef("docs", 1)


def quiet(_: Progress) -> None:
    pass


def doctor(home: Installation, embedder: WordEmbedder | None = None) -> Doctor:
    cached = CachedEmbedder(embedder or home.embedder, None)

    async def given() -> CachedEmbedder:
        return cached

    return Doctor(home.index, home.catalogs, given, home.terms, "test")


def told(examination: Examination, severity: CheckSeverity) -> list[str]:
    return [one.message for one in examination.findings if one.severity is severity]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path)
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def index_folder(home: Installation, ref: GenerationRef) -> Path:
    return DataFolder(home.root).generation(ref) / "index"


async def test_a_sound_installation_is_told_so(home: Installation) -> None:
    seen = await doctor(home).examine()
    assert seen.sound
    assert not seen.away
    assert not seen.repairs
    assert {one.severity for one in seen.findings} == {CheckSeverity.FINE}
    assert [(side.ref, side.cataloged, side.indexed, side.current) for side in seen.sides] == [
        (ONE, "complete", True, True)
    ]
    assert any("generation 1 is whole: 3 pages" in one.message for one in seen.findings)


async def test_nothing_ingested_yet_is_no_problem(tmp_path: Path) -> None:
    seen = await doctor(Installation(tmp_path)).examine()
    assert (seen.sound, seen.sides) == (True, ())


async def remove_checksums(home: Installation, ref: GenerationRef) -> None:
    """As an earlier surefind has left it: no lists of checksums, and none in the manifest."""
    manifest = await home.catalogs.manifest(ref)
    path = DataFolder(home.root).generation(ref) / "manifest.json"
    path.write_text(written_manifest(replace(manifest, checksums=())))
    for checksums in DataFolder(home.root).generation(ref).glob("*.checksums"):
        checksums.unlink()


async def test_a_missing_index_is_built_anew_and_the_broken_generation_goes(
    home: Installation,
) -> None:
    before = await home.texts()
    await home.readers.close()
    shutil.rmtree(index_folder(home, ONE))
    seen = await doctor(home).examine()
    assert told(seen, CheckSeverity.PROBLEM) == [
        "the index of generation 1, which readers see, is missing"
    ]
    assert seen.repairs == [Repair(Remedy.REBUILD, ONE)]
    for repair in seen.repairs:
        await doctor(home).repair(repair, quiet)
    after = await doctor(home).examine()
    assert after.sound
    assert [(side.ref.number, side.current) for side in after.sides] == [(2, True)]
    assert await home.texts() == before
    assert (await home.search("installer")).hits[0].record.chunk.source_path == "docs/guide/a.md"


async def test_an_index_that_lost_points_is_built_anew(home: Installation) -> None:
    await home.readers.close()
    writer = await home.index.create(GenerationRef("docs", 9), 32, ONE)
    record = (await (await home.catalogs.open(ONE)).document_chunks("docs/index.md"))[0]
    await writer.delete([record.chunk.point_id])
    await writer.finish()
    shutil.rmtree(index_folder(home, ONE))
    index_folder(home, GenerationRef("docs", 9)).rename(index_folder(home, ONE))
    await remove_checksums(home, ONE)
    seen = await doctor(home).examine()
    [problem] = told(seen, CheckSeverity.PROBLEM)
    assert f"the index does not hold {record.chunk.id}" in problem
    quick = await doctor(home).examine(quick=True)
    assert told(quick, CheckSeverity.PROBLEM) == [
        "the index holds 4 points for the 5 chunks of generation 1"
    ]
    assert quick.repairs[0] == seen.repairs[0] == Repair(Remedy.REBUILD, ONE)
    await doctor(home).repair(seen.repairs[0], quiet)
    assert (await doctor(home).examine()).sound


async def test_what_died_and_what_nobody_knows_is_dropped_and_nothing_else(
    home: Installation,
) -> None:
    await home.ingest({**PAGES, "new.md": "# New\n\nmore"})
    shutil.rmtree(index_folder(home, ONE))
    await home.catalogs.create(GenerationRef("docs", 7), None)
    orphan = GenerationRef("lost", 3)
    await (await home.index.create(orphan, 32, None)).finish()
    seen = await doctor(home).examine()
    assert seen.sound, "readers see what they should"
    assert set(seen.repairs) == {
        Repair(Remedy.DROP, GenerationRef("docs", 7)),
        Repair(Remedy.DROP, ONE),
        Repair(Remedy.DROP, orphan),
    }
    for repair in seen.repairs:
        await doctor(home).repair(repair, quiet)
    after = await doctor(home).examine()
    assert [(side.ref.number, side.current) for side in after.sides] == [(2, True)]
    assert not after.repairs


async def test_the_catalogs_side_of_a_mismatch_is_an_unknown_generation() -> None:
    """In stores that do not share a folder an index may outlive its catalog."""
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    await index.create(GenerationRef("docs", 4), 32, None)
    cached = CachedEmbedder(WordEmbedder(), None)

    async def given() -> CachedEmbedder:
        return cached

    class Rules(Bm25Encoder):
        def __init__(self) -> None: ...

    looked = Doctor(index, catalogs, given, Rules(), "test")
    seen = await looked.examine()
    [warning] = told(seen, CheckSeverity.WARNING)
    assert "generation 4 that the catalog does not know" in warning
    await looked.repair(seen.repairs[0], quiet)
    assert not index.generations


async def test_what_readers_see_by_now_is_not_dropped(home: Installation) -> None:
    with pytest.raises(StoreError, match="is what readers see by now"):
        await doctor(home).repair(Repair(Remedy.DROP, ONE), quiet)
    assert (await home.search("installer")).hits


async def test_another_embedder_and_other_rules_are_told(home: Installation) -> None:
    seen = await doctor(home, WordEmbedder(48)).examine()
    [problem] = told(seen, CheckSeverity.PROBLEM)
    assert "configure the one that made it" in problem
    with pytest.raises(StoreError, match="configure the one that made it"):
        await doctor(home, WordEmbedder(48)).repair(Repair(Remedy.REBUILD, ONE), quiet)
    manifest = await home.catalogs.manifest(ONE)
    await home.catalogs.seal(
        replace(manifest, lexical=replace(manifest.lexical, analyzer="older rules"))
    )
    seen = await doctor(home).examine()
    assert seen.sound
    assert any("older rules" in warning for warning in told(seen, CheckSeverity.WARNING))


async def test_what_is_away_is_told_and_the_rest_is_looked_at(home: Installation) -> None:
    class Mute(WordEmbedder):
        async def embed_query(self, query: str) -> Vector:
            raise EmbeddingError("nobody answers; start the service")

    seen = await doctor(home, Mute()).examine()
    assert (seen.away, seen.sound) == (True, False)
    assert any("is whole" in one.message for one in seen.findings)
    away = Doctor(
        home.index, MemoryCatalogStore(away=True), doctor(home)._embedder, home.terms, "test"
    )
    seen = await away.examine()
    assert (seen.away, seen.sides) == (True, ())
    assert any("the catalog is unavailable" in one.message for one in seen.findings)


async def test_a_catalog_that_lost_chunks_is_no_thing_to_repair(home: Installation) -> None:
    manifest = await home.catalogs.manifest(ONE)
    await home.catalogs.seal(replace(manifest, chunks=6))
    seen = await doctor(home).examine()
    assert told(seen, CheckSeverity.PROBLEM) == [
        "the catalog of docs--0001 has 3 pages and 5 chunks, its manifest says 3 and 6; "
        "`surefind ingest` builds it again from the sources"
    ]
    assert not seen.repairs
    (DataFolder(home.root).generation(ONE) / "manifest.json").write_text("{")
    assert "is damaged" in told(await doctor(home).examine(), CheckSeverity.PROBLEM)[0]


@pytest.mark.parametrize(("ahead_s", "word"), [(120.0, "ahead of"), (-3600.0, "behind")])
async def test_clocks_that_are_apart_are_told(
    home: Installation, ahead_s: float, word: str
) -> None:
    class Late(MemoryIndexStore):
        async def facts(self) -> StoreFacts:
            return StoreFacts("a server", "1.18", ("it is nearly full",), ahead_s)

    looked = Doctor(Late(), home.catalogs, doctor(home)._embedder, home.terms, "test")
    warnings = told(await looked.examine(), CheckSeverity.WARNING)
    assert "it is nearly full" in warnings
    assert any(f"{abs(ahead_s):.0f} s {word} this machine's" in one for one in warnings)


@pytest.mark.parametrize("content", ["junk", None])
async def test_a_pointer_that_is_damaged_or_lost_is_written_again(
    home: Installation, content: str | None
) -> None:
    pointer = home.root / "collections" / "docs" / "CURRENT"
    pointer.unlink()
    if content is not None:
        pointer.write_text(content)
    seen = await doctor(home).examine()
    assert not seen.sound
    assert seen.repairs == [Repair(Remedy.PUBLISH, ONE)]
    await doctor(home).repair(seen.repairs[0], quiet)
    assert (await doctor(home).examine()).sound
    assert (await home.search("installer")).hits


async def test_a_store_of_an_earlier_surefind_is_compared_by_its_contents(
    home: Installation,
) -> None:
    folder = DataFolder(home.root).generation(ONE)
    await remove_checksums(home, ONE)
    seen = await doctor(home).examine()
    assert any("texts and vectors of 5 passages read" in one.message for one in seen.findings)
    catalog = folder / "catalog.sqlite"
    catalog.write_bytes(catalog.read_bytes().replace(b"run the installer", b"ruN the installer"))
    [problem] = told(await doctor(home).examine(), CheckSeverity.PROBLEM)
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
    seen = await doctor(home).examine(quick=quick)
    [problem] = told(seen, CheckSeverity.PROBLEM)
    assert "its manifest says 3 and 5; `surefind ingest` builds it again" in problem
    assert not seen.repairs
    assert (await home.ingest(PAGES)).published
    after = await doctor(home).examine()
    assert (after.sound, await home.texts()) == (True, before)


async def test_an_earlier_generation_that_lost_rows_is_not_whole(home: Installation) -> None:
    await home.ingest({**PAGES, "new.md": "# New"})
    await remove_checksums(home, ONE)
    alter_catalog(home, LOSE_CHUNK)
    seen = await doctor(home).examine()
    assert (seen.sound, seen.repairs) == (True, [Repair(Remedy.DROP, ONE)])


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
    seen = await doctor(home).examine()
    [problem] = told(seen, CheckSeverity.PROBLEM)
    assert "`surefind ingest` builds it again from the sources" in problem
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
    with pytest.raises(StoreError, match=r"it is missing.*`surefind ingest` builds it again"):
        await open_it(ONE)
    [problem] = told(await doctor(home).examine(), CheckSeverity.PROBLEM)
    assert str(path) in problem
    await home.ingest(PAGES)
    assert (await doctor(home).examine()).sound
    assert await home.texts() == before


async def test_sealing_again_does_not_forget_a_list_of_checksums_that_was_lost(
    home: Installation,
) -> None:
    (DataFolder(home.root).generation(ONE) / "index.checksums").unlink()
    await home.catalogs.seal(replace(await home.catalogs.manifest(ONE), checksums=()))
    assert "index.checksums" in (await home.catalogs.manifest(ONE)).checksums
    assert not (await doctor(home).examine()).sound


async def test_a_lost_manifest_of_what_readers_see_is_reported(home: Installation) -> None:
    (DataFolder(home.root).generation(ONE) / "manifest.json").unlink()
    problems = told(await doctor(home).examine(), CheckSeverity.PROBLEM)
    assert any("the manifest of generation 1, which readers see, is missing" in p for p in problems)
    await home.ingest(PAGES)
    assert (await doctor(home).examine()).sound
