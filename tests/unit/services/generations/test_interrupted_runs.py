"""Runs that crash, lose the write lock or fail late: nothing is published, nothing stays behind."""

import copy
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore, MemoryIndexWriter, WordEmbedder
from surefind.errors import EmbeddingError, StoreChanged, StoreError
from surefind.model import GenerationRef, LexicalSettings, Manifest
from surefind.ports import MovedPage, Vector
from surefind.services.generations.cleanup import remove_unfinished
from surefind.services.generations.index_building import Progress, ReportProgress, both_stores
from surefind.services.generations.readers import Readers
from surefind.services.generations.transfer import Pages, TransferTarget, kept_in, pages_of
from unit.installation import Crash, Installation

PAGES = {f"{n:02}.md": f"# Page {n}\n\nall of page {n}" for n in range(40)}
CHANGED = {**PAGES, **{f"{n:02}.md": f"# Page {n}\n\npage {n}: all of it" for n in range(16)}}
ONE, TWO, THREE = (GenerationRef("docs", number) for number in (1, 2, 3))


@dataclass
class FaultyCatalogs(MemoryCatalogStore):
    """`lost`: another run holds the write lock. `stuck`: the pointer can't be moved."""

    lost: bool = False
    stuck: bool = False

    async def require_writing(self) -> None:
        if self.lost:
            raise StoreError("the write lock was lost")

    async def point_to(self, ref: GenerationRef) -> None:
        if self.stuck:
            raise StoreError("the pointer is stuck")
        await super().point_to(ref)


