"""Passages and their context: neighbours, section or document, and token budgets."""

from collections.abc import Sequence

from surefind.errors import InputError, UnknownChunk, UnknownDocument
from surefind.model import ChunkRecord, Context, Expand, Hit, Query
from surefind.model.strings import check_string
from surefind.ports import Catalog
from surefind.services.generations.readers import CollectionReader, OpenGeneration

MAX_AROUND = 100


class PassageReader:
    def __init__(self, reader: CollectionReader) -> None:
        self._reader = reader

    async def chunk(self, chunk_id: str) -> ChunkRecord:
        async with self._reader.lease() as generation:
            return await _chunk(chunk_id, generation)

    async def neighbours(self, chunk_id: str, before: int, after: int) -> list[ChunkRecord]:
        _check("before", before)
        _check("after", after)
        async with self._reader.lease() as generation:
            record = await _chunk(chunk_id, generation)
            chunks = await generation.require_catalog().document_chunks(record.chunk.source_path)
        return neighbours_of(record, chunks, before, after)

    async def section(self, chunk_id: str) -> list[ChunkRecord]:
        async with self._reader.lease() as generation:
            record = await _chunk(chunk_id, generation)
            chunks = await generation.require_catalog().document_chunks(record.chunk.source_path)
        return section_of(record, chunks)

    async def document(self, source_path: str) -> list[ChunkRecord]:
        check_string("source_path", source_path)
        async with self._reader.lease() as generation:
            catalog = generation.require_catalog()
            if await catalog.document(source_path) is None:
                raise UnknownDocument(f"there is no document {source_path!r}")
            return await catalog.document_chunks(source_path)


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_AROUND:
        raise InputError(f"{name} must be a whole number from 0 to {MAX_AROUND}, not {value!r}")


async def _chunk(chunk_id: str, generation: OpenGeneration) -> ChunkRecord:
    check_string("chunk_id", chunk_id)
    record = await generation.require_catalog().chunk(chunk_id)
    if record is None:
        raise UnknownChunk(
            f"generation {generation.manifest.number} has no chunk {chunk_id!r}; "
            "`surefind search` prints chunk IDs"
        )
    return record


# --- the context of hits ----------------------------------------------------------------------


async def context_of(record: ChunkRecord, query: Query, catalog: Catalog) -> Context | None:
    """The context of a hit, or None if none was requested."""
    if query.expand is Expand.NONE:
        return None
    source_path = record.chunk.source_path
    chunks = await catalog.document_chunks(source_path)
    if query.expand is Expand.SECTION:
        chunks = section_of(record, chunks)
    elif query.expand is Expand.NEIGHBOURS:
        chunks = neighbours_of(record, chunks, query.neighbours, query.neighbours)
    return joined(chunks, await catalog.document_text(source_path)) if chunks else None


def neighbours_of(
    record: ChunkRecord, chunks: Sequence[ChunkRecord], before: int, after: int
) -> list[ChunkRecord]:
    """The neighbours by order, because positions may be offsets with gaps."""
    indexes = [at for at, chunk in enumerate(chunks) if chunk.point_id == record.point_id]
    if not indexes:
        return []
    return list(chunks[max(0, indexes[0] - before) : indexes[0] + after + 1])


def section_of(record: ChunkRecord, chunks: Sequence[ChunkRecord]) -> list[ChunkRecord]:
    """The section of a hit with its subsections."""
    path = record.chunk.heading_path
    inside = [
        chunk.chunk.heading_path[: len(path)] == path
        and (chunk.chunk.heading_path != path or chunk.chunk.anchor == record.chunk.anchor)
        for chunk in chunks
    ]
    indexes = [at for at, chunk in enumerate(chunks) if chunk.point_id == record.point_id]
    first = last = indexes[0] if indexes else 0
    while first > 0 and inside[first - 1]:
        first -= 1
    while last + 1 < len(chunks) and inside[last + 1]:
        last += 1
    return list(chunks[first : last + 1])


def joined(chunks: Sequence[ChunkRecord], text: str) -> Context:
    """The text of the document from the start of the first chunk to the end of the last."""
    return Context(
        text[chunks[0].chunk.start : chunks[-1].chunk.end],
        first=chunks[0].chunk.position,
        last=chunks[-1].chunk.position,
        tokens=sum(record.chunk.tokens for record in chunks),
    )


def within_budget(hits: Sequence[Hit], max_tokens: int | None) -> tuple[list[Hit], list[Hit]]:
    """(kept, left out): whole passages, best first; a small one may fit after a large one."""
    if max_tokens is None:
        return list(hits), []
    kept: list[Hit] = []
    left: list[Hit] = []
    spent = 0
    for hit in hits:
        if spent + hit.tokens <= max_tokens:
            kept.append(hit)
            spent += hit.tokens
        else:
            left.append(hit)
    return kept, left
