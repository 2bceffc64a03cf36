"""The parts of an installation, created on first use and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.bootstrap.connections import (
    connected_collections,
    routed_catalogs,
    routed_index,
    routed_published,
)
from surefind.bootstrap.models import open_embedder, price_of_tokens, reranker_of
from surefind.bootstrap.stores import (
    catalog_store,
    index_store,
    published_catalogs,
    servers_of,
)

if TYPE_CHECKING:
    from surefind.adapters.sqlite.query_log import QueryLogFile
    from surefind.model import GenerationRef, KindWeights, LoggedSearch, SearchResult
    from surefind.ports import (
        CatalogStore,
        Embedder,
        EmbeddingCache,
        IndexStore,
        Notify,
        Reranker,
    )
    from surefind.services.connected.collection import ConnectedCollection
    from surefind.services.encoding.bm25 import Bm25Encoder
    from surefind.services.encoding.cached_embedder import CachedEmbedder
    from surefind.services.encoding.circuit_breaker import CircuitBreaker
    from surefind.services.encoding.reranking import RerankStage
    from surefind.services.generations.generations import Generations
    from surefind.services.generations.readers import CollectionReader, Readers
    from surefind.services.search.search import Searcher
    from surefind.settings import Settings


def silent(_message: str) -> None:
    pass


class Parts:
    """The parts as configured. Unused parts are never created."""

    def __init__(
        self,
        settings: Settings,
        notify: Notify = silent,
        free_bytes: Callable[[Path], int] | None = None,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        """`embedder` and `reranker` are the caller's own, used instead of those of the settings."""
        from surefind.adapters.files.data_folder import DataFolder

        self._free_bytes = free_bytes
        self.settings = settings
        self.notify = notify
        self.folder = DataFolder(settings.data_dir)
        self.folder.check_format()
        self._own_embedder = _supplied_embedder(embedder)
        self._own_reranker = _supplied_reranker(reranker)
        self._embedder: CachedEmbedder | None = None
        self._searcher: Searcher | None = None
        self.observers: list[Callable[[SearchResult], None]] = []
        self._loading = asyncio.Lock()

    @cached_property
    def index(self) -> IndexStore:
        return routed_index(self.own_index, self.connected)

    @cached_property
    def own_index(self) -> IndexStore:
        """The index of surefind's own collections."""
        return index_store(
            self.settings, self.folder, self.own_catalogs, self.notify, self._free_bytes
        )

    @cached_property
    def catalogs(self) -> CatalogStore:
        return routed_catalogs(self.own_catalogs, self.connected)

    @cached_property
    def own_catalogs(self) -> CatalogStore:
        catalogs = catalog_store(self.settings, self.folder)
        servers = servers_of(self.settings)
        if servers:  # named once, because variables that another program needs can set them
            self.notify(", ".join(servers))
        return catalogs

    @cached_property
    def connected(self) -> Sequence[ConnectedCollection]:
        return connected_collections(
            self.settings, self.notify, self.embedder, lambda: self.terms.name
        )

    @cached_property
    def readers(self) -> Readers:
        from surefind.services.encoding.circuit_breaker import BreakingIndexes, CircuitBreaker
        from surefind.services.generations.background_verification import (
            GenerationVerifier,
            VerificationPace,
        )
        from surefind.services.generations.generation_words import DELAY_S
        from surefind.services.generations.readers import Readers

        connected = {one.connection.name for one in self.connected}

        def is_remote(ref: GenerationRef) -> bool:
            return self.settings.index_url is not None or ref.collection in connected

        indexes = BreakingIndexes(
            self.index, is_remote, lambda ref: CircuitBreaker(f"the vector index of {ref}")
        )
        own = published_catalogs(self.own_catalogs, self.settings, self.folder)
        catalogs = routed_published(own, self.connected, self.settings)
        verifier = GenerationVerifier(self.index, catalogs, VerificationPace())
        return Readers(indexes, catalogs, verifier=verifier, words_after_s=DELAY_S)

    @property
    def reader(self) -> CollectionReader:
        return self.readers.of(self.settings.collection)

    @cached_property
    def terms(self) -> Bm25Encoder:
        from surefind.adapters.qdrant.edge import Bm25Analyzer
        from surefind.services.encoding.bm25 import Bm25Encoder

        return Bm25Encoder(Bm25Analyzer())

    def generations(self, collection: str | None = None) -> Generations:
        """The generations of a collection, by default the configured one."""
        from surefind.services.generations.generations import Generations

        return Generations(collection or self.settings.collection, self.index, self.catalogs)

    async def searcher(self) -> Searcher:
        from surefind.services.search.answer_cache import AnswerCache
        from surefind.services.search.search import Searcher

        if self._searcher is None:
            if find_spec("opentelemetry") is not None:
                from surefind.adapters.opentelemetry import write_spans

                self.observers.append(write_spans)
            # Other programs may change the documents table at any time, so don't cache answers.
            answers = None if self.settings.documents_table else AnswerCache()
            embedder = await self.query_embedder()
            self._searcher = Searcher(
                self.readers,
                embedder,
                self.terms,
                self.rerank_stage,
                self._observe,
                answers,
                self.kind_weights,
            )
        return self._searcher

    @cached_property
    def kind_weights(self) -> KindWeights:
        from surefind.services.search.ranking.rescoring import DEFAULT_KIND_WEIGHTS

        return {**DEFAULT_KIND_WEIGHTS, **self.settings.kind_weights}

    @property
    def rerank_stage(self) -> RerankStage | None:
        from surefind.services.encoding.reranking import BUDGETED_BATCH, RerankStage

        if self.reranker is None:
            return None
        settings = self.settings
        # Each call of Cohere costs the same, so a budget there holds for the call as a whole.
        usual = settings.rerank_depth if settings.reranker == "cohere" else BUDGETED_BATCH
        return RerankStage(
            self.reranker,
            settings.rerank_depth,
            settings.rerank_batch or usual,
            settings.rerank_budget_ms,
        )

    def _observe(self, result: SearchResult) -> None:
        for observer in self.observers:
            observer(result)

    @cached_property
    def reranker(self) -> Reranker | None:
        from surefind.services.encoding.circuit_breaker import BreakingReranker, CircuitBreaker
        from surefind.settings.providers import RERANKERS

        if self._own_reranker is not None:
            return self._own_reranker
        chosen = reranker_of(self.settings, self.notify)
        if chosen is None or self.settings.reranker not in RERANKERS.own:
            return chosen
        if self.settings.reranker == "onnx":  # on this machine
            return chosen
        return BreakingReranker(chosen, CircuitBreaker("the reranking service"))

    @cached_property
    def embedding_breaker(self) -> CircuitBreaker:
        from surefind.services.encoding.circuit_breaker import CircuitBreaker

        return CircuitBreaker("the embedding service")

    async def embedder(self, *, writing: bool = False) -> CachedEmbedder:
        """The embedder with its model loaded. `writing` also opens the embedding cache on disk."""
        from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache

        embedder = await self.query_embedder()
        await embedder.load()
        if writing and not embedder.has_cache:
            embedder.keep_in(SqliteEmbeddingCache(self._cache_path, self.notify))
        return embedder

    async def query_embedder(self) -> CachedEmbedder:
        """The same embedder, but a local model is only loaded for the first uncached query."""
        from surefind.adapters.embedders.model_files import FINGERPRINT
        from surefind.adapters.embedders.threaded import BATCH_SIZE
        from surefind.services.encoding.cached_embedder import CachedEmbedder, LazyModel

        async with self._loading:
            if self._embedder is None:
                if self._own_embedder is not None:
                    self._embedder = CachedEmbedder(self._own_embedder)
                elif self.settings.embedder == "local":
                    load = partial(open_embedder, self.settings, self.notify)
                    self._embedder = CachedEmbedder(LazyModel(FINGERPRINT, BATCH_SIZE, load))
                elif self.settings.embedder == "onnx":
                    opened = await open_embedder(self.settings, self.notify)
                    self._embedder = CachedEmbedder(opened)
                else:
                    self._embedder = CachedEmbedder(await self._remote_embedder())
        return self._embedder

    async def _remote_embedder(self) -> Embedder:
        """An embedder behind a circuit breaker, except a plugin's, which may not be remote."""
        from surefind.errors import EmbeddingError
        from surefind.services.encoding.circuit_breaker import BreakingEmbedder
        from surefind.settings.providers import EMBEDDERS

        if self.settings.embedder not in EMBEDDERS.own:
            return await open_embedder(self.settings, self.notify)
        with self.embedding_breaker.watching(EmbeddingError):
            opened = await open_embedder(self.settings, self.notify)
        return BreakingEmbedder(opened, self.embedding_breaker)

    async def dry_run_embedder(self) -> CachedEmbedder:
        """An embedder for dry runs; reads the cache of paid embeddings for the cost estimate."""
        from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
        from surefind.errors import StoreError

        embedder = await self.embedder()
        if self.price_per_million_tokens and not embedder.has_cache:
            with suppress(StoreError):  # no cache yet
                cache = SqliteEmbeddingCache(self._cache_path, self.notify, read_only=True)
                embedder.keep_in(cache)
        return embedder

    @property
    def price_per_million_tokens(self) -> float | None:
        """None if it is unknown, as for a caller's own embedder."""
        if self._own_embedder is not None:
            return self.settings.embed_price_per_million_tokens
        return price_of_tokens(self.settings)

    def embedding_cache(self, *, read_only: bool) -> EmbeddingCache | None:
        """The cache on disk, or None if there is none yet."""
        from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache

        if not self._cache_path.exists():
            return None
        return SqliteEmbeddingCache(self._cache_path, self.notify, read_only=read_only)

    @cached_property
    def query_log_file(self) -> QueryLogFile:
        from surefind.adapters.sqlite.query_log import NAME, QueryLogFile

        return QueryLogFile(self.settings.data_dir / NAME, self.settings.query_log_days)

    async def logged_searches(self, since: datetime | None = None) -> Sequence[LoggedSearch]:
        """The searches of the configured collection in the query log, oldest first."""
        since = since or datetime.fromtimestamp(0, UTC)
        return await asyncio.to_thread(self.query_log_file.read, self.settings.collection, since)

    @property
    def _cache_path(self) -> Path:
        return self.settings.data_dir / "cache" / "embeddings.sqlite"

    async def close(self) -> None:
        if "readers" in self.__dict__:
            await self.readers.close()
        if "own_index" in self.__dict__:
            await self.index.close()
        if "catalogs" in self.__dict__ or "own_catalogs" in self.__dict__:
            await self.catalogs.close()
        embedder = self._embedder or self._own_embedder
        if embedder is not None:
            await embedder.close()
        reranker = self.__dict__.get("reranker") or self._own_reranker
        if reranker is not None:
            await reranker.close()


def _supplied_embedder(embedder: Embedder | None) -> Embedder | None:
    if embedder is None:
        return None
    from surefind.adapters.embedders.supplied import SuppliedEmbedder

    return SuppliedEmbedder(embedder)


def _supplied_reranker(reranker: Reranker | None) -> Reranker | None:
    if reranker is None:
        return None
    from surefind.adapters.embedders.supplied import SuppliedReranker

    return SuppliedReranker(reranker)
