"""The index in a Qdrant server, as users of the command line and of HTTP meet it.

Runs against the server that SUREFIND_TEST_QDRANT_URL names, where one is named; what needs a server
that misbehaves is always on loopback.
"""

import json
import shutil
import socket
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from qdrant_client import QdrantClient
from typer.testing import CliRunner, Result

from support import embedding_service
from support.commands import surefind
from support.homes import copy_home
from support.qdrant.http_server import running, serve
from support.qdrant.service import BROKEN, Address, Trouble, unique
from surefind.bootstrap import Application, IngestRequest
from surefind.errors import InputError, StoreError, StoreRefused
from surefind.interfaces.cli import app
from surefind.interfaces.http.app import create_app
from surefind.services.encoding.circuit_breaker import FAILURES
from surefind.settings import load

pytestmark = pytest.mark.thorough

QUESTIONS = ("how do I descale it?", "E42", "teapot --status", "where do I plug in the cable")


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def client(address: Address) -> Iterator[QdrantClient]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = QdrantClient(url=address.url, api_key=address.key, check_compatibility=False)
    yield opened
    opened.close()


@pytest.fixture
def prefix(client: QdrantClient) -> Iterator[str]:
    made = unique("") + "-"
    yield made
    remove(client, made)


def remove(client: QdrantClient, prefix: str) -> None:
    for held in client.get_collections().collections:
        if held.name.startswith(prefix):
            client.delete_collection(held.name)


def environment(address: Address, prefix: str) -> dict[str, str]:
    key = {"QDRANT_API_KEY": address.key} if address.key else {}
    return {"QDRANT_URL": address.url, "SUREFIND_QDRANT_PREFIX": prefix, **key}


@pytest.fixture(scope="module")
def served(
    ingested: Path,
    address: Address,
    client: QdrantClient,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, dict[str, str]]]:
    """The same pages as in `ingested`, their index in the server; tests only read it."""
    home = tmp_path_factory.mktemp("served")
    shutil.copytree(ingested / "docs", home / "docs")
    names = environment(address, unique("read") + "-")
    done = surefind("ingest", "docs", cwd=home, **names)
    assert done.returncode == 0, done.stderr
    assert "disk" not in done.stderr
    assert not list(home.glob(".surefind/collections/docs/*/index")), "nothing of it is here"
    yield home, names
    remove(client, names["SUREFIND_QDRANT_PREFIX"])


@asynccontextmanager
async def application(home: Path, **settings: Any) -> AsyncIterator[Application]:
    told: list[str] = []
    opened = Application(load(data_dir=home / ".surefind", **settings), told.append)
    try:
        yield opened
    finally:
        await opened.close()


