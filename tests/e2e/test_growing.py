"""Growing out of one machine, and back: the same answers from any stores."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.postgres import PostgresService
from support.qdrant.http_server import running
from support.qdrant.service import unique
from surefind.bootstrap import Application, IngestRequest
from surefind.errors import InputError
from surefind.model import Query
from surefind.services.generations.index_building import Progress
from surefind.settings import load

pytestmark = pytest.mark.thorough

PAGES = {
    "install.md": "---\nlevel: 2\n---\n# Install\n\nrun the installer\n\n## Linux\n\nuse a package",
    "cats.md": "# Cats\n\ncats sleep in the sunshine",
}
QUESTIONS = ("how do I install it on linux?", "where do cats sleep")


def quiet(_: Progress) -> None:
    pass


@asynccontextmanager
async def opened(home: Path, **settings: Any) -> AsyncIterator[Application]:
    application = Application(load(data_dir=home / ".surefind", **settings))
    try:
        yield application
    finally:
        await application.close()


async def answers(application: Application) -> list[Any]:
    found = [await application.searching.search(Query(text)) for text in QUESTIONS]
    return [[(hit.record, round(hit.score, 5)) for hit in result.hits] for result in found]


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / "docs" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    async with opened(tmp_path) as application:
        await application.ingesting.ingest(IngestRequest(paths=[tmp_path / "docs"]))
    return tmp_path


async def test_one_command_moves_a_collection_into_servers_and_another_back(
    home: Path, postgres: PostgresService, schema: str, tmp_path: Path
) -> None:
    async with opened(home) as application:
        wanted = await answers(application)
    with running() as address:
        servers = {
            "qdrant_url": address.url,
            "qdrant_api_key": address.key,
            "qdrant_prefix": unique("grow") + "-",
            "database_url": postgres.url,
            "database_schema": schema,
        }
        async with opened(home, **servers) as application:
            moved = await application.transfer.promote("qdrant", quiet)
            assert (moved.number, moved.follows) == (1, None)
            assert await answers(application) == wanted
            seen = await application.maintenance.examiner().examine()
            assert seen.sound, seen.findings
            assert [(state.indexed, state.current) for state in seen.generations] == [(True, True)]
            await application.transfer.export_archive(tmp_path / "x.surefind", None, quiet)
            back = await application.transfer.promote("embedded", quiet)
            assert back.number == 2, "the one that was there first is kept"
            await application.parts.index.drop(moved.ref)
            broken = await application.maintenance.examiner().examine()
            assert not broken.sound
            await application.maintenance.repairer().repair(broken.repairs[0], quiet)
            assert (await application.maintenance.examiner().examine()).sound
            assert await answers(application) == wanted
            for state in (await application.maintenance.examiner().examine()).generations:
                await application.parts.index.drop(state.ref)
    async with opened(home) as application:
        assert (await application.generations.current()) == 2
        assert await answers(application) == wanted
    async with opened(tmp_path / "elsewhere") as application:
        await application.transfer.import_archive(tmp_path / "x.surefind", None, quiet)
        assert await answers(application) == wanted


async def test_there_must_be_a_place_to_move_to(home: Path) -> None:
    async with opened(home) as application:
        with pytest.raises(InputError, match="neither QDRANT_URL nor DATABASE_URL"):
            await application.transfer.promote("qdrant", quiet)
    async with opened(home, database_url="postgresql://localhost/x") as application:
        with pytest.raises(InputError, match="QDRANT_URL is not set"):
            await application.transfer.promote("qdrant", quiet)
