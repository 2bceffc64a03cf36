"""An embedder that never pays twice for the same text."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from surefind.model import EmbedderFingerprint
from surefind.ports import (
    EmbeddedQuery,
    Embedder,
    EmbeddingCache,
    Matrix,
    QueryEmbedder,
    Vector,
)

PASSAGE = "passage"
QUERIES_KEPT = 1024


class _PendingQuestion:
    """A question under way, and those who wait for it.

    Each has a future of its own, so that who gives up spoils it for nobody. A shield would do the
    same, and cost every search one more turn of the loop.
    """

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[Vector]] = []
        self.answering: asyncio.Future[None] | None = None

    def answer(self) -> "asyncio.Future[Vector]":
        waiting: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def tell(self, vector: Vector) -> None:
        for waiting in self._still_waiting:
            waiting.set_result(vector)

    def fail(self, error: Exception) -> None:
        for waiting in self._still_waiting:
            waiting.set_exception(error)

    def cancel(self) -> None:
        for waiting in self._still_waiting:
            waiting.cancel()

    @property
    def _still_waiting(self) -> "list[asyncio.Future[Vector]]":
        return [waiting for waiting in self._waiting if not waiting.done()]


class CachedEmbedder:
    """Passages are kept on disk for good, the last queries in memory.

    A query that many ask at once is embedded once, and who gives up does not spoil it for others.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None) -> None:
        self._embedder = embedder
        self._cache = cache
        self._writing = asyncio.Lock()
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._asked: dict[str, _PendingQuestion] = {}
        self.query_hits = 0
        self.query_misses = 0
        self.embedded = 0
        self.reused = 0

    def keep_in(self, cache: EmbeddingCache) -> None:
        """From now on, passages are looked up in the cache and written to it."""
        self._cache = cache

    @property
    def uncached(self) -> Embedder:
        """For who wants to know how long it takes."""
        return self._embedder

    @property
    def has_cache(self) -> bool:
        return self._cache is not None

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return self._embedder.fingerprint

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    def count_tokens(self, passage: str) -> int:
        return self._embedder.count_tokens(passage)

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        """What fails takes nothing with it: the parts that came are kept."""
        vectors = await self._known(passages)
        missing = [passage for passage in dict.fromkeys(passages) if passage not in vectors]
        size = self.batch_size
        parts = [missing[start : start + size] for start in range(0, len(missing), size)]
        done = await asyncio.gather(*map(self._fresh, parts), return_exceptions=True)
        for fresh in done:
            if isinstance(fresh, BaseException):
                raise fresh
            vectors.update(fresh)
        self.embedded += len(missing)
        self.reused += len(passages) - len(missing)
        if not passages:
            return np.empty((0, self.fingerprint.dimensions), dtype=np.float32)
        return np.stack([vectors[passage] for passage in passages])

    async def unpaid(self, passages: Sequence[str]) -> list[str]:
        """Those that would have to be embedded, each once."""
        known = await self._known(passages)
        return [passage for passage in dict.fromkeys(passages) if passage not in known]

    async def _known(self, passages: Sequence[str]) -> dict[str, Vector]:
        if self._cache is None:
            return {}
        distinct = list(dict.fromkeys(passages))
        return dict(await self._cache.read(self.fingerprint, PASSAGE, distinct))

    async def _fresh(self, part: Sequence[str]) -> dict[str, Vector]:
        rows = await self._embedder.embed_passages(part)
        fresh = dict(zip(part, rows, strict=True))
        if self._cache is not None:
            async with self._writing:
                await self._cache.write(self.fingerprint, PASSAGE, fresh)
        return fresh

    async def embed_query(self, query: str) -> Vector:
        known = self._queries.get(query)
        if known is not None:
            self._queries.move_to_end(query)
            self.query_hits += 1
            return known
        asked = self._asked.get(query)
        if asked is None:
            self.query_misses += 1
            asked = self._asked[query] = _PendingQuestion()
            asked.answering = asyncio.ensure_future(self._embed_query(query, asked))
        else:
            self.query_hits += 1
        return await asked.answer()

    async def _embed_query(self, query: str, asked: _PendingQuestion) -> None:
        try:
            vector = await self._embedder.embed_query(query)
        except asyncio.CancelledError:
            asked.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            asked.fail(error)
        else:
            self._remember(query, vector)
            asked.tell(vector)
        finally:
            del self._asked[query]

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        """What is remembered takes no time."""
        told: dict[str, EmbeddedQuery] = {}
        for query in queries:
            if query in self._queries:
                self._queries.move_to_end(query)
                told[query] = EmbeddedQuery(self._queries[query], 0.0)
        missing = [query for query in dict.fromkeys(queries) if query not in told]
        self.query_hits += len(queries) - len(missing)
        self.query_misses += len(missing)
        fresh = await self._embedder.embed_queries(missing) if missing else ()
        for query, one in zip(missing, fresh, strict=True):
            told[query] = one
            self._remember(query, one.vector)
        return [told[query] for query in queries]

    def _remember(self, query: str, vector: Vector) -> None:
        self._queries[query] = vector
        if len(self._queries) > QUERIES_KEPT:
            self._queries.popitem(last=False)

    async def close(self) -> None:
        await self._embedder.close()
        if self._cache is not None:
            await self._cache.close()


class LazyEmbedder:
    """Loads its model for the first question that has to be embedded, and not before."""

    def __init__(
        self,
        fingerprint: EmbedderFingerprint,
        batch_size: int,
        load: Callable[[], Awaitable[QueryEmbedder]],
    ) -> None:
        self.fingerprint = fingerprint
        self.batch_size = batch_size
        self._load = load
        self._loaded: QueryEmbedder | None = None

    async def embed_query(self, query: str) -> Vector:
        return await (self._loaded or await self._model()).embed_query(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        return await (self._loaded or await self._model()).embed_queries(queries)

    async def _model(self) -> QueryEmbedder:
        self._loaded = await self._load()
        return self._loaded
