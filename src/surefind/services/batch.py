"""Many questions at once."""

import asyncio
from collections.abc import Sequence

from surefind.errors import InputError
from surefind.model import Query, SearchResult
from surefind.services.search import Searcher, check_query

MAX_BATCH = 1000
_AT_ONCE = 16


async def search_all(queries: Sequence[Query], searcher: Searcher) -> list[SearchResult]:
    """One result each, in order. All are checked before the first is asked."""
    if len(queries) > MAX_BATCH:
        raise InputError(
            f"queries: there are {len(queries)}, at most {MAX_BATCH} are taken at once"
        )
    for query in queries:
        check_query(query)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(query: Query) -> SearchResult:
        async with gate:
            return await searcher.search(query)

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(query)) for query in queries]
    return [task.result() for task in asked]
