"""What a client sees when something behind the API fails."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from surefind.bootstrap import Application
from surefind.errors import EmbeddingError, StoreError
from surefind.interfaces.http.app import create_app
from surefind.model import Query, SearchResult
from surefind.ports import Vector
from surefind.services.encoding.cached_embedder import CachedEmbedder
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
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_embedder: CachedEmbedder, _query: str) -> Vector:
        raise EmbeddingError("the embedding service is down")

    monkeypatch.setattr(CachedEmbedder, "embed_query", fail)
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


async def test_a_bug_is_a_500_without_internals_and_is_logged(
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(_query: Query) -> SearchResult:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(application.searching, "search", fail)
    async with client_of(application) as client:
        answer = await client.post("/search", json={"query": "tea"})
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal_error"
    assert "secret" not in answer.text
    assert "the secret inside" in caplog.text


async def test_a_catalog_that_fails_while_serving_is_degraded(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_catalog: object, _chunk_id: str) -> None:
        raise StoreError("the catalog is unavailable")

    monkeypatch.setattr("surefind.adapters.sqlite.generations.SqliteCatalog.chunk", fail)
    async with client_of(application) as client:
        answer = await client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "degraded", "qdrant": True, "postgres": False}
