"""Stores the term statistics of a collection in a small collection of payloads beside it."""

from collections.abc import AsyncIterator
from functools import partial

from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.points import LEXICAL
from surefind.adapters.qdrant.server.calls import QdrantServer, RequireWriter, guarded
from surefind.adapters.qdrant.server.term_statistics import (
    TermCounter,
    TermStatistics,
    from_parts,
)
from surefind.errors import StoreChanged

_PARTS_AT_ONCE = 8
_POINTS_AT_ONCE = 256


def statistics_name(name: str) -> str:
    return f"{name}--terms"


async def save_statistics(
    server: QdrantServer, name: str, statistics: TermStatistics, guard: RequireWriter
) -> None:
    """Overwrite the statistics of the collection `name`; their own collection exists."""
    where = statistics_name(name)
    for number, part in enumerate(statistics.to_parts()):
        point = models.PointStruct(id=number, vector={}, payload=part)

        async def write(
            client: AsyncQdrantClient, point: models.PointStruct = point
        ) -> models.UpdateResult:
            return await client.upsert(where, [point], wait=True)

        await server.write(guarded(guard, write), where)


async def load_statistics(server: QdrantServer, name: str) -> TermStatistics:
    """Raises StoreChanged if they are missing or damaged."""
    where = statistics_name(name)
    records = _scrolled(server, where, _PARTS_AT_ONCE, with_terms=False)
    parts: list[dict[str, object]] = [record.payload or {} async for record in records]
    try:
        return from_parts(parts)
    except StoreChanged as error:
        raise StoreChanged(
            f"the collection {where} of {server.name} was changed: {error}; run `surefind ingest "
            "--rebuild` to build a new one"
        ) from error


async def counted_again(server: QdrantServer, name: str) -> TermStatistics:
    """Count the terms of the points that a collection has."""
    counter = TermCounter()
    async for record in _scrolled(server, name, _POINTS_AT_ONCE, with_terms=True):
        counter.add(terms_of(record))
    return counter.statistics()


def terms_of(record: models.Record) -> list[int]:
    sparse = record.vector.get(LEXICAL) if isinstance(record.vector, dict) else None
    return sparse.indices if isinstance(sparse, models.SparseVector) else []


async def _scrolled(
    server: QdrantServer, name: str, at_once: int, *, with_terms: bool
) -> AsyncIterator[models.Record]:
    """Every point, with either its terms or its payload."""
    offset: models.ExtendedPointId | None = None
    while True:
        records, offset = await server.read(
            partial(
                AsyncQdrantClient.scroll,
                collection_name=name,
                limit=at_once,
                offset=offset,
                with_payload=not with_terms,
                with_vectors=[LEXICAL] if with_terms else False,
            ),
            name,
        )
        for record in records:
            yield record
        if offset is None:
            return
