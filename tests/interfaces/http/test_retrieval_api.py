"""The retrieval API's own set-up: a Qdrant collection with its payload and a table by its DDL, both
filled by something else and connected as they are.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from pydantic import SecretStr
from qdrant_client import models

from contract.connected.test_documents_table import TABLE
from support import embedding_service
from support.embedding_service import OPENAI_SIZE
from support.fakes import WordEmbedder
from support.foreign import client_of
from support.payload_shapes import Passage, book
from support.postgres import Line, PostgresService, line_to
from support.qdrant import http_server as qdrant_http
from support.qdrant.service import CUT, SILENT, Service, Trouble
from surefind.bootstrap import Application
from surefind.errors import InputError
from surefind.interfaces.cli import main
from surefind.interfaces.http.app import create_app
from surefind.services.encoding.circuit_breaker import CircuitBreaker
from surefind.services.serving.health import Health, HealthCheck
from surefind.settings import load

PASSAGES = book(24)
QUESTION = {"query": "messages lost when the network is slow", "top_k": 3}
UNTITLED = next(one.path for one in PASSAGES if one.page == 0)
OK = {"status": "ok", "qdrant": True, "postgres": True}


def chunk_id(passage: Passage) -> str:
    return f"doc-{passage.page + 1:03d}-{passage.index + 1:04d}"


def payload(passage: Passage) -> dict[str, Any]:
    return {
        "chunk_id": chunk_id(passage),
        "text": passage.text,
        "source_path": passage.path,
        "slug": f"old-{passage.slug}",
        "title": passage.title,
        "order_index": passage.index + 1,
    }


def by_id(number: int = 24) -> dict[str, dict[str, Any]]:
    return {chunk_id(one): payload(one) for one in book(number)}


@dataclass
class SetUp:
    """Every part can be stopped on its own."""

    qdrant: Service
    embedding: embedding_service.Service
    line: Line
    postgres: PostgresService
    schema: str

    @property
    def table(self) -> str:
        return f"{self.schema}.documents"

    def settings(self, **more: Any) -> Any:
        given = {
            "collection": "book",
            "qdrant_url": self.qdrant.url,
            "database_url": SecretStr(self.line.url),
            "database_schema": f"{self.schema}_ours",
            "embedder": "openai",
            "embed_url": f"{self.embedding.url}/v1",
            "embed_model": "words",
            "embed_dimensions": OPENAI_SIZE,
            "openai_api_key": SecretStr(self.embedding.key),
            **more,
        }
        return load(**{name: value for name, value in given.items() if value is not None})

    def environment(self) -> str:
        return (
            f"QDRANT_URL={self.qdrant.url}\nDATABASE_URL={self.line.url}\n"
            f"SUREFIND_COLLECTION=book\nSUREFIND_DATABASE_SCHEMA={self.schema}_ours\n"
            f"SUREFIND_EMBEDDER=openai\nSUREFIND_EMBED_URL={self.embedding.url}/v1\n"
            f"SUREFIND_EMBED_MODEL=words\nSUREFIND_EMBED_DIMENSIONS={OPENAI_SIZE}\n"
            f"OPENAI_API_KEY={self.embedding.key}\n"
        )

    def execute(self, statement: str) -> None:
        self.postgres.execute(statement.format(table=self.table))

    def stop_postgres(self) -> None:
        self.line.away = True
        self.line.cut()

    def start_postgres(self) -> None:
        self.line.away = False

    async def fill(self) -> None:
        self.postgres.execute(f"CREATE SCHEMA {self.schema}")
        url = self.postgres.with_options(options=f"-csearch_path={self.schema}")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(TABLE.encode())
            for one in PASSAGES:
                connection.execute(
                    "INSERT INTO documents VALUES (%s, %s, %s, %s, %s, %s)",
                    [
                        chunk_id(one),
                        f"new/{one.path}",
                        f"new-{one.slug}",
                        None if one.page == 0 else f"New {one.title}",
                        one.index + 1,
                        "only an excerpt",
                    ],
                )
        rows = await WordEmbedder(OPENAI_SIZE).embed_passages([one.text for one in PASSAGES])
        client = client_of(self.qdrant.address)
        params = models.VectorParams(size=OPENAI_SIZE, distance=models.Distance.COSINE)
        await client.create_collection("book", vectors_config=params)
        points = [
            models.PointStruct(id=one.uuid, vector=row.tolist(), payload=payload(one))
            for one, row in zip(PASSAGES, rows, strict=True)
        ]
        await client.upsert("book", points, wait=True)
        await client.close()
        # What `surefind connect --yes` saves.
        Path("surefind.toml").write_text(
            f'[connected.book]\ndimensions = {OPENAI_SIZE}\n[connected.book.map]\ntext = "text"\n'
            'id = "chunk_id"\nsource_path = "source_path"\nslug = "slug"\ntitle = "title"\n'
            'position = "order_index"\n[connected.book.fields]\nchunk_id = ["text"]\n'
            'source_path = ["text"]\n'
        )


@pytest.fixture
async def parts(postgres: PostgresService, schema: str) -> AsyncIterator[SetUp]:
    with qdrant_http.serve() as qdrant, embedding_service.serve() as embedding:
        async with line_to(postgres) as line:
            made = SetUp(qdrant, embedding, line, postgres, schema)
            await made.fill()
            yield made


@dataclass
class Served:
    application: Application
    client: httpx2.AsyncClient

    async def search(self, **question: Any) -> list[dict[str, Any]]:
        answer = await self.client.post("/search", json={**QUESTION, **question})
        assert answer.status_code == 200, answer.text
        assert answer.json().keys() == {"query", "results"}
        return list(answer.json()["results"])

    async def health(self, path: str = "/health") -> tuple[int, dict[str, Any]]:
        answer = await self.client.get(path)
        return answer.status_code, answer.json()

    async def close(self) -> None:
        await self.client.aclose()
        await self.application.close()


async def served(settings: Any) -> Served:
    application = Application(settings)
    transport = httpx2.ASGITransport(create_app(application))
    client = httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60)
    return Served(application, client)


@pytest.fixture
async def service(parts: SetUp) -> AsyncIterator[Served]:
    """With the setting `documents_table`."""
    opened = await served(parts.settings(documents_table=parts.table))
    yield opened
    await opened.close()


# --- the join ---------------------------------------------------------------------------------


async def test_path_slug_and_title_are_the_tables_and_the_snippet_is_the_payloads(
    service: Served,
) -> None:
    results = await service.search(top_k=20)
    known = by_id()
    assert len(results) == 20
    for one in results:
        stored = known[one["chunk_id"]]
        assert one["snippet"] == stored["text"]
        assert one["source_path"] == f"new/{stored['source_path']}"
        assert one["slug"] == stored["slug"].replace("old-", "new-")
        untitled = stored["source_path"] == UNTITLED
        assert one["title"] == (None if untitled else f"New {stored['title']}")
    assert {one["title"] for one in results} > {None}


async def test_what_is_written_into_the_table_is_in_the_next_answer(
    service: Served, parts: SetUp
) -> None:
    [before] = await service.search(top_k=1)
    parts.execute("UPDATE {table} SET slug = 'moved'")
    [after] = await service.search(top_k=1)
    assert (before["chunk_id"], after["slug"]) == (after["chunk_id"], "moved")


async def test_a_chunk_without_a_row_is_shown_by_its_payload(
    service: Served, parts: SetUp, caplog: pytest.LogCaptureFixture
) -> None:
    whole = await service.search()
    lost = whole[0]["chunk_id"]
    parts.execute(f"DELETE FROM {{table}} WHERE chunk_id = '{lost}'")
    results = await service.search()
    assert [one["chunk_id"] for one in results] == [one["chunk_id"] for one in whole]
    stored = by_id()[lost]
    for key in ("source_path", "slug", "title"):
        assert results[0][key] == stored[key]
    assert results[1] == whole[1]
    assert f"has no row for chunk {lost}" in caplog.text
    assert (await service.health())[1] == OK


async def test_pages_are_those_of_the_table_with_the_texts_of_the_payloads(
    service: Served,
) -> None:
    listed = (await service.client.get("/documents")).json()["documents"]
    assert all(one["source_path"].startswith("new/docs/") for one in listed)
    path = listed[0]["source_path"]
    chunks = (await service.client.get(f"/documents/{path}/chunks")).json()["chunks"]
    known = by_id()
    assert [one["text"] for one in chunks] == [known[one["chunk_id"]]["text"] for one in chunks]
    assert [one["position"] for one in chunks] == list(range(len(chunks)))
    around = await service.client.get(f"/chunks/{chunks[1]['chunk_id']}/neighbours")
    assert [one["chunk_id"] for one in around.json()["chunks"]] == [
        one["chunk_id"] for one in chunks[:3]
    ]


async def test_a_table_may_be_named_for_one_connected_collection_alone(parts: SetUp) -> None:
    toml = Path("surefind.toml")
    named = toml.read_text().replace("dimensions", f'documents_table = "{parts.table}"\ndimensions')
    toml.write_text(named)
    opened = await served(parts.settings(collection="other"))
    answer = await opened.client.post("/retrieve", json={**QUESTION, "collections": ["book"]})
    await opened.close()
    assert answer.status_code == 200, answer.text
    assert {hit["slug"][:4] for hit in answer.json()["hits"]} == {"new-"}
    assert answer.json()["status"] == "success"


async def test_without_a_table_the_payload_says_it_all(parts: SetUp) -> None:
    opened = await served(parts.settings(database_url=None))
    results = await opened.search()
    health = await opened.health()
    await opened.close()
    for one in results:
        stored = by_id()[one["chunk_id"]]
        assert {key: one[key] for key in ("source_path", "slug", "title")} == {
            key: stored[key] for key in ("source_path", "slug", "title")
        }
    assert health == (200, OK)


async def test_a_table_without_a_database_is_refused(parts: SetUp) -> None:
    application = Application(parts.settings(database_url=None, documents_table="documents"))
    with pytest.raises(InputError, match="DATABASE_URL is not set"):
        await application.serving.health()
    await application.close()


# --- health -----------------------------------------------------------------------------------


async def test_health_asks_each_part_on_its_own_and_embeds_nothing(
    service: Served, parts: SetUp
) -> None:
    await service.search()
    asked = len(parts.embedding.requests)
    for _ in range(100):
        assert await service.health() == (200, OK)
    assert len(parts.embedding.requests) == asked

    parts.stop_postgres()
    degraded = {"status": "degraded", "qdrant": True, "postgres": False}
    assert await service.health() == (200, degraded)
    assert await service.health("/api/v1/health") == (200, degraded)
    [hit] = await service.search(top_k=1)
    assert hit["slug"] == by_id()[hit["chunk_id"]]["slug"]

    parts.start_postgres()
    while await service.health() != (200, OK):  # noqa: ASYNC110 - it alone knows
        await asyncio.sleep(0.05)

    parts.qdrant.always = CUT
    only_qdrant = {"status": "error", "qdrant": False, "postgres": True}
    assert await service.health() == (503, only_qdrant)
    assert (await service.client.post("/search", json=QUESTION)).status_code == 503
    assert (await service.client.get("/ready")).status_code == 503

    parts.stop_postgres()
    nothing = {"status": "error", "qdrant": False, "postgres": False}
    assert await service.health() == (503, nothing)
    assert len(parts.embedding.requests) == asked


async def test_health_of_a_service_that_starts_while_qdrant_is_down(
    service: Served, parts: SetUp
) -> None:
    parts.qdrant.always = CUT
    assert await service.health() == (
        503,
        {"status": "error", "qdrant": False, "postgres": True},
    )
    parts.qdrant.always = None
    assert await service.health() == (200, OK)


async def test_a_service_that_starts_while_postgres_is_down_answers_from_payloads(
    service: Served, parts: SetUp, caplog: pytest.LogCaptureFixture
) -> None:
    parts.stop_postgres()
    [hit] = await service.search(top_k=1)
    assert hit["slug"].startswith("old-")
    assert await service.health() == (
        200,
        {"status": "degraded", "qdrant": True, "postgres": False},
    )
    assert "the catalog is unavailable, using the index's copies" in caplog.text


async def test_a_database_that_stops_is_logged_once_and_so_is_its_return(
    service: Served, parts: SetUp, caplog: pytest.LogCaptureFixture
) -> None:
    await service.search()
    parts.stop_postgres()
    for _ in range(3):
        await service.search()
        await service.health()
    assert caplog.text.count("the catalog failed, using the index's copies") == 1
    assert caplog.text.count("health: the catalog is down") == 1
    parts.start_postgres()
    while await service.health() != (200, OK):  # noqa: ASYNC110 - it alone knows
        await asyncio.sleep(0.05)
    assert caplog.text.count("health: the catalog is back up") == 1


async def test_a_part_that_does_not_answer_is_down_and_does_not_hold_up_the_other(
    service: Served, parts: SetUp
) -> None:
    await service.search()
    parts.qdrant.always = SILENT
    hasty = HealthCheck(
        service.application.parts.reader, CircuitBreaker("the embedder"), timeout_s=3.0
    )
    assert await hasty() == Health(index=False, catalog=True, embedder=True)


async def test_strict_health_takes_a_degraded_service_out_of_rotation(parts: SetUp) -> None:
    strict = await served(parts.settings(documents_table=parts.table, strict_health=True))
    assert await strict.health() == (200, OK)
    parts.stop_postgres()
    assert await strict.health() == (
        503,
        {"status": "degraded", "qdrant": True, "postgres": False},
    )
    assert await strict.search()
    await strict.close()


@pytest.mark.parametrize(
    "broken", ["DROP TABLE {table}", "ALTER TABLE {table} RENAME slug TO name"]
)
async def test_a_table_that_is_not_the_contracts_degrades_and_is_reported(
    service: Served, parts: SetUp, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    parts.execute(broken)
    assert (await service.search())[0]["slug"].startswith("old-")
    assert (await service.health())[1]["status"] == "degraded"
    assert "no table" in caplog.text or "no column slug" in caplog.text


async def test_an_embedding_service_that_fails_is_degraded_until_it_answers_again(
    service: Served, parts: SetUp
) -> None:
    assert await service.health() == (200, OK)
    parts.embedding.always = embedding_service.Trouble(404)
    assert (await service.client.post("/search", json=QUESTION)).status_code == 502
    asked = len(parts.embedding.requests)
    for _ in range(10):
        assert await service.health() == (200, {**OK, "status": "degraded"})
    assert len(parts.embedding.requests) == asked
    parts.embedding.always = None
    assert await service.search()
    assert await service.health() == (200, OK)


# --- connect and doctor -----------------------------------------------------------------------


@pytest.fixture
def run(parts: SetUp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """(exit code, stdout, stderr) of a command, in a thread: the line to the database is here."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["surefind", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    async def running(*arguments: str, table: str | None = None) -> tuple[int, str, str]:
        named = f"SUREFIND_DOCUMENTS_TABLE={table}\n" if table else ""
        Path(".env").write_text(parts.environment() + named)
        return await asyncio.to_thread(command, *arguments)

    return running


