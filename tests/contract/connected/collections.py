"""A collection that something else filled, opened for reading."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from support.foreign import EMBEDDER, Door, Filling, client_of, proposed
from support.payload_shapes import book
from support.qdrant.service import Address
from surefind.model import (
    Query,
    SearchResult,
)

QUESTION = "messages lost when the network is slow"


@asynccontextmanager
async def connected(
    address: Address, filling: Filling | None = None, **changes: Any
) -> AsyncIterator[Door]:
    name = await (filling or Filling()).into(address)
    proposal = await proposed(address, name)
    door = Door(address, replace(proposal.connection, **changes))
    try:
        yield door
    finally:
        await door.close()
        client = client_of(address)
        await client.delete_collection(name)
        await client.close()


async def asked(door: Door, text: str = QUESTION, **options: Any) -> SearchResult:
    name = door.collection.connection.name
    return await door.searcher.search(Query(text, collection=name, **options))


async def true_cosines(text: str = QUESTION, passages: int = 48) -> dict[str, float]:
    pages = book(passages)
    rows = await EMBEDDER.embed_passages([one.text for one in pages])
    query = await EMBEDDER.embed_query(text)
    return {one.uuid: float(row @ query) for one, row in zip(pages, rows, strict=True)}
