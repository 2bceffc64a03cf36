"""The passages that a report speaks of, for those who want to read them."""

from collections.abc import Mapping

from surefind.errors import StoreError
from surefind.evaluation.report.report import Report
from surefind.model import ChunkRecord
from surefind.services.generations.readers import CollectionReader, chunks_named

_AT_ONCE = 500


async def passages_of(report: Report, reader: CollectionReader) -> Mapping[str, ChunkRecord]:
    """By chunk id: what was found, and what came nearest to being found.

    None where a store is away, or where another generation has taken the place of the one that
    was asked: a report must not show passages that nobody was shown.
    """
    wanted = list(
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
            for start in range(0, len(wanted), _AT_ONCE):
                held = await chunks_named(wanted[start : start + _AT_ONCE], generation)
                records.update((record.chunk.id, record) for record in held)
    except StoreError:
        return {}
    return records
