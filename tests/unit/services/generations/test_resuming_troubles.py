"""What goes wrong around an upload that can be gone on with: it is kept, and not by who lost it."""

import copy
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from support.fakes import FaultyIndexStore, MemoryIndexStore, MemoryIndexWriter, WordEmbedder
from surefind.errors import EmbeddingError, StoreChanged, StoreError
from surefind.model import GenerationRef, LexicalSettings, Manifest
from surefind.ports import MovedPage, UnfinishedIndex, Vector
from surefind.services.generations.index_building import ReportProgress, both_stores
from surefind.services.generations.transfer import Pages, TransferTarget, kept_in, pages_of
from unit.installation import Crash
from unit.services.generations.mortal import CHANGED, ONE, PAGES, TWO, Home, at, crash


def quiet(_: object) -> None:
    pass


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "data")


class Moving:
    """What `source` has into `home`; forty chunks are fewer than travel at once."""

    def __init__(self, source: Home, home: Home) -> None:
        self.source = source
        self._target = TransferTarget(home.index, home.catalogs, home.terms, "test")

    async def receive(
        self,
        report: ReportProgress = quiet,
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
async def moving(home: Home, tmp_path: Path) -> Moving:
    source = Home(tmp_path / "source")
    await source.ingest(PAGES)
    return Moving(source, home)


# --- the writer's place -----------------------------------------------------------------------


class Successor:
    """Takes the place and what is there of a generation, and puts points of its own there."""

    def __init__(self, home: Home, ref: GenerationRef) -> None:
        self._home = home
        self._ref = ref
        self._seen: object = None

    def __call__(self) -> None:
        points = self._home.points
        if not self._home.place.lost:
            self._home.place.lost = True
            held = points.generations.setdefault(self._ref, {})
            before = points.generations[ONE]
            held.update({**before, **held, uuid4(): next(iter(before.values()))})
            self._seen = copy.deepcopy(list(held.items()))

    @property
    def is_left_alone(self) -> bool:
        now = list(self._home.points.generations[self._ref].items())
        return repr(now) == repr(self._seen) and self._home.place.lost


@pytest.mark.parametrize("stage", ["reading", "created", "embedding", "indexing"])
@pytest.mark.parametrize("rebuild", [False, True], ids=["goes on", "begins anew"])
async def test_who_has_lost_the_place_for_writing_neither_writes_nor_removes(
    home: Home, stage: str, *, rebuild: bool
) -> None:
    """Another run may have taken up what it had written: it is not its own any more."""
    await home.ingest(PAGES)
    pages = {name: text for name, text in CHANGED.items() if name != "39.md"}
    await home.dies(after=8, pages=pages)
    successor = Successor(home, TWO)

    class Late(MemoryIndexStore):
        """The place is lost while the index is made."""

        async def create(
            self,
            ref: GenerationRef,
            dimensions: int,
            copy_of: GenerationRef | None,
            begun: UnfinishedIndex | None = None,
        ) -> MemoryIndexWriter:
            writer = await super().create(ref, dimensions, copy_of, begun)
            successor()
            return writer

    if stage == "created":
        late = Late()
        late.generations, late.marks = home.points.generations, home.points.marks
        home.index = home.points = late
    with pytest.raises(StoreError, match="place was lost"):
        await home.ingest(pages, rebuild=rebuild, on_progress=at(stage, successor))
    assert successor.is_left_alone


@pytest.mark.parametrize("stage", ["moving", "indexing"])
async def test_nor_does_a_move_of_little(home: Home, moving: Moving, stage: str) -> None:
    await home.ingest(PAGES)
    successor = Successor(home, TWO)
    with pytest.raises(StoreError, match="place was lost"):
        await moving.receive(at(stage, successor))
    assert successor.is_left_alone


async def test_nor_does_a_move_that_lost_it_while_it_counted(home: Home, moving: Moving) -> None:
    await home.ingest(PAGES)
    successor = Successor(home, TWO)

    def counted(pages: Pages) -> Pages:
        def read() -> AsyncIterator[MovedPage]:
            successor()
            return pages()

        return read

    manifest = await moving.source.catalogs.manifest(ONE)
    with pytest.raises(StoreError, match="place was lost"):
        await moving.receive(manifest=_otherwise_counted(manifest), pages=counted)
    assert successor.is_left_alone


# --- what is kept -----------------------------------------------------------------------------


async def test_a_store_that_is_away_for_a_moment_costs_nothing(home: Home) -> None:
    await home.dies(after=24)
    home.index = FaultyIndexStore(home.points, left=0)
    with pytest.raises(StoreError, match="the index is away"):
        await home.ingest(PAGES)
    home.index = home.points
    await home.ingest(PAGES)
    assert home.points.written == 16


class Speechless(WordEmbedder):
    """It fails when the similarities are calibrated, after all passages."""

    async def embed_query(self, query: str) -> Vector:
        raise EmbeddingError(f"no vector for {query!r}")


@pytest.mark.parametrize("failure", ["verifying", "calibrating"])
async def test_an_upload_that_is_complete_is_not_sent_again(home: Home, failure: str) -> None:
    pages = {name: f"{text}, from beginning to end" for name, text in PAGES.items()}
    if failure == "calibrating":
        home.embedder = Speechless()
    with pytest.raises((Crash, EmbeddingError)):
        await home.ingest(pages, on_progress=at(failure, crash))
    home.embedder = WordEmbedder()
    home.points.written = 0
    report = await home.ingest(pages)
    assert (report.published, report.generation, report.index_points) == (True, 1, 40)
    assert home.points.written == 0


async def test_nor_is_one_that_was_moved(home: Home, moving: Moving) -> None:
    with pytest.raises(Crash):
        await moving.receive(at("verifying", crash))
    home.points.written = 0
    assert (await moving.receive()).number == 1
    assert home.points.written == 0


async def test_a_move_that_dies_while_it_counts_leaves_what_an_earlier_one_wrote(
    home: Home, moving: Moving
) -> None:
    manifest = _otherwise_counted(await moving.source.catalogs.manifest(ONE))
    with pytest.raises(Crash):
        await moving.receive(at("verifying", crash), manifest)
    home.points.written = 0

    def dying(_: Pages) -> Pages:
        return crash  # type: ignore[return-value]

    with pytest.raises(Crash):
        await moving.receive(manifest=manifest, pages=dying)
    assert await home.catalogs.unfinished("docs") == [ONE]
    await moving.receive(manifest=manifest)
    assert home.points.written == 0


async def test_a_move_of_something_else_is_begun_now(home: Home, moving: Moving) -> None:
    with pytest.raises(Crash):
        await moving.receive(at("verifying", crash))
    left = home.points.marks[ONE]
    manifest = await moving.source.catalogs.manifest(ONE)
    await moving.receive(manifest=replace(manifest, source_digest="of other pages"))
    assert home.points.marks[ONE].at > left.at


# --- what is not ------------------------------------------------------------------------------


def _spoils(home: Home) -> ReportProgress:
    def lose_a_point() -> None:
        home.points.generations[ONE].popitem()

    return at("verifying", lose_a_point)


async def test_an_index_that_is_not_whole_is_dropped(home: Home) -> None:
    with pytest.raises(StoreChanged, match="is not whole"):
        await home.ingest(PAGES, on_progress=_spoils(home))
    assert home.points.generations == {}
    assert await home.catalogs.unfinished("docs") == []


async def test_nor_is_one_kept_that_did_not_arrive_whole(home: Home, moving: Moving) -> None:
    with pytest.raises(StoreChanged, match="is not whole"):
        await moving.receive(_spoils(home))
    assert home.points.generations == {}
    assert await home.catalogs.unfinished("docs") == []


async def test_what_was_sealed_and_can_not_be_published_does_not_stay(
    home: Home, moving: Moving
) -> None:
    """It would look like one that a gate has held back."""
    home.place.stuck = True
    with pytest.raises(StoreError, match="stuck"):
        await home.ingest(PAGES)
    with pytest.raises(StoreError, match="stuck"):
        await moving.receive()
    assert home.points.generations == {}
    assert await home.catalogs.complete("docs") == []


def _otherwise_counted(manifest: Manifest) -> Manifest:
    return replace(manifest, lexical=LexicalSettings("other rules", 1.0))
