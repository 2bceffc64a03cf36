"""A catalog in PostgreSQL, as users of the commands and of the server meet it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from interfaces.conftest import PAGES
from support.commands import serving, surefind
from support.postgres import PASSWORD, PostgresService, line_to
from support.qdrant import http_server as qdrant_http
from surefind.bootstrap import Application, IngestRequest
from surefind.errors import InputError
from surefind.model import GenerationRef, Query, Status
from surefind.settings import load

pytestmark = pytest.mark.thorough


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for path, text in PAGES.items():
        (tmp_path / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / path).write_text(text)
    return tmp_path


def test_the_commands_work_on_it_and_its_tables_can_be_rehearsed(
    home: Path, postgres: PostgresService, schema: str
) -> None:
    def run(*arguments: str) -> str:
        done = surefind(
            *arguments, cwd=home, DATABASE_URL=postgres.url, SUREFIND_DATABASE_SCHEMA=schema
        )
        assert done.returncode == 0, done.stderr
        assert PASSWORD not in done.stdout + done.stderr
        return done.stdout

    dry_run_result = run("catalog", "migrate", "--dry-run")
    assert "CREATE TABLE chunk" in dry_run_result
    assert "nothing was changed" in dry_run_result
    assert "4 added" in run("ingest", "docs")
    assert run("catalog", "migrate") == "the tables are already up to date\n"
    found = json.loads(run("search", "the lid is open", "--json"))
    assert found["hits"][0]["source_path"] == "docs/reference/errors.md"
    assert found["status"] == "success"
    chunks = found["chunks"]
    assert f"{chunks} chunks in the catalog, {chunks} in the index" in run("chunks", "count")
    assert not list(home.rglob("catalog.sqlite"))


@asynccontextmanager
async def served(home: Path, url: str, schema: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Started and stopped in threads: the line to the database runs in this loop."""
    environment = {"DATABASE_URL": url, "SUREFIND_DATABASE_SCHEMA": schema}
    done = await asyncio.to_thread(surefind, "ingest", "docs", cwd=home, **environment)
    assert done.returncode == 0, done.stderr
    server = serving(cwd=home, **environment)
    address, _ = await asyncio.to_thread(server.__enter__)
    try:
        async with httpx2.AsyncClient(base_url=address, timeout=30) as client:
            yield client
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def test_a_server_answers_from_payloads_while_it_is_unavailable(
    home: Path, postgres: PostgresService, schema: str
) -> None:
    async with line_to(postgres) as line, served(home, line.url, schema) as client:

        async def asked(path: str, **question: object) -> tuple[int, Any]:
            answer = await client.post(path, json=question)
            return answer.status_code, answer.json()

        question = {"query": "the lid is open", "top_k": 2}
        status, whole = await asked("/search", **question)
        assert status == 200
        assert (await client.get("/health")).json() == {
            "status": "ok",
            "qdrant": True,
            "postgres": True,
        }
        line.away = True
        line.cut()
        assert await asked("/search", **question) == (200, whole)
        status, partial = await asked("/api/v1/search", query_text="the lid is open, E42")
        assert (status, partial["status"]) == (200, "partial")
        health = await client.get("/health")
        assert (health.status_code, health.json()) == (
            200,
            {"status": "degraded", "qdrant": True, "postgres": False},
        )
        line.away = False
        while (await client.get("/health")).json()["status"] != "ok":  # noqa: ASYNC110 - it alone knows
            await asyncio.sleep(0.05)
        _, back = await asked("/api/v1/search", query_text="the lid is open, E42")
        assert back["status"] == "success"


@pytest.fixture
async def with_their_table(
    home: Path, postgres: PostgresService, schema: str
) -> AsyncIterator[Application]:
    """Filled by the contract's own columns, with titles that only it knows."""
    settings = load(
        data_dir=home / "data",
        database_url=SecretStr(postgres.url),
        database_schema=schema,
        documents_table=f"{schema}_theirs.documents",
    )
    theirs = f"{schema}_theirs"
    try:
        application = Application(settings)
        await application.ingesting.ingest(IngestRequest(paths=[home / "docs"]))
        postgres.execute(f"CREATE SCHEMA {theirs}")
        postgres.execute(
            f"CREATE TABLE {theirs}.documents AS SELECT chunk_id, 'their/' || source_path AS"
            " source_path, slug, 'their title'::varchar(255) AS title, order_index, snippet,"
            f" created_at FROM {schema}.documents"
        )
        yield application
        await application.close()
    finally:
        postgres.execute(f"DROP SCHEMA IF EXISTS {theirs} CASCADE")


async def test_the_table_of_the_retrieval_api_serves_a_search(
    with_their_table: Application,
) -> None:
    async with with_their_table.parts.reader.lease() as generation:
        assert generation.catalog is not None
        points = [one.chunk.point_id async for one in generation.catalog.chunks()]
        records, whole = await generation.records(points)
    assert whole
    assert {record.title for record in records.values()} == {"their title"}
    assert all(one.chunk.source_path.startswith("their/docs/") for one in records.values())


async def test_what_others_write_into_their_table_is_in_the_next_answer(
    with_their_table: Application, postgres: PostgresService
) -> None:
    """No generation is published when they do, so that no answer may be remembered."""
    table = with_their_table.settings.documents_table
    told = []
    for title in ("first title", "second title"):
        postgres.execute(f"UPDATE {table} SET title = '{title}'")
        result = await with_their_table.searching.search(Query("the lid is open"))
        told.append({hit.record.title for hit in result.hits})
    assert told == [{"first title"}, {"second title"}]


async def test_both_stores_may_be_servers(
    home: Path, postgres: PostgresService, schema: str
) -> None:
    """And a reader that starts while the catalog is away is answered by the other."""
    with qdrant_http.running() as qdrant:
        given = {
            "data_dir": home / "data",
            "database_schema": schema,
            "qdrant_url": qdrant.url,
            "qdrant_api_key": SecretStr(qdrant.key) if qdrant.key else None,
            "qdrant_prefix": f"{schema.replace('_', '-')}-",
        }
        async with line_to(postgres) as line:
            settings = load(database_url=SecretStr(line.url), **given)
            application = Application(settings)
            report = await application.ingesting.ingest(IngestRequest(paths=[home / "docs"]))
            assert report.index_points == report.chunks > 0
            whole = await application.searching.search(Query("the lid is open"))
            await application.close()
            line.away = True
            late = Application(settings)
            alone = await late.searching.search(Query("the lid is open"))
            await late.close()
            assert (whole.status, alone.status) == (Status.SUCCESS, Status.PARTIAL)
            assert [hit.record.chunk.id for hit in alone.hits] == [
                hit.record.chunk.id for hit in whole.hits
            ]
            line.away = False
            store = Application(settings)
            await store.parts.index.drop(GenerationRef("docs", report.generation))
            await store.close()


def test_without_the_driver_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    application = Application(load(data_dir=tmp_path, database_url=SecretStr("postgresql://h/d")))
    with pytest.raises(InputError, match=r"pip install 'surefind\[postgres\]'"):
        _ = application.parts.catalogs


async def test_sqlite_has_nothing_to_migrate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="DATABASE_URL is not set"):
        await Application(load(data_dir=tmp_path)).maintenance.migrate_catalog(dry_run=True)
