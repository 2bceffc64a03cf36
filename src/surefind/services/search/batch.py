"""Many questions at once."""

import asyncio
from collections.abc import Sequence

from surefind.errors import InputError
from surefind.model import Query, SearchResult
from surefind.services.search.search import Searcher, check_query

MAX_BATCH = 1000
_AT_ONCE = 16


async def search_all(queries: Sequence[Query], searcher: Searcher) -> list[SearchResult]:
    """One result each, in order. All are checked before the first is asked.

    The first failure is the failure of all, as itself: callers know our errors, and no groups.
    """
    if len(queries) > MAX_BATCH:
        raise InputError(
            f"queries: there are {len(queries)}, at most {MAX_BATCH} are taken at once"
        )
    for query in queries:
        check_query(query)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(query: Query) -> SearchResult:
        async with gate:
            await asyncio.sleep(0)  # others get their turn, also where a search never waits
            return await searcher.search(query)

    asked = [asyncio.create_task(ask(query)) for query in queries]
    try:
        return await asyncio.gather(*asked)
    finally:
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
