"""The only place where objects are built and wired.

Vendors are imported when they are wanted: help texts and catalogs need no embedding model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.model import IngestReport, Query, SearchResult
    from surefind.ports import CatalogStore, IndexStore
    from surefind.services.building import Report
    from surefind.services.embedding import CachedEmbedder
    from surefind.services.generations import Generations
    from surefind.services.reading import CollectionReader
    from surefind.services.search import Searcher
    from surefind.settings import Settings

Notify = Callable[[str], None]


def silent(_message: str) -> None:
    pass


class Application:
    """One installation, wired as its settings say. What is not used is never built."""

    def __init__(self, settings: Settings, notify: Notify = silent) -> None:
        from surefind.adapters.layout import DataFolder

        self.settings = settings
        self._notify = notify
        self._folder = DataFolder(settings.data_dir)
        self._folder.check_format()
        for name in settings.unused_services:
            notify(f"{name} is set, but this version of surefind does not use it yet")
        self._embedder: CachedEmbedder | None = None
        self._searcher: Searcher | None = None
        self._loading = asyncio.Lock()

    @cached_property
    def index(self) -> IndexStore:
        from surefind.adapters.qdrant_edge import EdgeIndexStore

        return EdgeIndexStore(self._folder)

    @cached_property
    def catalogs(self) -> CatalogStore:
        from surefind.adapters.sqlite import SqliteCatalogStore

        return SqliteCatalogStore(self._folder)

    @cached_property
    def reader(self) -> CollectionReader:
        from surefind.services.reading import CollectionReader

        return CollectionReader(self.settings.collection, self.index, self.catalogs)

    @cached_property
    def generations(self) -> Generations:
        from surefind.services.generations import Generations

        return Generations(self.settings.collection, self.index, self.catalogs)

    def serving(self) -> AbstractContextManager[None]:
        """Hold the data folder's one place for a server; where nobody can write, there is none."""
        return nullcontext() if self._folder.read_only else self._folder.held("serve")

    async def searcher(self) -> Searcher:
        from surefind.adapters.qdrant_edge import Bm25TermCounter
        from surefind.services.search import Searcher

        if self._searcher is None:
            self._searcher = Searcher(self.reader, await self.embedder(), Bm25TermCounter())
        return self._searcher

    async def search(self, query: Query) -> SearchResult:
        return await (await self.searcher()).search(query)

    async def ingest(
        self,
        paths: Sequence[Path],
        report: Report,
        *,
        rebuild: bool = False,
        allow_shrink: bool = False,
    ) -> IngestReport:
        from surefind.adapters.filesystem import sources_of
        from surefind.adapters.qdrant_edge import Bm25TermCounter
        from surefind.services.building import IngestTools
        from surefind.services.ingest import IngestOptions, Ingestor

        sources = sources_of(paths)
        self._folder.prepare()
        await self.index.require_room(points=0, dimensions=0)
        tools = IngestTools(
            embedder=await self.embedder(writing=True),
            terms=Bm25TermCounter(),
            index=self.index,
            catalogs=self.catalogs,
            chunker=self.settings.chunker,
            version=version("surefind"),
        )
        options = IngestOptions(
            collection=self.settings.collection,
            base_url=self.settings.base_url,
            rebuild=rebuild,
            allow_shrink=allow_shrink,
            keep_generations=self.settings.keep_generations,
        )
        return await Ingestor(tools).run(sources, options, report)

    async def embedder(self, *, writing: bool = False) -> CachedEmbedder:
        """The model, loaded once. Only who writes opens the cache on disk."""
        async with self._loading:
            if self._embedder is None:
                self._embedder = await asyncio.to_thread(self._load_embedder, writing)
        return self._embedder

    def _load_embedder(self, writing: bool) -> CachedEmbedder:  # noqa: FBT001
        from surefind.adapters.bge_small import BgeSmallEmbedder
        from surefind.adapters.model_files import locate
        from surefind.adapters.sqlite_cache import SqliteEmbeddingCache
        from surefind.services.embedding import CachedEmbedder

        settings = self.settings
        files = locate(settings.model_dir, settings.cache_dir, self._notify)
        embedder = BgeSmallEmbedder(files, settings.threads)
        path = settings.data_dir / "cache" / "embeddings.sqlite"
        return CachedEmbedder(
            embedder, SqliteEmbeddingCache(path, self._notify) if writing else None
        )

    async def close(self) -> None:
        if "reader" in self.__dict__:
            await self.reader.close()
        if self._embedder is not None:
            await self._embedder.close()


def fetch_model(settings: Settings, notify: Notify) -> Path:
    from surefind.adapters.model_files import locate

    return locate(settings.model_dir, settings.cache_dir, notify)
