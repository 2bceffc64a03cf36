"""Reads chunks: a single one, its neighbours, its section or its document."""

from surefind.errors import InputError, UnknownChunk, UnknownDocument
from surefind.model import ChunkRecord
from surefind.model.strings import check_string
from surefind.services.generations.readers import CollectionReader, OpenGeneration
from surefind.services.search.expansion import neighbours_of, section_of

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
