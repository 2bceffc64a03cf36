"""Caches embeddings, so that no text is embedded twice."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddedQuery, Embedder, EmbeddingCache, Matrix, Vector

PASSAGE = "passage"
QUERIES_KEPT = 1024


@dataclass(frozen=True, slots=True)
class LazyModel:
    """An embedder that is loaded on first use, with a known fingerprint."""

    fingerprint: EmbedderFingerprint
    batch_size: int
    load: Callable[[], Awaitable[Embedder]]


class _PendingQuery:
    """A query that is being embedded, with a future for each waiting caller.

    Separate futures let a caller be cancelled without cancelling the others. A shield would do the
    same, but costs every search another turn of the event loop.
    """

    def __init__(self) -> None:
        self._futures: list[asyncio.Future[Vector]] = []
        self.task: asyncio.Future[None] | None = None

    def wait(self) -> "asyncio.Future[Vector]":
        future: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        return future

    def resolve(self, vector: Vector) -> None:
        for future in self._still_waiting:
            future.set_result(vector)

    def fail(self, error: Exception) -> None:
        for future in self._still_waiting:
            future.set_exception(error)

    def cancel(self) -> None:
        for future in self._still_waiting:
            future.cancel()

    @property
    def _still_waiting(self) -> "list[asyncio.Future[Vector]]":
        return [future for future in self._futures if not future.done()]


class CachedEmbedder:
    """Caches passages on disk, and the latest queries in memory.

    A `LazyModel` is loaded for the first uncached text or by `load`, which must be called before
    `max_tokens` and `count_tokens`. Concurrent calls for the same query share its embedding.
    """

    def __init__(
        self,
        embedder: Embedder | LazyModel,
        cache: EmbeddingCache | None = None,
        max_queries: int = QUERIES_KEPT,
    ) -> None:
        self._max_queries = max_queries
        self.fingerprint = embedder.fingerprint
        self.batch_size = embedder.batch_size
        self._model = embedder if isinstance(embedder, LazyModel) else None
        self._embedder = None if isinstance(embedder, LazyModel) else embedder
        self._loading = asyncio.Lock()
        self._cache = cache
        self._writing = asyncio.Lock()
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._pending: dict[str, _PendingQuery] = {}
        self.query_hits = 0
        self.query_misses = 0
        self.embedded = 0
        self.reused = 0

    async def load(self) -> Embedder:
        """Load and return the uncached embedder."""
        async with self._loading:
            if self._embedder is None:
                assert self._model is not None
                self._embedder = await self._model.load()
        return self._embedder

    def keep_in(self, cache: EmbeddingCache) -> None:
        """Use this cache for passages from now on."""
        self._cache = cache

    @property
    def has_cache(self) -> bool:
        return self._cache is not None

    @property
    def max_tokens(self) -> int:
        return self._loaded.max_tokens

    def count_tokens(self, passage: str) -> int:
        return self._loaded.count_tokens(passage)

    @property
    def _loaded(self) -> Embedder:
        assert self._embedder is not None, "call load() first"
        return self._embedder

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        """Embed the passages; if a batch fails, the others are still cached."""
        vectors = await self._known(passages)
        missing = [passage for passage in dict.fromkeys(passages) if passage not in vectors]
        size = self.batch_size
        batches = [missing[start : start + size] for start in range(0, len(missing), size)]
        results = await asyncio.gather(*map(self._embed_batch, batches), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
            vectors.update(result)
        self.embedded += len(missing)
        self.reused += len(passages) - len(missing)
        if not passages:
            return np.empty((0, self.fingerprint.dimensions), dtype=np.float32)
        return np.stack([vectors[passage] for passage in passages])

    async def uncached_passages(self, passages: Sequence[str]) -> list[str]:
        """The passages that would have to be embedded, without duplicates."""
        known = await self._known(passages)
        return [passage for passage in dict.fromkeys(passages) if passage not in known]

    async def _known(self, passages: Sequence[str]) -> dict[str, Vector]:
        if self._cache is None:
            return {}
        distinct = list(dict.fromkeys(passages))
        return dict(await self._cache.read(self.fingerprint, PASSAGE, distinct))

    async def _embed_batch(self, batch: Sequence[str]) -> dict[str, Vector]:
        embedder = self._embedder or await self.load()
        fresh = dict(zip(batch, await embedder.embed_passages(batch), strict=True))
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
        pending = self._pending.get(query)
        if pending is None:
            self.query_misses += 1
            pending = self._pending[query] = _PendingQuery()
            pending.task = asyncio.ensure_future(self._embed_query(query, pending))
        else:
            self.query_hits += 1
        return await pending.wait()

    async def _embed_query(self, query: str, pending: _PendingQuery) -> None:
        try:
            embedder = self._embedder or await self.load()
            vector = await embedder.embed_query(query)
        except asyncio.CancelledError:
            pending.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - raised in the callers
            pending.fail(error)
        else:
            self._remember(query, vector)
            pending.resolve(vector)
        finally:
            del self._pending[query]

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        """Cached queries report 0 ms."""
        results: dict[str, EmbeddedQuery] = {}
        for query in queries:
            if query in self._queries:
                self._queries.move_to_end(query)
                results[query] = EmbeddedQuery(self._queries[query], 0.0)
        missing = [query for query in dict.fromkeys(queries) if query not in results]
        self.query_hits += len(queries) - len(missing)
        self.query_misses += len(missing)
        if missing:
            embedder = self._embedder or await self.load()
            embedded = await embedder.embed_queries(missing)
            for query, result in zip(missing, embedded, strict=True):
                results[query] = result
                self._remember(query, result.vector)
        return [results[query] for query in queries]

    def _remember(self, query: str, vector: Vector) -> None:
        self._queries[query] = vector
        if len(self._queries) > self._max_queries:
            self._queries.popitem(last=False)

    async def close(self) -> None:
        if self._embedder is not None:
            await self._embedder.close()
        if self._cache is not None:
            await self._cache.close()