async def test_connect_joins_a_table_and_every_command_uses_it(parts: SetUp, run: Any) -> None:
    Path("surefind.toml").unlink()
    code, out, err = await run("connect", "-c", "book", "--yes", "--documents-table", parts.table)
    assert code == 0, err
    assert f"joined: the table {parts.table}" in out
    assert "24 rows, one for each of 24 sampled chunks" in out
    assert f'documents_table = "{parts.table}"' in Path("surefind.toml").read_text()
    code, out, err = await run("search", "messages lost", "--json")
    assert code == 0, err
    assert '"slug": "new-' in out


@pytest.mark.parametrize(
    ("break_it", "table", "code", "said"),
    [
        ("SELECT 1", "nowhere", 4, "there is no table nowhere"),
        ("TRUNCATE {table}", None, 2, "0 rows, but none for 24 of 24 sampled chunks"),
        ("SELECT 1", "two words", 2, "must be a table name"),
    ],
)
async def test_a_table_that_does_not_fit_is_refused_by_connect(
    parts: SetUp, run: Any, break_it: str, table: str | None, code: int, said: str
) -> None:
    parts.execute(break_it)
    ended, _, err = await run(
        "connect", "-c", "book", "--yes", "--documents-table", table or parts.table
    )
    assert ended == code
    assert said in err
    assert "documents_table" not in Path("surefind.toml").read_text()


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        ("ALTER TABLE {table} DROP COLUMN slug", "no column slug"),
        ("TRUNCATE {table}", "0 rows, but none for 24 of 24 sampled chunks"),
        ("DROP TABLE {table}", "there is no table documents"),
    ],
)
async def test_connect_says_why_it_joins_no_table(
    parts: SetUp, run: Any, break_it: str, said: str
) -> None:
    """Nobody has named the table: the collection is connected without it."""
    parts.line.url = f"{parts.line.url} options=-csearch_path={parts.schema}"
    parts.execute(break_it)
    code, out, err = await run("connect", "-c", "book", "--yes")
    assert code == 0, err
    [limit] = [line for line in out.splitlines() if "no table is joined" in line]
    assert said in limit
    assert "documents_table" not in Path("surefind.toml").read_text()


