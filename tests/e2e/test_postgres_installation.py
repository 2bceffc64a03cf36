"""A whole installation whose catalog is in PostgreSQL and whose index is beside it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.postgres import Line, PostgresService, line_to
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.files.last_seen import LastSeenCatalogs
from surefind.adapters.postgres.connection import Database, Limits
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.errors import StoreBusy, StoreError
from surefind.model import Status
from surefind.services.generations.index_building import Progress
from surefind.services.generations.readers import Readers
from unit.installation import PAGES, Crash, Installation

pytestmark = pytest.mark.thorough

CHANGED = {**PAGES, "index.md": "# Home\n\nhello again", "new.md": "# New\n\nnew words"}
Opener = Callable[..., Installation]


@pytest.fixture
async def line(postgres: PostgresService) -> AsyncIterator[Line]:
    async with line_to(postgres) as carried:
        yield carried


@pytest.fixture
async def opened(line: Line, schema: str, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens an installation; each by the same line to the same catalog."""
    homes: list[Installation] = []

    def opener(name: str = "here") -> Installation:
        home = Installation(tmp_path / name)
        database = Database(line.url, schema, Limits(connect_timeout_s=2.0, timeout_s=2.0))
        home.catalogs = PostgresCatalogStore(database, pointer_age_s=0.0)
        seen = LastSeenCatalogs(home.catalogs, DataFolder(home.root), home.root, pause_s=0.0)
        home.readers = Readers(home.index, seen)
        homes.append(home)
        return home

    yield opener
    for home in homes:
        await home.close()
        await home.catalogs.close()


async def test_it_is_filled_changed_searched_and_rolled_back(opened: Opener) -> None:
    home = opened()
    first = await home.ingest(PAGES)
    assert (first.generation, first.documents) == (1, 3)
    before = await home.texts()
    assert (await home.ingest(PAGES)).published is False
    second = await home.ingest(CHANGED)
    assert (second.generation, second.added, second.changed) == (2, 1, 1)
    assert second.embedded < first.embedded  # what is unchanged keeps its vectors
    assert (await home.search("new words")).hits[0].record.chunk.source_path == "docs/new.md"
    await home.generations.rollback()
    assert await home.texts() == before
    third = await home.ingest(CHANGED, keep_generations=1)
    assert third.pruned == (1, 2)
    assert [made.number for made in await home.generations.list()] == [3]
    assert (await home.search("hello again")).status is Status.SUCCESS


async def test_a_run_that_dies_at_any_moment_is_as_if_it_had_not_been(opened: Opener) -> None:
    home = opened()
    await home.ingest(PAGES)
    before = await home.texts()
    for moment in range(1, 100):
        try:
            await home.ingest(CHANGED, crash_at=moment)
        except Crash:
            assert await home.texts() == before
        else:
            break
    assert moment > 3
    assert await home.catalogs.unfinished("docs") == []
    assert (await home.search("new words")).generation == await home.catalogs.current("docs")
    assert "docs/new.md" in await home.texts()


@pytest.mark.parametrize("stage", ["reading", "embedding", "indexing", "verifying"])
async def test_a_connection_that_is_cut_while_it_writes_publishes_nothing(
    opened: Opener, line: Line, stage: str
) -> None:
    """The place of the one writer is gone with it, so another may have taken it."""
    home = opened()
    await home.ingest(PAGES)
    before = await home.texts()
    seen: list[str] = []

    def cut(progress: Progress) -> None:
        if progress.stage == stage and stage not in seen:
            line.cut()
        seen.append(progress.stage)

    with pytest.raises(StoreError, match="lock was lost"):
        await home.ingest(CHANGED, on_progress=cut)
    assert stage in seen
    assert await home.texts() == before
    assert (await home.ingest(CHANGED)).published


async def test_who_ingests_elsewhere_keeps_others_from_it(opened: Opener) -> None:
    here, there = opened("here"), opened("there")
    async with there.catalogs.writing("ingest"):
        with pytest.raises(StoreBusy, match=r"process \d+ on "):
            await here.ingest(PAGES)
    await here.ingest(PAGES)


async def test_a_generation_whose_index_is_elsewhere_is_reported_and_built_here(
    opened: Opener,
) -> None:
    here, there = opened("here"), opened("there")
    await there.ingest(PAGES)
    with pytest.raises(StoreError, match=r"has no index at .*built elsewhere.*surefind ingest"):
        await here.search("hello")
    built = await here.ingest(PAGES)
    assert (built.published, built.generation) == (True, 2)
    assert (await here.search("hello")).hits


async def test_a_catalog_that_was_lost_leaves_an_index_that_is_in_nobodys_way(
    opened: Opener, postgres: PostgresService, schema: str
) -> None:
    await opened().ingest(PAGES)
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")
    home = opened()
    assert (await home.ingest(CHANGED)).generation == 1
    assert "docs/new.md" in await home.texts()


async def test_the_index_answers_while_the_catalog_is_unavailable(
    opened: Opener, line: Line
) -> None:
    home = opened()
    await home.ingest(PAGES)
    whole = await home.search("run the installer")
    assert whole.status is Status.SUCCESS
    line.away = True
    line.cut()
    for _ in range(3):
        alone = await home.search("run the installer")
        assert alone.status is Status.PARTIAL
        assert [hit.record.chunk for hit in alone.hits] == [hit.record.chunk for hit in whole.hits]
    line.away = False
    await home.ingest(CHANGED)
    assert (await home.search("new words")).status is Status.SUCCESS


async def test_a_reader_that_starts_while_the_catalog_is_unavailable_goes_by_what_was_seen_last(
    opened: Opener, line: Line
) -> None:
    home = opened()
    await home.ingest(PAGES)
    await home.search("hello")
    line.away = True
    line.cut()
    late = opened()
    found = await late.search("run the installer")
    assert (found.status, found.generation) == (Status.PARTIAL, 1)
    assert found.hits
    with pytest.raises(StoreError, match="the connection failed"):
        await opened("never-read").search("hello")
    line.away = False
    await home.ingest(CHANGED)
    back = await late.search("new words")
    assert (back.status, back.generation) == (Status.SUCCESS, 2)
