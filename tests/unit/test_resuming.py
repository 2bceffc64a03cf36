"""What a dead run has left of a generation: gone on with, or removed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fakes import MemoryCatalogStore, MemoryIndexStore
from surefind.errors import GuardStopped, StoreError
from surefind.model import EmbedderFingerprint, GenerationRef, LexicalSettings
from surefind.ports import Begun
from surefind.services.building import Progress
from surefind.services.reading import Readers
from surefind.services.resuming import left_behind, making_of
from unit.installation import Crash, Installation

PAGES = {f"{n:02}.md": f"# Page {n}\n\nall of page {n}" for n in range(40)}
ONE, TWO, THREE = (GenerationRef("docs", number) for number in (1, 2, 3))
NOW = datetime(2026, 5, 5, 12, tzinfo=UTC)
FINGERPRINT = EmbedderFingerprint("fake", "words", 32, "words-1", "")


class Home(Installation):
    """Stores in memory, which die with nothing but the process."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.points, self.index = MemoryIndexStore(), MemoryIndexStore()
        self.index, self.catalogs = self.points, MemoryCatalogStore()
        self.readers = Readers(self.index, self.catalogs)
        self.embedder.batch_size = 2

    async def dies(self, after: int, pages: dict[str, str] = PAGES) -> None:
        def report(progress: Progress) -> None:
            if progress.stage == "embedding" and progress.done >= after:
                raise Crash

        with pytest.raises(Crash):
            await self.ingest(pages, on_progress=report)
        self.points.written = 0


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


async def test_a_run_that_dies_again_and_again_comes_to_an_end(home: Home) -> None:
    for after in (8, 16, 24, 32):
        await home.dies(after)
    await home.ingest(PAGES)
    assert home.points.written == 8


async def test_a_large_half_of_which_much_has_changed_is_written_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's word statistics go on counting what is deleted."""
    monkeypatch.setattr("surefind.services.resuming.LARGE", 20)
    await home.dies(after=40)
    changed = {**PAGES, **{f"{n:02}.md": f"# Page {n}\n\nnew {n} page" for n in range(3)}}
    report = await home.ingest(changed)
    assert (report.index_points, home.points.written) == (40, 40)
    assert (await home.catalogs.manifest(ONE)).replaced == 0


async def test_what_little_has_changed_is_counted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefind.services.resuming.LARGE", 20)
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


async def test_who_has_lost_the_place_for_writing_neither_writes_nor_removes(home: Home) -> None:
    """Another run may have taken up what it had written: it is not its own any more."""

    class Lost(MemoryCatalogStore):
        asked = 0

        async def require_writing(self) -> None:
            self.asked += 1
            if self.asked > 2:
                raise StoreError("the one writer's place was lost")

    home.catalogs = Lost()
    with pytest.raises(StoreError, match="place was lost"):
        await home.ingest(PAGES)
    assert home.points.written == 16
    assert len(home.points.generations[ONE]) == 16


async def test_only_the_next_number_and_only_for_a_day() -> None:
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    for ref in (ONE, TWO, THREE):
        await catalogs.create(ref, None)
        await index.create(ref, 32, None, Begun("making", NOW))
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
        making_of(FINGERPRINT, lexical, "1.0"),
        making_of(FINGERPRINT, lexical, "1.1"),
        making_of(FINGERPRINT, LexicalSettings("words", 12.75), "1.0"),
        making_of(FINGERPRINT, LexicalSettings("other", 12.5), "1.0"),
        making_of(EmbedderFingerprint("fake", "words", 32, "words-2", ""), lexical, "1.0"),
        making_of(FINGERPRINT, lexical, "1.0", "other pages"),
    }
    assert len(makings) == 6
    assert making_of(FINGERPRINT, LexicalSettings("words", 12.5), "1.0") in makings
