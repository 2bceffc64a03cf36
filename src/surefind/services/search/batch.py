"""Runs many searches concurrently."""

import asyncio
from collections.abc import Sequence

from surefind.errors import InputError
from surefind.model import Query, SearchResult
from surefind.services.search.search import Searcher, check_query

MAX_BATCH = 1000
_AT_ONCE = 16


async def search_all(queries: Sequence[Query], searcher: Searcher) -> list[SearchResult]:
    """Run the queries, and return their results in order. All are validated first.

    The first error is raised as it is, not in an exception group.
    """
    if len(queries) > MAX_BATCH:
        raise InputError(
            f"queries: at most {MAX_BATCH} per batch, not {len(queries)}; send several batches"
        )
    for query in queries:
        check_query(query)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(query: Query) -> SearchResult:
        async with gate:
            await asyncio.sleep(0)  # let other tasks run, even if the search never waits
            return await searcher.search(query)

    tasks = [asyncio.create_task(ask(query)) for query in queries]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