async def test_connect_refuses_the_table_of_the_setting_if_it_does_not_fit(
    parts: SetUp, run: Any
) -> None:
    code, _, err = await run("connect", "-c", "book", "--yes", table="nowhere")
    assert code == 4
    assert "there is no table nowhere" in err


@pytest.mark.parametrize("joined", [True, False], ids=["with a table", "without"])
async def test_the_doctor_has_nothing_against_a_healthy_connected_collection(
    parts: SetUp, run: Any, *, joined: bool
) -> None:
    code, out, err = await run("doctor", table=parts.table if joined else None)
    assert code == 0, out
    assert re.fullmatch("surefind: index: .*, catalog: .*\n", err)
    assert "warning" not in out
    assert "PROBLEM" not in out
    assert "connected: 24 points; mapped: text, source_path, slug, title, position, id" in out
    assert ("one for each of 24 sampled chunks" in out) == joined
    assert not parts.postgres.execute(
        f"SELECT 1 FROM pg_namespace WHERE nspname = '{parts.schema}_ours'"
    ), "looking made tables in somebody else's database"


@pytest.mark.parametrize(
    ("break_it", "code", "said"),
    [
        ("DROP TABLE {table}", 1, "PROBLEM  book"),
        ("ALTER TABLE {table} DROP title", 1, "no column title"),
        ("TRUNCATE {table}", 1, "none for 24 of 24 sampled chunks"),
        ("DELETE FROM {table} WHERE chunk_id = 'doc-001-0001'", 0, "none for 1 of 24"),
    ],
)
async def test_the_doctor_names_what_is_wrong_with_the_table(
    parts: SetUp, run: Any, break_it: str, code: int, said: str
) -> None:
    parts.execute(break_it)
    ended, out, _ = await run("doctor", table=parts.table)
    assert (ended, said in out) == (code, True), out
    assert "PROBLEM" in out or "warning" in out


