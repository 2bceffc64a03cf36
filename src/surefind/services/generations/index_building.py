"""Builds the index of a new generation from its catalog, and verifies that it is complete."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from surefind.errors import StoreChanged
from surefind.model import (
    Calibration,
    ChunkerSettings,
    ChunkRecord,
    Cost,
    FormatOptions,
    GenerationRef,
    KindWeights,
    SparseVector,
    point_id,
)
from surefind.ports import (
    Catalog,
    CatalogStore,
    IndexEntry,
    IndexStore,
    IndexWriter,
    VectorIndex,
    WholeCatalog,
)
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.encoding.confidence import calibrate, still_fits

PARTS_AT_ONCE = 4
"""Embedding batches per step: enough to keep a service busy, and little to lose when killed."""
_VERIFIED_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Progress:
    """`total` is None while it is unknown."""

    stage: str
    done: int
    total: int | None = None


ReportProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class IngestTools:
    """The dependencies of an ingest."""

    embedder: CachedEmbedder
    terms: Bm25Encoder
    index: IndexStore
    catalogs: CatalogStore
    chunker: ChunkerSettings
    version: str
    price_per_million_tokens: float | None = None
    optimized_from: int = 1000
    """The engine optimizes no index with fewer chunks, so its word statistics stay exact."""
    kind_weights: KindWeights = field(default_factory=dict)
    formats: FormatOptions = field(default_factory=FormatOptions)
    parts_at_once: int = PARTS_AT_ONCE

    def cost(self, tokens: int) -> Cost | None:
        """The cost, or None if the price is zero or unknown."""
        price = self.price_per_million_tokens
        return Cost(tokens, price) if price else None

    @property
    def chunks_at_once(self) -> int:
        return self.parts_at_once * self.embedder.batch_size


async def fill(
    writer: IndexWriter,
    batches: AsyncIterator[Sequence[ChunkRecord]],
    total: int,
    mean_terms: float,
    tools: IngestTools,
    report: ReportProgress,
) -> None:
    """Embed and write every batch, using cached vectors where possible."""
    done = 0
    report(Progress("embedding", 0, total))
    async for batch in batches:
        vectors = await tools.embedder.embed_passages([record.chunk.passage for record in batch])
        terms = await asyncio.to_thread(_terms, batch, mean_terms, tools.terms)
        await (
            tools.catalogs.require_writing()
        )  # without the lock, the index may belong to another run
        entries = map(IndexEntry, batch, vectors, terms)
        await writer.upsert(list(entries))
        done += len(batch)
        report(Progress("embedding", done, total))


def _terms(
    batch: Sequence[ChunkRecord], mean_terms: float, terms: Bm25Encoder
) -> list[SparseVector]:
    """Counting words takes long enough to block the event loop, so it runs in a thread."""
    return [terms.passage(record.chunk.passage, mean_terms, record.language) for record in batch]


async def unpaid_tokens(batches: AsyncIterator[Sequence[ChunkRecord]], tools: IngestTools) -> int:
    """The tokens of the passages that are not cached."""
    tokens = 0
    async for batch in batches:
        tokens += await unpaid_tokens_of(batch, tools)
    return tokens


async def unpaid_tokens_of(records: Sequence[ChunkRecord], tools: IngestTools) -> int:
    tokens = {record.chunk.passage: record.chunk.tokens for record in records}
    return sum(tokens[passage] for passage in await tools.embedder.uncached_passages(list(tokens)))


async def all_chunks(catalog: Catalog, size: int) -> AsyncIterator[Sequence[ChunkRecord]]:
    batch: list[ChunkRecord] = []
    async for record in catalog.chunks():
        batch.append(record)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def some_chunks(
    catalog: Catalog, chunk_ids: Sequence[str], size: int
) -> AsyncIterator[Sequence[ChunkRecord]]:
    for start in range(0, len(chunk_ids), size):
        points = [point_id(chunk_id) for chunk_id in chunk_ids[start : start + size]]
        records = await catalog.by_point(points)
        yield [records[point] for point in points]


async def check_complete(
    ref: GenerationRef, points: int, chunks: int, indexes: IndexStore, catalogs: CatalogStore
) -> None:
    """Verify that both stores, opened as readers open them, have the same chunks and texts.

    Raises StoreChanged if they differ.
    """
    async with both_stores(ref, indexes, catalogs) as (index, catalog):
        indexed, cataloged = await index.count(), await catalog.count()
        if not points == indexed == chunks == cataloged:
            raise StoreChanged(
                f"generation {ref} is incomplete: the index has {indexed} points ({points} "
                f"written), the catalog {cataloged} chunks ({chunks} written). It was not "
                "published; run the command again"
            )
        async for batch in all_chunks(catalog, _VERIFIED_AT_ONCE):
            await _verify_batch(ref, index, batch)


async def calibrated(
    ref: GenerationRef, chunks: int, tools: IngestTools, before: Calibration | None
) -> Calibration | None:
    """The calibration of similarities; the previous one is reused while it still fits."""
    if still_fits(before, chunks):
        return before
    async with both_stores(ref, tools.index, tools.catalogs) as (index, catalog):
        return await calibrate(index, catalog, tools.embedder)


@asynccontextmanager
async def both_stores(
    ref: GenerationRef, indexes: IndexStore, catalogs: CatalogStore
) -> AsyncIterator[tuple[VectorIndex, WholeCatalog]]:
    index = await indexes.open(ref)
    try:
        catalog = await catalogs.open(ref)
        try:
            yield index, catalog
        finally:
            await catalog.close()
    finally:
        await index.close()


async def _verify_batch(
    ref: GenerationRef, index: VectorIndex, batch: Sequence[ChunkRecord]
) -> None:
    payloads = await index.payloads([record.chunk.point_id for record in batch])
    for record in batch:
        stored = payloads.get(record.chunk.point_id)
        if stored is None or replace(stored, term_count=record.term_count) != record:
            raise StoreChanged(
                f"generation {ref} is inconsistent: index and catalog differ in chunk "
                f"{record.chunk.id}. It was not published; run the command again with --rebuild"
            )
