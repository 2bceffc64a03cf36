"""What a dead run has left of a generation: gone on with, or removed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndex, MemoryIndexStore, WordEmbedder
from surefind.errors import GuardStopped
from surefind.model import EmbedderFingerprint, GenerationRef, LexicalSettings
from surefind.ports import UnfinishedIndex
from surefind.services.generations.resume import build_digest_of, left_behind
from unit.services.generations.mortal import CHANGED, ONE, PAGES, THREE, TWO, Home

NOW = datetime(2026, 5, 5, 12, tzinfo=UTC)
FINGERPRINT = EmbedderFingerprint("fake", "words", 32, "words-1", "")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "data")


async def test_a_dead_run_is_gone_on_with(home: Home) -> None:
    await home.dies(after=24)
    assert await home.catalogs.unfinished("docs") == [ONE]
    report = await home.ingest(PAGES)
    assert (report.generation, report.index_points, report.published) == (1, 40, True)
    assert home.points.written == 16
    assert len(await home.texts()) == 40
    assert await home.catalogs.unfinished("docs") == []


async def test_passages_are_dated_by_the_run_that_wrote_them(home: Home) -> None:
    await home.dies(after=24)
    begun = await home.index.begun(ONE)
    assert begun is not None
    await home.ingest(PAGES)
    catalog = await home.catalogs.open(ONE)
    assert {record.created_at async for record in catalog.chunks()} == {begun.at}
    assert (await home.catalogs.manifest(ONE)).created_at > begun.at


@pytest.mark.parametrize("why", ["another model", "much has changed"])
async def test_what_is_begun_anew_is_dated_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    pages = PAGES
    await home.dies(after=40)
    if why == "another model":
        home.embedder = WordEmbedder(weights="words-2")
    else:
        monkeypatch.setattr("surefind.services.generations.resume.LARGE", 20)
        pages = CHANGED
    await home.ingest(pages)
    manifest = await home.catalogs.manifest(ONE)
    catalog = await home.catalogs.open(ONE)
    assert {record.created_at async for record in catalog.chunks()} == {manifest.created_at}
    assert home.points.marks[ONE].at == manifest.created_at
    assert home.points.written == 40


async def test_what_others_took_away_meanwhile_is_neither_counted_nor_dated_by(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reader(MemoryIndexStore):
        """Somebody reads what was left, as soon as it was looked into."""

        async def open(self, ref: GenerationRef) -> MemoryIndex:
            self.marks.pop(ref, None)
            return await super().open(ref)

    monkeypatch.setattr(home, "points", Reader())
    home.index = home.points
    await home.dies(after=40)
    await home.ingest(CHANGED)
    manifest = await home.catalogs.manifest(ONE)
    catalog = await home.catalogs.open(ONE)
    assert (manifest.replaced, home.points.written) == (0, 40)
    assert {record.created_at async for record in catalog.chunks()} == {manifest.created_at}


async def test_a_rebuild_keeps_nothing_that_was_copied_from_what_it_distrusts(home: Home) -> None:
    await home.ingest(PAGES)
    held, kept = home.points.generations[ONE], record_of(home, "39.md")
    held[kept] = replace(held[kept], vector=-held[kept].vector)
    await home.dies(after=8, pages=CHANGED)
    assert home.points.generations[TWO][kept] is held[kept], "the half was copied from it"
    await home.ingest(CHANGED, rebuild=True)
    vector = home.points.generations[TWO][kept].vector
    assert vector == pytest.approx(-held[kept].vector, abs=1e-6)


def record_of(home: Home, page: str) -> UUID:
    [point] = [
        point
        for point, entry in home.points.generations[ONE].items()
        if entry.record.chunk.source_path.endswith(page)
    ]
    return point


async def test_a_run_that_dies_again_and_again_comes_to_an_end(home: Home) -> None:
    for after in (8, 16, 24, 32):
        await home.dies(after)
    await home.ingest(PAGES)
    assert home.points.written == 8


async def test_a_large_half_of_which_much_has_changed_is_written_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's word statistics go on counting what is deleted."""
    monkeypatch.setattr("surefind.services.generations.resume.LARGE", 20)
    await home.dies(after=40)
    changed = {**PAGES, **{f"{n:02}.md": f"# Page {n}\n\nnew {n} page" for n in range(3)}}
    report = await home.ingest(changed)
    assert (report.index_points, home.points.written) == (40, 40)
    assert (await home.catalogs.manifest(ONE)).replaced == 0