class Home(Installation):
    """Stores in memory, which outlive a crashed run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.memory_catalogs = FaultyCatalogs()
        self.memory_index = MemoryIndexStore()
        self.index, self.catalogs = self.memory_index, self.memory_catalogs
        self.readers = Readers(self.index, self.catalogs)
        self.embedder.batch_size = 2


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "data")


class Transfer:
    """Copies the first generation of `source` into `home`."""

    def __init__(self, source: Home, home: Home) -> None:
        self.source = source
        self._target = TransferTarget(home.index, home.catalogs, home.terms, "test")

    async def receive(
        self,
        report: ReportProgress = lambda _: None,
        manifest: Manifest | None = None,
        pages: Callable[[Pages], Pages] = lambda pages: pages,
    ) -> Manifest:
        source = self.source
        manifest = manifest or await source.catalogs.manifest(ONE)
        async with both_stores(ONE, source.index, source.catalogs) as (index, catalog):
            return await self._target.receive(
                "docs", manifest, pages(lambda: pages_of(catalog, kept_in(index))), report
            )


@pytest.fixture
async def transfer(home: Home, tmp_path: Path) -> Transfer:
    source = Home(tmp_path / "source")
    await source.ingest(PAGES)
    return Transfer(source, home)


def at(stage: str, act: Callable[[], object], done: int = 0) -> ReportProgress:
    def report(progress: Progress) -> None:
        if progress.stage == stage and progress.done >= done:
            act()

    return report


def crash() -> None:
    raise Crash


# --- crashes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["reading", "embedding", "indexing", "verifying"])
async def test_a_crashed_run_leaves_nothing_and_the_next_one_publishes(
    home: Home, stage: str
) -> None:
    with pytest.raises(Crash):
        await home.ingest(PAGES, on_progress=at(stage, crash, done=24 if stage[0] in "re" else 0))
    assert home.memory_index.generations == {}
    assert await home.catalogs.unfinished("docs") == []
    embedded = len(home.embedder.passages)
    report = await home.ingest(PAGES)
    assert (report.generation, report.index_points, report.published) == (1, 40, True)
    assert (report.embedded, report.from_cache) == (40 - embedded, embedded)
    assert len(await home.texts()) == 40


async def test_what_killed_runs_left_is_removed() -> None:
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    for ref in (ONE, TWO, THREE):
        await catalogs.create(ref, None)
        await index.create(ref, 32, None)
    await remove_unfinished("docs", index, catalogs)
    assert list(index.generations) == list(catalogs.documents) == []


async def test_the_generation_that_readers_see_is_never_removed() -> None:
    index, catalogs = MemoryIndexStore(), MemoryCatalogStore()
    await catalogs.create(ONE, None)
    await index.create(ONE, 32, None)
    catalogs.pointers["docs"] = 1
    await remove_unfinished("docs", index, catalogs)
    assert list(index.generations) == list(catalogs.documents) == [ONE]


# --- a lost write lock ------------------------------------------------------------------------


class Successor:
    """Another run takes the write lock and the generation, and writes points of its own."""

    def __init__(self, home: Home, ref: GenerationRef) -> None:
        self._home = home
        self._ref = ref
        self._seen: object = None

    def __call__(self) -> None:
        points = self._home.memory_index
        if not self._home.memory_catalogs.lost:
            self._home.memory_catalogs.lost = True
            held = points.generations.setdefault(self._ref, {})
            before = points.generations[ONE]
            held.update({**before, **held, uuid4(): next(iter(before.values()))})
            self._seen = copy.deepcopy(list(held.items()))

    @property
    def is_untouched(self) -> bool:
        now = list(self._home.memory_index.generations[self._ref].items())
        return repr(now) == repr(self._seen) and self._home.memory_catalogs.lost


@pytest.mark.parametrize("stage", ["reading", "created", "embedding", "indexing"])
@pytest.mark.parametrize("rebuild", [False, True])
async def test_a_run_that_lost_the_write_lock_neither_writes_nor_removes(
    home: Home, stage: str, *, rebuild: bool
) -> None:
    await home.ingest(PAGES)
    pages = {name: text for name, text in CHANGED.items() if name != "39.md"}
    successor = Successor(home, TWO)

    class Late(MemoryIndexStore):
        """The lock is lost while the index is created."""

        async def create(
            self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
        ) -> MemoryIndexWriter:
            writer = await super().create(ref, dimensions, copy_of)
            successor()
            return writer

    if stage == "created":
        late = Late()
        late.generations = home.memory_index.generations
        home.index = home.memory_index = late
    with pytest.raises(StoreError, match="write lock was lost"):
        await home.ingest(pages, rebuild=rebuild, on_progress=at(stage, successor))
    assert successor.is_untouched


@pytest.mark.parametrize("stage", ["moving", "indexing"])
async def test_nor_does_a_transfer(home: Home, transfer: Transfer, stage: str) -> None:
    await home.ingest(PAGES)
    successor = Successor(home, TWO)
    with pytest.raises(StoreError, match="write lock was lost"):
        await transfer.receive(at(stage, successor))
    assert successor.is_untouched


async def test_nor_does_a_transfer_that_lost_it_while_counting_terms(
    home: Home, transfer: Transfer
) -> None:
    await home.ingest(PAGES)
    successor = Successor(home, TWO)

    def counted(pages: Pages) -> Pages:
        def read() -> AsyncIterator[MovedPage]:
            successor()
            return pages()

        return read

    manifest = await transfer.source.catalogs.manifest(ONE)
    manifest = replace(manifest, lexical=LexicalSettings("another analyzer", 1.0))
    with pytest.raises(StoreError, match="write lock was lost"):
        await transfer.receive(manifest=manifest, pages=counted)
    assert successor.is_untouched


# --- failures at the end ----------------------------------------------------------------------


class FailingQueries(WordEmbedder):
    """It fails when the similarities are calibrated, after all passages."""

    async def embed_query(self, query: str) -> Vector:
        raise EmbeddingError(f"no vector for {query!r}")


async def test_a_failed_calibration_costs_no_embedding(home: Home) -> None:
    pages = {name: f"{text}, from beginning to end" for name, text in PAGES.items()}
    home.embedder = FailingQueries()
    with pytest.raises(EmbeddingError):
        await home.ingest(pages)
    assert home.memory_index.generations == {}
    home.embedder = WordEmbedder()
    report = await home.ingest(pages)
    assert (report.published, report.embedded, report.from_cache) == (True, 0, 40)


def _loses_a_point(home: Home) -> ReportProgress:
    def lose_a_point() -> None:
        home.memory_index.generations[ONE].popitem()

    return at("verifying", lose_a_point)


async def test_an_incomplete_index_is_removed(home: Home) -> None:
    with pytest.raises(StoreChanged, match="is incomplete"):
        await home.ingest(PAGES, on_progress=_loses_a_point(home))
    assert home.memory_index.generations == {}
    assert await home.catalogs.unfinished("docs") == []


async def test_an_incomplete_transfer_is_removed(home: Home, transfer: Transfer) -> None:
    with pytest.raises(StoreChanged, match="is incomplete"):
        await transfer.receive(_loses_a_point(home))
    assert home.memory_index.generations == {}
    assert await home.catalogs.unfinished("docs") == []


async def test_a_sealed_generation_that_can_not_be_published_is_removed(
    home: Home, transfer: Transfer
) -> None:
    """Otherwise it would look like one that a gate held back."""
    home.memory_catalogs.stuck = True
    with pytest.raises(StoreError, match="stuck"):
        await home.ingest(PAGES)
    with pytest.raises(StoreError, match="stuck"):
        await transfer.receive()
    assert home.memory_index.generations == {}
    assert await home.catalogs.complete("docs") == []


async def test_a_failing_clean_up_does_not_hide_the_failure(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    class Clinging(MemoryIndexStore):
        async def drop(self, ref: GenerationRef) -> None:
            raise StoreError(f"{ref} can't be removed")

    home.index = Clinging()
    home.embedder.fail_at = 10
    with pytest.raises(EmbeddingError):
        await home.ingest(PAGES)
    assert (
        "can't remove the unfinished generation docs--0001: docs--0001 can't be removed"
        in caplog.text
    )
    assert await home.catalogs.unfinished("docs") == [ONE]
