"""Runs golden tests that name chunks against the served collection.

Unlike a full validation, this neither scans the catalog nor explains failures, so it is fast enough
for an HTTP request.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from surefind.errors import SurefindError
from surefind.evaluation.golden.expectations import ByChunk
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.golden.resolution import LostAnswers, ResolvedExpectations
from surefind.evaluation.report.judging import JudgedTest, judge
from surefind.evaluation.report.report import Outcome
from surefind.model import Collapse, Hit, Mode, Query, SearchResult
from surefind.services.generations.readers import CollectionReader, chunks_named
from surefind.services.validation.golden_test_run import query_for
from surefind.services.validation.run_request import DEFAULT_TOP_K

SearchCall = Callable[[Query], Awaitable[SearchResult]]


@dataclass(frozen=True, slots=True)
class ChunkTestResult:
    """Either `judged` or `error` is set."""

    test: GoldenTest
    query: Query
    executed_at: datetime
    hits: tuple[Hit, ...] = ()
    judged: JudgedTest | None = None
    error: SurefindError | None = None

    @property
    def found(self) -> list[Hit]:
        """The expected hits, best first."""
        ranks = {one.rank for one in self.judged.sought} if self.judged else set()
        return [hit for hit in self.hits if hit.rank in ranks]

    @property
    def missing(self) -> list[str]:
        """The ids of the expected chunks that were not found."""
        found = {hit.record.chunk.id for hit in self.found}
        return [one.chunk_id for one in _chunks(self.test) if one.chunk_id not in found]

    @property
    def accuracy(self) -> float:
        return (self.judged.accuracy if self.judged else None) or 0.0

    @property
    def passed(self) -> bool:
        """Always False if an expected chunk does not exist, because then the test is wrong."""
        minimum = self.test.criteria.min_accuracy
        return self.judged is not None and self.judged.outcome(minimum) is Outcome.PASSED

    @property
    def problem(self) -> str | None:
        """Why the test could not be judged as written."""
        if self.error is not None:
            return str(self.error)
        sought = self.judged.sought if self.judged else ()
        return next((one.message for one in sought if one.lost), None)


async def run_chunk_tests(
    golden: GoldenSet, collection: str, search: SearchCall, reader: CollectionReader
) -> list[ChunkTestResult]:
    """One result for each test, in order. A failed search does not stop the other tests.

    The expectations of the tests must be chunks.
    """
    results = []
    for test in golden.tests:
        await asyncio.sleep(0)  # a local search never awaits: give other requests a turn
        query = query_for(
            test,
            collection,
            golden.top_k or DEFAULT_TOP_K,
            golden.mode or Mode.HYBRID,
            golden.collapse or Collapse.OFF,
        )
        results.append(await _run(test, query, search, reader))
    return results


async def _run(
    test: GoldenTest, query: Query, search: SearchCall, reader: CollectionReader
) -> ChunkTestResult:
    executed_at = datetime.now(UTC)
    try:
        hits = (await search(query)).hits
        shown = [hit.record.chunk.id for hit in hits]
        missing = {chunk.chunk_id for chunk in _chunks(test)}.difference(shown)
        known = {*shown, *await _known(missing, reader)}
    except SurefindError as error:
        return ChunkTestResult(test, query, executed_at, error=error)
    resolved: ResolvedExpectations = {
        chunk: frozenset(known.intersection((chunk.chunk_id,))) for chunk in _chunks(test)
    }
    lost: LostAnswers = {
        chunk: f"the collection has no chunk {chunk.chunk_id!r}; the expectation is invalid"
        for chunk in _chunks(test)
        if not resolved[chunk]
    }
    judged = judge(test, resolved, shown, (), lost=lost)
    return ChunkTestResult(test, query, executed_at, hits, judged)


async def _known(chunk_ids: set[str], reader: CollectionReader) -> Sequence[str]:
    if not chunk_ids:
        return ()
    async with reader.lease() as generation:
        return [record.chunk.id for record in await chunks_named(chunk_ids, generation)]


def _chunks(test: GoldenTest) -> list[ByChunk]:
    return [one for one in test.expected if isinstance(one, ByChunk)]