def settings_of(address: Address, prefix: str) -> dict[str, Any]:
    return {"qdrant_url": address.url, "qdrant_api_key": address.key, "qdrant_prefix": prefix}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line, within this process: importing the client takes longer than the rest."""

    def run(home: Path, names: dict[str, str], *arguments: str) -> Result:
        monkeypatch.chdir(home)
        return CliRunner().invoke(app, arguments, env=names)

    return run


async def answers(opened: Application) -> list[Any]:
    found = []
    transport = httpx2.ASGITransport(create_app(opened))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for question in QUESTIONS:
            for options in (
                {"mode": "hybrid"},
                {"mode": "hybrid", "group_by": "document"},
                {"mode": "dense"},
                {"mode": "lexical"},
            ):
                body = {"query": question, "top_k": 6, **options}
                answer = await http.post("/retrieve", json=body)
                assert answer.status_code == 200, answer.text
                found.append(
                    [
                        (hit["chunk_id"], round(hit["score"], 3), hit["similarity"])
                        for hit in answer.json()["hits"]
                    ]
                )
        assert (await http.get("/ready")).json() == {"status": "ready"}
        health = (await http.get("/health")).json()
        assert health["status"] == "ok"
    return found


def near(got: list[Any], wanted: list[Any]) -> None:
    for ours, theirs in zip(got, wanted, strict=True):
        assert [hit[0] for hit in ours] == [hit[0] for hit in theirs]
        for mine, other in zip(ours, theirs, strict=True):
            assert mine[1] == pytest.approx(other[1], abs=2e-3)
            assert mine[2] == pytest.approx(other[2], abs=1e-4)


async def test_a_server_answers_as_the_embedded_index_does(
    ingested: Path, served: tuple[Path, dict[str, str]], address: Address
) -> None:
    """In every mode, and grouped: the same passages, in the same order, with the same scores."""
    home, names = served
    async with application(ingested) as embedded:
        wanted = await answers(embedded)
    async with application(home, **settings_of(address, names["SUREFIND_QDRANT_PREFIX"])) as there:
        got = await answers(there)
    assert all(wanted)
    near(got, wanted)


async def test_three_shards_answer_as_the_embedded_index_does(
    ingested: Path, address: Address, prefix: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    copy_home(ingested, home)
    async with application(ingested) as embedded:
        wanted = await answers(embedded)
    settings = settings_of(address, prefix)
    async with application(home, qdrant_shards=3, **settings) as there:
        report = await ingest(there, home)
        assert report.published
        near(await answers(there), wanted)


def test_the_commands_work_with_a_server(
    ingested: Path, served: tuple[Path, dict[str, str]], command: Callable[..., Result]
) -> None:
    home, names = served
    here = json.loads(command(ingested, {}, "search", QUESTIONS[0], "--json").stdout)
    there = json.loads(command(home, names, "search", QUESTIONS[0], "--json").stdout)
    assert [hit["chunk_id"] for hit in there["hits"]] == [hit["chunk_id"] for hit in here["hits"]]
    assert there["hits"][0]["score"] == pytest.approx(here["hits"][0]["score"], abs=2e-3)
    listed = json.loads(command(home, names, "generations", "list", "--json").stdout)
    assert [generation["generation"] for generation in listed] == [1]
    validated = command(home, names, "validate", "--json")
    beside = command(ingested, {}, "validate", "--json")
    assert validated.exit_code == beside.exit_code, validated.output
    verdicts = [json.loads(done.stdout)["verdict"] for done in (validated, beside)]
    assert verdicts[0] == verdicts[1]


async def ingest(opened: Application, home: Path, **options: Any) -> Any:
    return await opened.ingesting.ingest(IngestRequest(paths=[home / "docs"], **options))


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "docs").mkdir(parents=True)
    for number in range(4):
        (home / "docs" / f"{number}.md").write_text(f"# Page {number}\n\nAbout kettle {number}.")
    return home


async def test_generations_come_go_and_come_back_and_the_alias_with_them(
    pages: Path, address: Address, client: QdrantClient, prefix: str
) -> None:
    async with application(pages, keep_generations=2, **settings_of(address, prefix)) as opened:
        for number in (1, 2, 3):
            (pages / "docs" / "0.md").write_text(f"# Page 0\n\nAbout kettle {number * 100}.")
            report = await ingest(opened, pages)
            assert (report.generation, report.published) == (number, True)
            assert client.count(f"{prefix}docs").count == report.chunks
        await opened.generations.rollback()
        aliases = {held.alias_name: held.collection_name for held in client.get_aliases().aliases}
        assert aliases[f"{prefix}docs"] == f"{prefix}docs--0002"
    kept = {held.name for held in client.get_collections().collections}
    assert {name for name in kept if name.startswith(prefix)} == {
        f"{prefix}docs--0002",
        f"{prefix}docs--0003",
    }


async def test_an_embedded_collection_moves_to_a_server_with_the_next_ingest(
    pages: Path, address: Address, client: QdrantClient, prefix: str
) -> None:
    async with application(pages) as embedded:
        await ingest(embedded, pages)
    async with application(pages, **settings_of(address, prefix)) as opened:
        with pytest.raises(StoreError, match=r"has no collection .*0001; run `surefind ingest`"):
            await opened.parts.reader._current()
        report = await ingest(opened, pages)
        assert (report.generation, report.embedded) == (2, 0), "every vector was in the cache"
        async with opened.parts.reader.lease() as generation:
            assert await generation.index.count() == 4
    assert client.count(f"{prefix}docs").count == 4


async def test_another_model_is_refused_with_both_named(
    served: tuple[Path, dict[str, str]], address: Address
) -> None:
    home, names = served
    where = settings_of(address, names["SUREFIND_QDRANT_PREFIX"])
    with embedding_service.serve() as service:
        other = {"embedder": "openai", "embed_url": service.url, "embed_model": "words"}
        key = embedding_service.KEY
        async with application(home, **where, **other, openai_api_key=key) as opened:
            transport = httpx2.ASGITransport(create_app(opened))
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                body = {"query": "kettle", "mode": "dense"}
                answer = await http.post("/retrieve", json=body)
            assert answer.status_code == 400
            assert "bge-small" in answer.json()["message"]
            assert "openai/words" in answer.json()["message"]
            with pytest.raises(InputError, match=r"bge-small.*openai/words"):
                await opened.ingesting.ingest(IngestRequest(paths=[home / "docs"]))


# --- servers that misbehave -------------------------------------------------------------------


async def test_a_run_that_fails_leaves_what_readers_see_and_nothing_else(pages: Path) -> None:
    with serve() as service:
        async with application(pages, qdrant_url=service.url) as opened:
            await ingest(opened, pages)
            (pages / "docs" / "0.md").write_text("# Page 0\n\nAbout something else.")
            for line in (r"PUT .*/points", r"PUT /collections/[^/]+$", r"PATCH "):
                service.troubles = [Trouble(400, on=line)]
                with pytest.raises(StoreRefused, match="rejected a request"):
                    await ingest(opened, pages)
                assert set(service.collections) == {"docs--0001"}
                assert service.aliases == {"docs": "docs--0001"}
            async with opened.parts.reader.lease() as generation:
                assert await generation.index.count() == 4


async def test_health_and_readiness_speak_for_the_server(pages: Path) -> None:
    with serve() as service:
        async with application(pages, qdrant_url=service.url) as opened:
            await ingest(opened, pages)
            transport = httpx2.ASGITransport(create_app(opened))
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                assert (await http.get("/ready")).status_code == 200
                service.always = BROKEN
                ready, health = await http.get("/ready"), await http.get("/health")
                assert (ready.status_code, health.status_code) == (503, 503)
                assert health.json()["qdrant"] != "ok"
                assert "127.0.0.1" not in ready.text, "hosts are for the log"


async def test_searches_stop_calling_a_server_that_keeps_failing(pages: Path) -> None:
    with serve() as service:
        async with application(pages, qdrant_url=service.url) as opened:
            await ingest(opened, pages)
            transport = httpx2.ASGITransport(create_app(opened))
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                service.always = Trouble(400)
                body = {"query": "about something"}
                failures = [await http.post("/search", json=body) for _ in range(FAILURES)]
                before = len(service.requests)
                refused = await http.post("/search", json=body)
                assert len(service.requests) == before
                assert [answer.status_code for answer in (*failures, refused)] == [503] * 6
                assert refused.headers["retry-after"]


async def test_a_collection_that_somebody_deleted_is_reported_and_built_again(pages: Path) -> None:
    with serve() as service:
        async with application(pages, qdrant_url=service.url) as opened:
            await ingest(opened, pages)
            service.delete("docs--0001")
            with pytest.raises(StoreError, match="has no collection docs--0001"):
                async with opened.parts.reader.lease() as generation:
                    await generation.index.count()
            report = await ingest(opened, pages)
            assert (report.generation, report.embedded) == (2, 0)
            async with opened.parts.reader.lease() as generation:
                assert await generation.index.count() == 4


def test_missing_replicas_are_reported_or_stop_the_ingest(
    pages: Path, command: Callable[..., Result]
) -> None:
    with serve() as service:
        service.peers = {1: "Active", 2: "Active", 3: "Dead"}
        names = {"QDRANT_URL": service.url, "SUREFIND_QDRANT_REPLICAS": "2"}
        names |= {"SUREFIND_QDRANT_SHARDS": "2", "SUREFIND_QDRANT_READ_CONSISTENCY": "majority"}
        done = command(pages, names, "ingest", "docs")
        assert done.exit_code == 0, done.output
        missing = "1 of 2 shards with fewer than 2 active replicas (shard 1 at http://node3:6335: "
        assert f"  replicas {missing}" in done.stdout
        assert f"the collection docs--0001 has {missing}Dead); bring the" in done.stderr
        assert missing in command(pages, names, "doctor").stdout

        (pages / "docs" / "0.md").write_text("# Page 0\n\nAbout another kettle.")
        strict = {**names, "SUREFIND_QDRANT_REQUIRE_REPLICAS": "true"}
        refused = surefind("ingest", "docs", cwd=pages, **strict)
        assert refused.returncode == 4
        assert "SUREFIND_QDRANT_REQUIRE_REPLICAS is set, so nothing was published" in refused.stderr
        assert {*service.collections} == {"docs--0001", "docs--0001--terms"}, "and nothing of 2"
        found = json.loads(command(pages, names, "search", "kettle 0", "--json").stdout)
        assert found["generation"] == 1

        service.peers[3] = "Active"
        done = command(pages, strict, "ingest", "docs", "--json")
        assert json.loads(done.stdout)["replication"] == {
            "complete": True,
            "replicas": 2,
            "active": [2, 2],
            "inactive": [],
        }


def test_a_server_that_is_unavailable_is_one_line_and_exit_code_4(ingested: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = surefind("search", "kettle", cwd=ingested, QDRANT_URL=url, QDRANT_API_KEY="secret-key")
    assert done.returncode == 4
    named, line = done.stderr.splitlines()
    assert named == f"surefind: index: {url} (QDRANT_URL)"
    assert line.startswith("surefind: error: the Qdrant server at 127.0.0.1")
    assert "check QDRANT_URL" in line
    assert "secret-key" not in done.stderr + done.stdout


async def test_without_the_extra_the_error_says_how_to_install_it(
    ingested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    async with application(ingested, qdrant_url="http://localhost:6333") as opened:
        with pytest.raises(InputError, match=r"pip install 'surefind\[qdrant\]'"):
            _ = opened.parts.index
