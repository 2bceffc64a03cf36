"""Reads the passages that a report mentions."""

from collections.abc import Mapping

from surefind.errors import StoreError
from surefind.evaluation.report.report import Report
from surefind.model import ChunkRecord
from surefind.services.generations.readers import CollectionReader, chunks_named

_AT_ONCE = 500


async def passages_of(report: Report, reader: CollectionReader) -> Mapping[str, ChunkRecord]:
    """The hits and near misses of a report, by chunk ID.

    Empty if a store is unavailable, or if another generation has been published since, whose
    passages may differ.
    """
    chunk_ids = list(
        dict.fromkeys(
            chunk_id
            for test in report.tests
            for chunk_id in (
                *(hit.chunk_id for hit in test.found),
                *(one.nearest for one in test.sought if one.nearest),
            )
        )
    )
    records: dict[str, ChunkRecord] = {}
    try:
        async with reader.lease() as generation:
            if generation.manifest.number != report.subject.generation:
                return {}
            for start in range(0, len(chunk_ids), _AT_ONCE):
                held = await chunks_named(chunk_ids[start : start + _AT_ONCE], generation)
                records.update((record.chunk.id, record) for record in held)
    except StoreError:
        return {}
    return records
