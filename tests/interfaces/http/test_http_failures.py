"""What a client sees when something behind the API fails."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from support.fakes import WatchedEmbedder
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.bootstrap import Application
from surefind.errors import EmbeddingError
from surefind.interfaces.http.app import create_app
from surefind.model import SearchResult
from surefind.settings import load


@pytest.fixture
async def application(ingested: Path) -> AsyncIterator[Application]:
    application = Application(load(data_dir=ingested / ".surefind"))
    yield application
    await application.close()


def client_of(application: Application) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(create_app(application), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def test_a_failing_embedder_is_a_502_and_health_does_not_ask_it(
    ingested: Path, bge: BgeSmallEmbedder
) -> None:
    async def fail(_query: str) -> None:
        raise EmbeddingError("the embedding service is down")

    settings = load(data_dir=ingested / ".surefind")
    application = Application(settings, embedder=WatchedEmbedder(bge, fail))
    async with client_of(application) as client:
        answer = await client.post("/search", json={"query": "tea"})
        assert answer.status_code == 502
        assert answer.json() == {
            "error": "upstream_error",
            "message": "the embedding service failed; see the server log, or try again later",
        }
        lexical = await client.post("/search", json={"query": "vinegar", "mode": "lexical"})
        assert lexical.status_code == 200
        for _ in range(100):
            assert (await client.get("/health")).status_code == 200
    await application.close()


async def test_a_bug_is_a_500_without_internals_and_is_logged(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_result: SearchResult) -> None:
        raise RuntimeError("the secret inside")

    application.parts.observers.append(fail)
    async with client_of(application) as client:
        answer = await client.post("/search", json={"query": "tea"})
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal_error"
    assert "secret" not in answer.text
    assert "the secret inside" in caplog.text


async def test_a_damaged_catalog_is_degraded(home: Path) -> None:
    (home / ".surefind/collections/docs/0001/catalog.sqlite").write_bytes(b"damaged" * 500)
    application = Application(load(data_dir=home / ".surefind"))
    async with client_of(application) as client:
        answer = await client.get("/health")
    await application.close()
    assert answer.status_code == 200
    assert answer.json() == {"status": "degraded", "qdrant": True, "postgres": False}
