"""Embeds known queries ahead of time, in groups.

A remote embedder gets fewer calls; a local one and the searches interrupt each other less often.
See docs/decisions/0019-questions-are-embedded-ahead.md.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence

from surefind.errors import SurefindError
from surefind.model import EmbedderFingerprint, SearchResult
from surefind.ports import EmbeddedQuery, QueryEmbedder, Vector

AHEAD = 512
"""How many queries to embed ahead; half of what the embedder caches."""


class PrefetchingEmbedder:
    """An embedder for searches that will run these queries, roughly in this order.

    The first group is embedded alone, so that a rejected request is not repeated for the others. If
    a group fails, its queries are embedded one by one when they run. Other queries work, too.
    """

    def __init__(self, embedder: QueryEmbedder, queries: Sequence[str], ahead: int = AHEAD) -> None:
        """`embedder` must cache queries."""
        self._embedder = embedder
        self._ahead = ahead
        self._queries = list(dict.fromkeys(queries))
        self._places = {query: place for place, query in enumerate(self._queries)}
        self._groups: list[asyncio.Task[None]] = []
        self._took_ms: dict[str, float] = {}
        self._waited_ms: dict[str, float] = {}

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return self._embedder.fingerprint

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        return await self._embedder.embed_queries(queries)

    async def embed_query(self, query: str) -> Vector:
        place = self._places.get(query)
        if place is not None:
            begun = time.perf_counter()
            await self._prefetch(place)
            self._waited_ms[query] = (time.perf_counter() - begun) * 1000
        return await self._embedder.embed_query(query)

    def latency_ms(self, result: SearchResult) -> float:
        """The latency with the query's own embedding time instead of the wait for its group."""
        query = result.query.text
        waited_ms, took_ms = self._waited_ms.get(query, 0.0), self._took_ms.get(query, 0.0)
        return result.timings.total_ms - waited_ms + took_ms

    def stages_ms(self, result: SearchResult) -> Mapping[str, float]:
        """The latency by stage; receiving and returning are in none of them."""
        query, timings = result.query.text, result.timings
        waited_ms, took_ms = self._waited_ms.get(query, 0.0), self._took_ms.get(query, 0.0)
        return {
            "embedded": timings.embedded_ms - waited_ms + took_ms,
            "searched": timings.searched_ms + timings.filtered_ms,
            "formatted": timings.formatted_ms,
        }

    async def close(self) -> None:
        for group in self._groups:
            group.cancel()
        if self._groups:
            await asyncio.wait(self._groups)

    async def _prefetch(self, place: int) -> None:
        size = self._embedder.batch_size
        last = min(len(self._queries), place + (self._ahead if self._took_ms else 1))
        while len(self._groups) * size < last:
            self._groups.append(asyncio.ensure_future(self._embed(len(self._groups) * size, size)))
        group = self._groups[place // size]
        if not group.done():
            await asyncio.wait([group])  # cancelling this waiter does not cancel the group

    async def _embed(self, first: int, size: int) -> None:
        queries = self._queries[first : first + size]
        try:
            embedded = await self._embedder.embed_queries(queries)
        except SurefindError:
            return  # raised again when each query runs
        for query, one in zip(queries, embedded, strict=True):
            self._took_ms[query] = one.took_ms