async def test_the_doctor_names_what_is_wrong_with_the_collection(parts: SetUp, run: Any) -> None:
    toml = Path("surefind.toml")
    sound = toml.read_text()
    toml.write_text(sound.replace('text = "text"', 'text = "body"'))
    code, out, _ = await run("doctor")
    assert (code, "none of 24 sampled points has a text in body" in out) == (1, True), out

    toml.write_text(sound.replace(f"dimensions = {OPENAI_SIZE}", "dimensions = 7"))
    code, out, _ = await run("doctor")
    assert (code, "has changed since it was connected" in out) == (1, True), out

    other = (
        '[connected.book.embedder]\nprovider = "x"\nmodel = "y"\n'
        f'dimensions = {OPENAI_SIZE}\nweights = ""\ninput_types = ""\n'
    )
    toml.write_text(sound + other)
    code, out, _ = await run("doctor")
    assert (code, "it was connected with the embedder x/y" in out) == (1, True), out

    toml.write_text(sound)
    parts.qdrant.delete("book")
    code, out, _ = await run("doctor")
    assert (code, "has no collection 'book'" in out) == (1, True), out

    parts.qdrant.always = Trouble(status=500)
    code, out, _ = await run("doctor")
    assert (code, "PROBLEM  book" in out) == (4, True), out