async def test_what_little_has_changed_is_counted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefind.services.generations.resume.LARGE", 20)
    await home.dies(after=40)
    report = await home.ingest({**PAGES, "00.md": "# Page 0\n\nnew 0 page"})
    assert (report.index_points, home.points.written) == (40, 1)
    assert (await home.catalogs.manifest(ONE)).replaced == 1


async def test_a_run_that_finds_nothing_to_do_removes_the_half(home: Home) -> None:
    await home.ingest(PAGES)
    await home.dies(after=1, pages={**PAGES, "new.md": "# New\n\nsomething new"})
    assert TWO in home.points.generations
    report = await home.ingest(PAGES)
    assert not report.published
    assert list(home.points.generations) == [ONE]
    assert await home.catalogs.unfinished("docs") == []


async def test_a_run_that_is_refused_leaves_the_half_for_the_next(home: Home) -> None:
    await home.ingest(PAGES)
    few = {name: f"{text}, and more" for name, text in PAGES.items() if name < "20.md"}
    with pytest.raises(GuardStopped, match="allow-shrink"):
        await home.ingest(few)
    assert list(home.points.generations) == [ONE], "there was no half, and none is made"
    changed = {name: f"{text}, and more" for name, text in PAGES.items()}
    await home.dies(after=8, pages=changed)
    with pytest.raises(GuardStopped, match="allow-shrink"):
        await home.ingest(few)
    assert set(home.points.generations) == {ONE, TWO}
    home.points.written = 0
    assert (await home.ingest(changed)).generation == 2
    assert home.points.written == 32


async def test_only_the_next_number_and_only_for_a_day() -> None:
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    for ref in (ONE, TWO, THREE):
        await catalogs.create(ref, None)
        await index.create(ref, 32, None, UnfinishedIndex("making", NOW))
    half = await left_behind("docs", index, catalogs, NOW + timedelta(hours=23))
    assert half is not None
    assert half.ref == ONE
    assert list(index.generations) == list(catalogs.documents) == [ONE]
    assert await left_behind("docs", index, catalogs, NOW + timedelta(hours=25)) is None
    assert list(index.generations) == list(catalogs.documents) == []


async def test_what_readers_see_is_never_dropped() -> None:
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    await catalogs.create(ONE, None)
    await index.create(ONE, 32, None)
    catalogs.pointers["docs"] = 1
    assert await left_behind("docs", index, catalogs) is None
    assert list(index.generations) == list(catalogs.documents) == [ONE]


def test_whatever_changes_a_point_changes_the_making() -> None:
    lexical = LexicalSettings("words", 12.5)
    makings = {
        build_digest_of(FINGERPRINT, lexical, "1.0"),
        build_digest_of(FINGERPRINT, lexical, "1.1"),
        build_digest_of(FINGERPRINT, LexicalSettings("words", 12.75), "1.0"),
        build_digest_of(FINGERPRINT, LexicalSettings("other", 12.5), "1.0"),
        build_digest_of(EmbedderFingerprint("fake", "words", 32, "words-2", ""), lexical, "1.0"),
        build_digest_of(FINGERPRINT, lexical, "1.0", "other pages"),
    }
    assert len(makings) == 6
    assert build_digest_of(FINGERPRINT, LexicalSettings("words", 12.5), "1.0") in makings
