"""To a collection of others nothing is ever written, and what fails is said."""

import re
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from qdrant_client import models

from contract.connected.collections import asked
from support.foreign import EMBEDDER, Door, Filling, client_of, proposed
from support.payload_shapes import book
from support.qdrant.http_server import serve
from support.qdrant.service import BROKEN, CUT, SILENT, Address, Service, Trouble
from surefind.errors import InputError, StoreError, UnknownCollection
from surefind.model import (
    AnyOf,
    Distance,
    Expand,
    GenerationRef,
    PayloadMapping,
    Role,
)
from surefind.ports import DenseQuery

pytestmark = pytest.mark.anyio


@pytest.fixture
def service() -> Iterator[Service]:
    with serve(key="full", reading_key="reading") as made:
        yield made


async def test_no_request_that_writes_ever_reaches_the_server(service: Service) -> None:
    name = await Filling().into(service.address)
    service.requests.clear()
    reading = Address(service.url, "reading")
    proposal = await proposed(reading, name)
    opened = Door(reading, proposal.connection)
    await asked(opened, top_k=10, where=(AnyOf("title", ("Topics",)),))
    await asked(opened, expand=Expand.DOCUMENT)
    async with opened.readers.of(name).lease() as generation:
        assert generation.catalog is not None
        await generation.catalog.documents()
    ref = GenerationRef(name, 1)
    for refused in (
        opened.indexes.create(ref, 3, None),
        opened.indexes.drop(ref),
        opened.indexes.require_room(1, 1),
        opened.indexes.published(ref),
        opened.catalogs.create(ref, None),
        opened.catalogs.drop(ref),
        opened.catalogs.point_to(ref),
        opened.catalogs.next_ref(name),
    ):
        with pytest.raises(InputError, match="only reads it"):
            await refused
    await opened.close()
    reads = r"^(GET /|POST /collections/[^/]+/points(/scroll|/query|/query/batch|/count)?$)"
    assert service.requests
    assert [one.line for one in service.requests if not re.search(reads, one.line)] == []


@pytest.mark.parametrize("trouble", [BROKEN, CUT, SILENT, Trouble(body="[]")])
async def test_a_failing_server_is_an_error_that_names_it(
    service: Service, trouble: Trouble
) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    proposal = await proposed(service.address, name)
    opened = Door(service.address, proposal.connection, timeout_s=0.3 if trouble.silent else 5.0)
    await asked(opened)
    service.always = replace(trouble, on="/points/query")
    with pytest.raises(StoreError, match=r"Qdrant server at 127\.0\.0\.1"):
        await asked(opened)
    service.always = None
    assert (await asked(opened)).hits
    await opened.close()


async def test_a_wrong_key_is_named(service: Service) -> None:
    with pytest.raises(StoreError, match="QDRANT_API_KEY"):
        await proposed(Address(service.url, "wrong"), "x")


async def test_a_collection_that_vanishes_is_reported_as_deleted(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    opened = Door(service.address, (await proposed(service.address, name)).connection)
    await asked(opened)
    service.delete(name)
    with pytest.raises(StoreError, match="no longer has the collection"):
        await asked(opened)
    opened.now += 60
    with pytest.raises(UnknownCollection, match="has no collection"):
        await asked(opened)
    await opened.close()


async def test_a_collection_of_another_making_since_then_is_refused(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    connection = (await proposed(service.address, name)).connection
    service.delete(name)
    await Filling(passages=book(4), distance=Distance.DOT).into(service.address, name)
    opened = Door(service.address, connection)
    with pytest.raises(StoreError, match="has changed since it was connected"):
        await asked(opened)
    await opened.close()


async def test_texts_that_moved_to_another_key_are_noticed(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    connection = (await proposed(service.address, name)).connection
    moved = replace(connection, mapping=PayloadMapping({Role.TEXT: ("body",)}))
    opened = Door(service.address, moved)
    result = await asked(opened)
    await opened.close()
    assert "has a text in body any more" in caplog.text
    assert result.hits[0].record.flaws == ("text is missing",)


async def test_new_points_are_seen_within_half_a_minute(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    opened = Door(service.address, (await proposed(service.address, name)).connection)
    assert (await asked(opened)).chunks == 4
    client = client_of(service.address)
    row = (await EMBEDDER.embed_passages(["new words here"]))[0]
    point = models.PointStruct(id=str(UUID(int=9)), vector=row.tolist(), payload={"text": "new"})
    await client.upsert(name, [point], wait=True)
    await client.close()
    opened.now += 60
    assert (await asked(opened)).chunks == 5
    await opened.close()


async def test_an_unchecked_connection_is_checked_when_it_is_opened(service: Service) -> None:
    name = await Filling().into(service.address)
    connection = (await proposed(service.address, name)).connection
    opened = Door(service.address, replace(connection, embedder=None))
    assert (await asked(opened)).hits
    await opened.close()
    other = await Filling(passages=book(8)).into(service.address)
    client = client_of(service.address)
    rows = await EMBEDDER.embed_passages([one.text for one in book(8)])
    await client.upsert(
        other,
        [
            models.PointStruct(id=one.uuid, vector=row[::-1].tolist(), payload={"text": one.text})
            for one, row in zip(book(8), np.roll(rows, 5, axis=1), strict=True)
        ],
    )
    await client.close()
    wrong = Door(service.address, replace(connection, collection=other, embedder=None))
    with pytest.raises(InputError, match="another model"):
        await asked(wrong)
    await wrong.close()


async def test_a_probe_of_nothing_asks_nothing(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    opened = Door(service.address, (await proposed(service.address, name)).connection)
    index = await opened.indexes.open(GenerationRef(name, 1))
    vector = await EMBEDDER.embed_query("x")
    [found] = await index.search([DenseQuery(vector, 0)])
    assert found.points == []
    with pytest.raises(StoreError, match="no vector for the point"):
        await index.vectors([UUID(int=1)])
    gone = await index.payloads([UUID(int=1)])
    assert gone[UUID(int=1)].flaws == ("it was removed during the search",)
    await opened.close()
