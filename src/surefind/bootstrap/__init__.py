"""The only place where objects are built and wired.

Vendors are imported when they are wanted: help texts and catalogs need no embedding model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefind.bootstrap.connections import (
    connected_collections,
    foreign_collection,
    routed_catalogs,
    routed_index,
    routed_published,
)
from surefind.bootstrap.models import Notify, open_embedder, price_of_tokens, reranker_of
from surefind.bootstrap.stores import (
    catalog_store,
    index_store,
    postgres_store,
    published_catalogs,
)

if TYPE_CHECKING:
    from surefind.adapters.postgres_migrations import Migration
    from surefind.adapters.run_files import RunFiles
    from surefind.evaluation.expectations import Expectation
    from surefind.evaluation.golden import GoldenSet
    from surefind.evaluation.lint import Finding
    from surefind.evaluation.report import Report as ValidationReport
    from surefind.model import ChunkRecord, IngestReport, Query, SearchResult, Threshold
    from surefind.ports import CatalogStore, IndexStore, Reranker, Source
    from surefind.services.audit import AuditReport
    from surefind.services.audit import Progress as Audited
    from surefind.services.building import Report
    from surefind.services.connect import ConnectWish, Proposal
    from surefind.services.connected import ConnectedCollection
    from surefind.services.embedding import CachedEmbedder
    from surefind.services.facets import Facets
    from surefind.services.gate import Gate
    from surefind.services.generations import Generations
    from surefind.services.inspect import Inspection
    from surefind.services.keys import Keyring, Keys
    from surefind.services.lexical import TermReader
    from surefind.services.passages import Passages
    from surefind.services.reading import CollectionReader, Readers
    from surefind.services.search import Searcher
    from surefind.services.validate import Progress as Validated
    from surefind.services.validate import ValidateOptions
    from surefind.services.vector_search import VectorSearcher
    from surefind.services.why_not import WhyNot
    from surefind.settings import Settings


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
        for name in settings.idle_keys:
            notify(f"{name} is set, but not used: see the settings embedder and reranker")
        self._embedder: CachedEmbedder | None = None
        self._searcher: Searcher | None = None
        self.observers: list[Callable[[SearchResult], None]] = []
        self._loading = asyncio.Lock()

    @cached_property
    def index(self) -> IndexStore:
        own = index_store(self.settings, self._folder, self._own_catalogs, self._notify)
        return routed_index(own, self._connected)

    @cached_property
    def catalogs(self) -> CatalogStore:
        return routed_catalogs(self._own_catalogs, self._connected)

    @cached_property
    def _own_catalogs(self) -> CatalogStore:
        return catalog_store(self.settings, self._folder)

    @cached_property
    def _connected(self) -> Sequence[ConnectedCollection]:
        return connected_collections(
            self.settings, self._notify, self.embedder, lambda: self.terms.name
        )

    @cached_property
    def readers(self) -> Readers:
        from surefind.services.breaker import Breaker, BreakingIndexStore
        from surefind.services.reading import Readers

        index = BreakingIndexStore(self.index, lambda ref: Breaker(f"the vector index of {ref}"))
        own = published_catalogs(self._own_catalogs, self.settings, self._folder)
        return Readers(index, routed_published(own, self._connected))

    @property
    def reader(self) -> CollectionReader:
        return self.readers.of(self.settings.collection)

    @cached_property
    def terms(self) -> TermReader:
        from surefind.adapters.qdrant_edge import Bm25Analyzer
        from surefind.services.lexical import TermReader

        return TermReader(Bm25Analyzer())

    @property
    def generations(self) -> Generations:
        return self.generations_of(None)

    def generations_of(self, collection: str | None) -> Generations:
        """Of the collection that is worked on, or of another one."""
        from surefind.services.generations import Generations

        return Generations(collection or self.settings.collection, self.index, self.catalogs)

    @cached_property
    def keys(self) -> Keys:
        from surefind.adapters.key_file import KeyFile
        from surefind.services.keys import Keys

        return Keys(KeyFile(self._folder))

    @cached_property
    def keyring(self) -> Keyring:
        from surefind.adapters.key_file import KeyFile
        from surefind.services.keys import Keyring

        return Keyring(KeyFile(self._folder))

    def serving(self) -> AbstractContextManager[None]:
        """Hold the data folder's one place for a server; where nobody can write, there is none."""
        return nullcontext() if self._folder.read_only else self._folder.held("serve")

    async def searcher(self) -> Searcher:
        """With the local model, it is loaded for the first question that has to be embedded."""
        from surefind.adapters.model_files import FINGERPRINT
        from surefind.services.embedding import LazyEmbedder
        from surefind.services.search import Searcher

        if self._searcher is None:
            if find_spec("opentelemetry") is not None:
                from surefind.adapters.opentelemetry import write_spans

                self.observers.append(write_spans)
            local = self.settings.embedder == "local"
            embedder = LazyEmbedder(FINGERPRINT, self.embedder) if local else await self.embedder()
            self._searcher = Searcher(
                self.readers, embedder, self.terms, self.reranker, self._observe
            )
        return self._searcher

    def _observe(self, result: SearchResult) -> None:
        for observer in self.observers:
            observer(result)

    @cached_property
    def reranker(self) -> Reranker | None:
        from surefind.services.breaker import Breaker, BreakingReranker

        chosen = reranker_of(self.settings, self._notify)
        return chosen and BreakingReranker(chosen, Breaker("the reranking service"))

    async def search(self, query: Query) -> SearchResult:
        return await (await self.searcher()).search(query)

    async def search_many(self, queries: Sequence[Query]) -> list[SearchResult]:
        from surefind.services.batch import search_all

        return await search_all(queries, await self.searcher())

    async def why_not(self, query: Query, wanted: str) -> WhyNot:
        from surefind.services.why_not import Explainer

        return await Explainer(self.readers, await self.searcher()).why_not(query, wanted)

    async def golden(
        self, path: Path | None, qrels: Path | None = None, most: int | None = None
    ) -> GoldenSet:
        """The tests of a file; without one, those that the collection's own headings make, `most`
        of them at most.
        """
        from surefind.adapters.golden_files import read_golden
        from surefind.errors import StoreError
        from surefind.services.starter import MAX_STARTERS, starter_set

        if path is not None:
            return await asyncio.to_thread(read_golden, path, qrels)
        async with self.reader.lease() as generation:
            if generation.catalog is None:
                raise StoreError("the catalog is away; name a file of tests, or try again later")
            return await starter_set(generation.catalog, most or MAX_STARTERS)

    async def validate(
        self,
        golden: GoldenSet,
        options: ValidateOptions,
        progress: Validated,
        generation: int | None = None,
    ) -> ValidationReport:
        """`generation` is the one to ask, also where no reader sees it."""
        from surefind.services.reading import Readers
        from surefind.services.search import Searcher
        from surefind.services.validate import Validator

        if generation is None:
            readers, searcher = self.readers, await self.searcher()
        else:
            manifest = await self.generations.one(generation)
            readers = Readers(self.index, self.catalogs, pinned=manifest)
            searcher = Searcher(readers, await self.embedder(), self.terms)
        under_load = None
        if options.load is not None:
            # Users ask what nobody has asked before: a load of remembered questions would flatter.
            fresh = (await self.embedder()).uncached
            under_load = Searcher(readers, fresh, self.terms)
        try:
            validator = Validator(readers, searcher, version("surefind"), under_load)
            return await validator.run(golden, options, progress)
        finally:
            if generation is not None:
                await readers.close()

    async def learn_threshold(self, report: ValidationReport) -> Threshold:
        from surefind.services.calibrating import learn_threshold

        return await learn_threshold(report, self.catalogs)

    async def migrate_catalog(self, *, rehearse: bool) -> Sequence[Migration]:
        """The steps that the tables in PostgreSQL lacked, now taken, or shown to be possible."""
        store = postgres_store(self.settings)
        try:
            return await store.migrate(rehearse=rehearse)
        finally:
            await store.close()

    @cached_property
    def history(self) -> RunFiles:
        from surefind.adapters.run_files import RunFiles

        return RunFiles(self._folder)

    async def expectations_for(
        self, picked: Sequence[tuple[ChunkRecord, int]]
    ) -> tuple[Expectation, ...]:
        from surefind.errors import StoreError
        from surefind.services.golden import expectations_for

        async with self.reader.lease() as generation:
            if generation.catalog is None:
                raise StoreError("the catalog is away, and only it knows what else is there")
            return await expectations_for(picked, generation.catalog)

    async def lint(self, golden: GoldenSet) -> list[Finding]:
        from surefind.services.golden import lint_set

        async with self.reader.lease() as generation:
            return await lint_set(golden, generation, self.catalogs)

    async def passages_of(self, report: ValidationReport) -> Mapping[str, ChunkRecord]:
        from surefind.services.evidence import passages_of

        return await passages_of(report, self.readers.of(report.subject.collection))

    @cached_property
    def passages(self) -> Passages:
        from surefind.services.passages import Passages

        return Passages(self.reader)

    @cached_property
    def facets(self) -> Facets:
        from surefind.services.facets import Facets

        return Facets(self.reader)

    @cached_property
    def vectors(self) -> VectorSearcher:
        from surefind.services.vector_search import VectorSearcher

        return VectorSearcher(self.reader)

    async def ingest(
        self,
        paths: Sequence[str | PathLike[str]],
        report: Report,
        *,
        dry_run: bool = False,
        websites: Sequence[str] = (),
        crawl: Mapping[str, Any] | None = None,
        gate: str | PathLike[str] | None = None,
        gate_strict: bool = False,
        **wanted: Any,
    ) -> IngestReport:
        """`crawl` holds what is asked of the crawler, `wanted` what is asked of the ingest, both by
        the names of their options. `gate` is a file of golden tests; the empty one is none, also
        where the settings name one.
        """
        from surefind.services.building import IngestTools
        from surefind.services.ingest import IngestOptions, Ingestor

        self._check_own()
        guard = await self._gate(gate, strict=gate_strict)
        sources = self._sources(paths, websites, crawl or {})
        if not dry_run:
            self._folder.prepare()
            await self.index.require_room(points=0, dimensions=0)
        tools = IngestTools(
            embedder=await (
                self._rehearsing_embedder() if dry_run else self.embedder(writing=True)
            ),
            terms=self.terms,
            index=self.index,
            catalogs=self.catalogs,
            chunker=self.settings.chunker,
            version=version("surefind"),
            price_per_million_tokens=price_of_tokens(self.settings),
        )
        options = IngestOptions(
            collection=self.settings.collection,
            keep_generations=self.settings.keep_generations,
            gate=guard,
            **wanted,
        )
        ingestor = Ingestor(tools)
        if dry_run:
            return await ingestor.rehearse(sources, options, report)
        return await ingestor.run(sources, options, report)

    async def _gate(self, path: str | PathLike[str] | None, *, strict: bool) -> Gate | None:
        from surefind.services.gate import Gate

        wanted = self.settings.gate if path is None else path
        if not wanted:
            return None
        return Gate(await self.golden(Path(wanted)), strict or self.settings.gate_strict)

    def _sources(
        self,
        paths: Sequence[str | PathLike[str]],
        websites: Sequence[str],
        crawl: Mapping[str, Any],
    ) -> list[Source]:
        from surefind.adapters.filesystem import sources_of
        from surefind.adapters.website import WebsiteSource
        from surefind.adapters.website_http import CrawlOptions

        folders = sources_of(paths, self.settings.collection, self.settings.base_url)
        for folder in folders:
            for note in folder.notes:
                self._notify(f"{folder.name}: {note}")
        options = CrawlOptions(**crawl)
        return [*folders, *(WebsiteSource(url, options, self._notify) for url in websites)]

    async def inspect(self, path: Path, *, check_links: bool = False) -> Inspection:
        """What a page would become, without keeping any of it."""
        from surefind.adapters.filesystem import sources_of
        from surefind.services.inspect import inspect

        if check_links:
            return await self._inspect_links(path)
        [source] = sources_of([path], self.settings.collection, self.settings.base_url)
        return await inspect(source, self.settings.chunker, await self.embedder())

    async def _inspect_links(self, path: Path) -> Inspection:
        """As a page of the source that the collection was made from."""
        from surefind.adapters.filesystem import page_of
        from surefind.errors import StoreError
        from surefind.services.inspect import inspect

        settings = self.settings
        async with self.reader.lease() as generation:
            if generation.catalog is None:
                raise StoreError("the catalog is away, and only it knows all pages")
            known = {record.source_path for record in await generation.catalog.documents()}
            names = generation.manifest.sources
            source = page_of(path, names, known, settings.collection, settings.base_url)
            embedder = await self.embedder()
            return await inspect(source, settings.chunker, embedder, generation.catalog)

    def _check_own(self) -> None:
        from surefind.errors import InputError

        name = self.settings.collection
        if any(one.name == name for one in self.settings.connected):
            raise InputError(
                f"collection {name!r} is connected, something else fills it; surefind only reads "
                "it. Ingest into another one with --collection"
            )

    async def propose(self, wish: ConnectWish) -> Proposal:
        """How a collection that something else filled would be read. Nothing is kept."""
        from surefind.services.connect import propose

        foreign = foreign_collection(wish.collection, wish.url, self.settings, self._notify)
        try:
            return await propose(foreign, await self.embedder(), self.terms, wish)
        finally:
            await foreign.close()

    async def audit(self, progress: Audited) -> AuditReport:
        """Whether the collection's data is whole."""
        from surefind.services.audit import audit

        name = self.settings.collection
        foreign = [one.foreign for one in self._connected if one.connection.name == name]
        async with self.reader.lease() as generation:
            return await audit(generation, foreign[0] if foreign else None, progress)

    async def is_own(self, collection: str) -> bool:
        """Whether surefind itself has made a collection of that name."""
        return collection in await self._own_catalogs.collections()

    async def embedder(self, *, writing: bool = False) -> CachedEmbedder:
        """The model, loaded once. Only who writes opens the cache on disk."""
        from surefind.adapters.sqlite_cache import SqliteEmbeddingCache
        from surefind.services.breaker import Breaker, BreakingEmbedder
        from surefind.services.embedding import CachedEmbedder

        async with self._loading:
            if self._embedder is None:
                opened = await open_embedder(self.settings, self._notify)
                breaking = BreakingEmbedder(opened, Breaker("the embedding service"))
                self._embedder = CachedEmbedder(breaking, None)
            if writing and not self._embedder.has_cache:
                self._embedder.keep_in(SqliteEmbeddingCache(self._cache_path, self._notify))
        return self._embedder

    async def _rehearsing_embedder(self) -> CachedEmbedder:
        """For one that costs money, with a look at what is paid already."""
        from surefind.adapters.sqlite_cache import SqliteEmbeddingCache
        from surefind.errors import StoreError

        embedder = await self.embedder()
        if price_of_tokens(self.settings) and not embedder.has_cache:
            with suppress(StoreError):  # there is none yet
                cache = SqliteEmbeddingCache(self._cache_path, self._notify, read_only=True)
                embedder.keep_in(cache)
        return embedder

    @property
    def _cache_path(self) -> Path:
        return self.settings.data_dir / "cache" / "embeddings.sqlite"

    async def close(self) -> None:
        if "readers" in self.__dict__:
            await self.readers.close()
        index = self.__dict__.get("index")
        if index is not None:
            await index.close()
        if "catalogs" in self.__dict__ or "_own_catalogs" in self.__dict__:
            await self.catalogs.close()
        if self._embedder is not None:
            await self._embedder.close()
        reranker = self.__dict__.get("reranker")
        if reranker is not None:
            await reranker.close()


def fetch_model(settings: Settings, notify: Notify) -> Path:
    from surefind.adapters.model_files import locate

    return locate(settings.model_dir, settings.cache_dir, notify)
