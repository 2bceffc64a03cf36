"""What the doctor sees on both sides, and puts right."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import MemoryCatalogStore, MemoryIndexStore, WordEmbedder
from surefind.adapters.layout import DataFolder
from surefind.errors import EmbeddingError, StoreError
from surefind.model import GenerationRef
from surefind.ports import StoreFacts, Vector
from surefind.services.building import Progress
from surefind.services.doctor import Doctor, Examination, Gravity, Remedy, Repair
from surefind.services.embedding import CachedEmbedder
from surefind.services.lexical import TermReader
from unit.installation import PAGES, Installation

ONE = GenerationRef("docs", 1)


def quiet(_: Progress) -> None:
    pass


def doctor(home: Installation, embedder: WordEmbedder | None = None) -> Doctor:
    cached = CachedEmbedder(embedder or home.embedder, None)

    async def given() -> CachedEmbedder:
        return cached

    return Doctor(home.index, home.catalogs, given, home.terms, "test")


def told(examination: Examination, gravity: Gravity) -> list[str]:
    return [one.message for one in examination.findings if one.gravity is gravity]


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
    assert {one.gravity for one in seen.findings} == {Gravity.FINE}
    assert [(side.ref, side.cataloged, side.indexed, side.current) for side in seen.sides] == [
        (ONE, "complete", True, True)
    ]
    assert any("generation 1 is whole: 3 pages" in one.message for one in seen.findings)


async def test_nothing_ingested_yet_is_no_problem(tmp_path: Path) -> None:
    seen = await doctor(Installation(tmp_path)).examine()
    assert (seen.sound, seen.sides) == (True, ())


async def test_a_missing_index_is_built_anew_and_the_broken_generation_goes(
    home: Installation,
) -> None:
    before = await home.texts()
    await home.readers.close()
    shutil.rmtree(index_folder(home, ONE))
    seen = await doctor(home).examine()
    assert told(seen, Gravity.PROBLEM) == [
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
    seen = await doctor(home).examine()
    [problem] = told(seen, Gravity.PROBLEM)
    assert "the index holds 4 points for the 5 chunks" in problem
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

    class Rules(TermReader):
        def __init__(self) -> None: ...

    looked = Doctor(index, catalogs, given, Rules(), "test")
    seen = await looked.examine()
    [warning] = told(seen, Gravity.WARNING)
    assert "generation 4 that the catalog does not know" in warning
    await looked.repair(seen.repairs[0], quiet)
    assert not index.generations


async def test_what_readers_see_by_now_is_not_dropped(home: Installation) -> None:
    with pytest.raises(StoreError, match="is what readers see by now"):
        await doctor(home).repair(Repair(Remedy.DROP, ONE), quiet)
    assert (await home.search("installer")).hits


async def test_another_embedder_and_other_rules_are_told(home: Installation) -> None:
    seen = await doctor(home, WordEmbedder(48)).examine()
    [problem] = told(seen, Gravity.PROBLEM)
    assert "configure the one that made it" in problem
    with pytest.raises(StoreError, match="configure the one that made it"):
        await doctor(home, WordEmbedder(48)).repair(Repair(Remedy.REBUILD, ONE), quiet)
    manifest = await home.catalogs.manifest(ONE)
    await home.catalogs.seal(
        replace(manifest, lexical=replace(manifest.lexical, analyzer="older rules"))
    )
    seen = await doctor(home).examine()
    assert seen.sound
    assert any("older rules" in warning for warning in told(seen, Gravity.WARNING))


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
    assert any("the catalog is away" in one.message for one in seen.findings)


async def test_a_catalog_that_lost_chunks_is_no_thing_to_repair(home: Installation) -> None:
    manifest = await home.catalogs.manifest(ONE)
    await home.catalogs.seal(replace(manifest, chunks=6))
    seen = await doctor(home).examine()
    assert told(seen, Gravity.PROBLEM) == [
        "the catalog holds 5 of the 6 chunks of generation 1; roll back, or ingest again with "
        "--rebuild"
    ]
    assert not seen.repairs
    (DataFolder(home.root).generation(ONE) / "manifest.json").write_text("{")
    assert "is damaged" in told(await doctor(home).examine(), Gravity.PROBLEM)[0]


@pytest.mark.parametrize(("ahead_s", "word"), [(120.0, "ahead of"), (-3600.0, "behind")])
async def test_clocks_that_are_apart_are_told(
    home: Installation, ahead_s: float, word: str
) -> None:
    class Late(MemoryIndexStore):
        async def facts(self) -> StoreFacts:
            return StoreFacts("a server", "1.18", ("it is nearly full",), ahead_s)

    looked = Doctor(Late(), home.catalogs, doctor(home)._embedder, home.terms, "test")
    warnings = told(await looked.examine(), Gravity.WARNING)
    assert "it is nearly full" in warnings
    assert any(f"{abs(ahead_s):.0f} s {word} this machine's" in one for one in warnings)
