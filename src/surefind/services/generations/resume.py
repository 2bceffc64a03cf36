"""Going on where a run has died: what it had written into the index is not written again.

Only who holds the one writer's place comes here, so no run that lives is taken for a dead one.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from surefind.errors import StoreChanged, StoreFull, StoreRefused
from surefind.model import EmbedderFingerprint, GenerationRef, LexicalSettings
from surefind.ports import Catalog, CatalogStore, IndexStore, UnfinishedIndex
from surefind.services.generations.generations import drop
from surefind.services.generations.index_building import all_chunks

_OLDEST = timedelta(days=1)
"""Passages are dated by the run that first wrote them; they must not look much older than they are.
"""
LARGE = 1000  # smaller indexes are never optimised, and so count exactly
PATCHED = 0.05
_COMPARED_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class PartialBuild:
    """A generation that was never finished, with points in the index."""

    ref: GenerationRef
    begun: UnfinishedIndex


def build_digest_of(
    embedder: EmbedderFingerprint, lexical: LexicalSettings, version: str, content: str = ""
) -> str:
    """Of all that makes vector, terms and payload of a chunk; `content` is what they come from.

    Fields of both are plain values, so their representation is as stable as they are.
    """
    return hashlib.sha256(repr((embedder, lexical, version, content)).encode()).hexdigest()


async def left_behind(
    collection: str, index: IndexStore, catalogs: CatalogStore, now: datetime | None = None
) -> PartialBuild | None:
    """What dead runs have left is removed, but for what the next one may go on with."""
    try:
        current = await catalogs.current(collection)
    except StoreChanged:  # nobody knows what readers see, so nothing is dropped
        return None
    newest = max((ref.number for ref in await catalogs.complete(collection)), default=0)
    half: PartialBuild | None = None
    for ref in await catalogs.unfinished(collection):
        if ref.number == current:  # what readers see is never dropped, whatever it lacks
            continue
        # Only the number that comes next anyway: others would not be met again.
        begun = await index.begun(ref) if ref.number == newest + 1 else None
        if begun is None or (now or datetime.now(UTC)) - begun.at > _OLDEST:
            await drop(ref, index, catalogs)
        else:
            half = PartialBuild(ref, begun)
    return half


async def make_room(collection: str, index: IndexStore, catalogs: CatalogStore) -> None:
    """StoreFull where nothing can be built, once what dead runs left has been removed."""
    async with catalogs.writing("ingest"):
        await left_behind(collection, index, catalogs)
        await require_room(collection, index, catalogs)


async def require_room(
    collection: str,
    index: IndexStore,
    catalogs: CatalogStore,
    points: int = 0,
    dimensions: int = 0,
) -> None:
    """What killed runs left of other collections may be all that fills the disk."""
    try:
        await index.require_room(points, dimensions)
    except StoreFull:
        for other in {ref.collection for ref in await index.held()} - {collection}:
            await left_behind(other, index, catalogs)
        await index.require_room(points, dimensions)


async def unfitting(ref: GenerationRef, catalog: Catalog, index: IndexStore) -> int | None:
    """How many of the points that were left are not wanted, or not like that.

    None where it is too many, or where what was left is not sound: the engine's word statistics go
    on counting what was deleted, so a large index is rather written anew. A store that is away says
    nothing about what it keeps: that is raised, and what was left waits for the next run.
    """
    try:
        left = await index.open(ref)
        try:
            points, fitting = await left.count(), 0
            async for batch in all_chunks(catalog, _COMPARED_AT_ONCE):
                held = await left.payloads([record.chunk.point_id for record in batch])
                fitting += sum(
                    replace(found, term_count=record.term_count) == record
                    for record in batch
                    if (found := held.get(record.chunk.point_id)) is not None
                )
        finally:
            await left.close()
    except (StoreChanged, StoreRefused):
        return None
    others = points - fitting
    return None if points >= LARGE and others > PATCHED * points else others
