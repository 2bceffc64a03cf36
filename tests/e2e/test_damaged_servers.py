"""What somebody alters in PostgreSQL or in a Qdrant server: a search never returns a text that does
not match its hash, doctor names the damage and the command that heals it, and that command does."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.fakes import WordEmbedder
from support.postgres import PostgresService
from support.qdrant.http_server import running
from support.qdrant.service import Address, unique
from surefind.adapters.postgres.connection import Database, Limits
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.remote_calls import CallPolicy
from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from surefind.errors import StoreChanged, StoreError
from surefind.model import ChunkRecord, Mode
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.readers import Readers
from surefind.services.maintenance.doctor_examination import Examiner
from surefind.services.maintenance.doctor_findings import CheckSeverity
from surefind.services.maintenance.doctor_repair import Repairer
from unit.installation import PAGES, Installation

pytestmark = pytest.mark.thorough

TEXT, ALTERED = "run the installer", "remove the installer"


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with running() as found:
        yield found


@pytest.fixture
async def cataloged(
    postgres: PostgresService, schema: str, tmp_path: Path
) -> AsyncIterator[Installation]:
    """Its catalog is in PostgreSQL."""
    home = Installation(tmp_path)
    home.catalogs = PostgresCatalogStore(Database(postgres.url, schema, Limits()))
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    yield home
    await home.close()
    await home.catalogs.close()


@pytest.fixture
async def indexed(address: Address, tmp_path: Path) -> AsyncIterator[tuple[Installation, str]]:
    """Its index is in a Qdrant server, in the collection of that name."""
    prefix = unique("") + "-"
    home = Installation(tmp_path)
    place = ServerAddress(address.url, address.key, None, timeout_s=30)
    home.index = QdrantIndexStore(place, CallPolicy(print), home.catalogs.identity, prefix=prefix)
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    yield home, f"{prefix}docs--0001"
    await home.close()
    await home.index.close()


async def embedder() -> CachedEmbedder:
    return CachedEmbedder(WordEmbedder(), None)


def cache_of(home: Installation) -> SqliteEmbeddingCache:
    return SqliteEmbeddingCache(home.root / "cache" / "embeddings.sqlite", print)


def examiner(home: Installation) -> Examiner:
    return Examiner(
        home.index, home.catalogs, embedder, home.terms.name, cache=lambda: cache_of(home)
    )


def repairer(home: Installation) -> Repairer:
    return Repairer(home.index, home.catalogs, embedder, home.terms, "test", lambda: cache_of(home))


async def problem(home: Installation) -> str:
    found = [
        one
        for one in (await examiner(home).examine()).findings
        if one.severity != CheckSeverity.FINE
    ]
    assert len(found) == 1, found
    return found[0].message


async def installer(home: Installation) -> ChunkRecord:
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        [record] = [one async for one in generation.catalog.chunks() if TEXT in one.chunk.text]
        return record


def call(address: Address, method: str, path: str, body: object) -> Any:
    headers = {"api-key": address.key} if address.key else {}
    answer = httpx2.request(
        method, f"{address.url}/collections/{path}?wait=true", json=body, headers=headers
    )
    answer.raise_for_status()
    return answer.json()


async def test_an_altered_text_in_postgres(
    cataloged: Installation, postgres: PostgresService, schema: str
) -> None:
    home, before = cataloged, await cataloged.texts()
    postgres.execute(f"UPDATE \"{schema}\".chunk SET text = replace(text, '{TEXT}', '{ALTERED}')")
    hits = (await home.search("installer")).hits
    assert [TEXT in hit.record.chunk.text for hit in hits[:1]] == [True], "the index stands in"
    assert not [hit for hit in hits if ALTERED in hit.record.chunk.text]
    message = await problem(home)
    assert "its text does not match its hash" in message
    assert "`surefind ingest --rebuild`" in message
    await home.ingest(PAGES, rebuild=True)
    assert (await examiner(home).examine()).sound
    assert await home.texts() == before


async def test_an_altered_text_in_a_qdrant_server(
    indexed: tuple[Installation, str], address: Address
) -> None:
    home, name = indexed
    before, record = await home.texts(), await installer(home)
    point = str(record.chunk.point_id)
    altered = {"payload": {"text": record.chunk.text.replace(TEXT, ALTERED)}, "points": [point]}
    call(address, "POST", f"{name}/points/payload", altered)
    assert (await home.search("installer")).hits[0].record == record, "it comes from the catalog"
    assert record.chunk.id in await problem(home)
    await home.lose_catalog()
    with pytest.raises(StoreChanged, match="its text does not match its hash"):
        await home.search("installer")
    await home.readers.close()
    home.readers = Readers(home.index, home.catalogs)
    await repair(home)
    assert await home.texts() == before


def replace_vector(address: Address, name: str, point: str) -> None:
    """By another one of length 1, as the server itself would store it."""
    asked = {"ids": [point], "with_payload": True, "with_vector": True}
    [held] = call(address, "POST", f"{name}/points", asked)["result"]
    held["vector"]["dense"] = [1.0] + [0.0] * 31
    kept = {name: held[name] for name in ("id", "vector", "payload")}
    call(address, "PUT", f"{name}/points", {"points": [kept]})


async def test_an_altered_vector_in_a_qdrant_server(
    indexed: tuple[Installation, str], address: Address
) -> None:
    home, name = indexed
    before = await home.search("run the installer", mode=Mode.DENSE)
    record = await installer(home)
    replace_vector(address, name, str(record.chunk.point_id))
    message = await problem(home)
    assert f"the vector of chunk {record.chunk.id} is not the one that was embedded" in message
    assert "`surefind doctor --repair`" in message
    await repair(home)
    after = await home.search("run the installer", mode=Mode.DENSE)
    assert after.hits[0].similarity == before.hits[0].similarity


async def test_a_deleted_point_in_a_qdrant_server(
    indexed: tuple[Installation, str], address: Address
) -> None:
    home, name = indexed
    before, record = await home.texts(), await installer(home)
    await home.readers.close()
    home.readers = Readers(home.index, home.catalogs)
    call(address, "POST", f"{name}/points/delete", {"points": [str(record.chunk.point_id)]})
    with pytest.raises(StoreError, match=r"4 of 5 chunks; rebuild it with `surefind ingest`"):
        await home.search("installer")
    assert record.chunk.id in await problem(home)
    await repair(home)
    assert await home.texts() == before


async def repair(home: Installation) -> None:
    for one in (await examiner(home).examine()).repairs:
        await repairer(home).repair(one, lambda _: None)
    assert (await examiner(home).examine()).sound
