"""Whether questions find the chunks that somebody expects of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from surefind.errors import SurefindError
from surefind.model import Hit, Query, SearchResult
from surefind.services.generations.readers import CollectionReader, chunks_named

SearchCall = Callable[[Query], Awaitable[SearchResult]]


@dataclass(frozen=True, slots=True)
class QueryExpectation:
    """What is below the query's threshold, or beyond its top_k, does not count as found."""

    query: Query
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpectationOutcome:
    """`unknown` are those of the missing that the collection does not hold at all."""

    expectation: QueryExpectation
    executed_at: datetime
    found: tuple[Hit, ...] = ()
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    error: SurefindError | None = None

    @property
    def accuracy(self) -> float:
        """Found of expected; nothing was found where the question could not be answered."""
        return len(self.found) / len(self.expectation.chunk_ids)

    def passes(self, min_accuracy: float) -> bool:
        """An expectation that can't be met is wrong itself, and never a pass."""
        return self.error is None and not self.unknown and self.accuracy >= min_accuracy


async def check_expectations(
    expectations: Sequence[QueryExpectation], search: SearchCall, reader: CollectionReader
) -> list[ExpectationOutcome]:
    """One outcome each, in order. A question that fails stops none of the others."""
    return [await _check(expectation, search, reader) for expectation in expectations]


async def _check(
    expectation: QueryExpectation, search: SearchCall, reader: CollectionReader
) -> ExpectationOutcome:
    await asyncio.sleep(0)  # others get their turn, also where a search never waits
    executed_at = datetime.now(UTC)
    expected = frozenset(expectation.chunk_ids)
    try:
        hits = (await search(expectation.query)).hits
        found = tuple(hit for hit in hits if hit.record.chunk.id in expected)
        met = {hit.record.chunk.id for hit in found}
        missing = tuple(chunk_id for chunk_id in expectation.chunk_ids if chunk_id not in met)
        unknown = await _unknown(missing, reader)
    except SurefindError as error:
        return ExpectationOutcome(
            expectation, executed_at, missing=expectation.chunk_ids, error=error
        )
    return ExpectationOutcome(expectation, executed_at, found, missing, unknown)


async def _unknown(chunk_ids: tuple[str, ...], reader: CollectionReader) -> tuple[str, ...]:
    if not chunk_ids:
        return ()
    async with reader.lease() as generation:
        known = {record.chunk.id for record in await chunks_named(chunk_ids, generation)}
    return tuple(chunk_id for chunk_id in chunk_ids if chunk_id not in known)
