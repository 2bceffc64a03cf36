"""A whole installation for tests: real stores, a small embedder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.fakes import MemoryCatalogStore, PageSource, WordEmbedder
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndexStore
from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.model import ChunkerSettings, IngestReport, Query, SearchResult
from surefind.ports import CatalogStore, IndexStore, Source
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.generations import Generations
from surefind.services.generations.index_building import IngestTools, Progress, ReportProgress
from surefind.services.generations.readers import CollectionReader, Readers
from surefind.services.ingest.ingest import IngestOptions, Ingestor
from surefind.services.search.search import Searcher

GUIDE = "# Guide\n\nwelcome\n\n## Install\n\nrun the installer\n\n## Use\n\nask a question"
PAGES = {"index.md": "# Home\n\nhello", "guide/a.md": GUIDE, "guide/b.md": "# Other\n\nwords"}


@dataclass
class Installation:
    """Everything is real but the embedder, which counts its calls and fails when told to."""

    root: Path
    embedder: WordEmbedder = field(default_factory=WordEmbedder)
    chunker: ChunkerSettings = field(default_factory=ChunkerSettings)
    optimized_from: int = 1000
    index: IndexStore = field(init=False)
    catalogs: CatalogStore = field(init=False)
    readers: Readers = field(init=False)
    terms: Bm25Encoder = field(default_factory=lambda: Bm25Encoder(Bm25Analyzer()))

    def __post_init__(self) -> None:
        folder = DataFolder(self.root)
        folder.prepare()
        self.index = EdgeIndexStore(folder)
        self.catalogs = SqliteCatalogStore(folder)
        self.readers = Readers(self.index, self.catalogs)

    @property
    def reader(self) -> CollectionReader:
        return self.readers.of("docs")

    @property
    def generations(self) -> Generations:
        return Generations("docs", self.index, self.catalogs)

    async def ingest(
        self,
        pages: Mapping[str, str | bytes],
        failing: Mapping[str, str] | None = None,
        *,
        base_url: str | None = None,
        **options: object,
    ) -> IngestReport:
        source = PageSource(pages, failing, base_url=base_url)
        return await self.ingest_from(source, **options)  # type: ignore[arg-type]

    async def ingest_from(
        self,
        *sources: Source,
        crash_at: int | None = None,
        on_progress: ReportProgress | None = None,
        dry_run: bool = False,
        collection: str = "docs",
        **options: object,
    ) -> IngestReport:
        """`crash_at` breaks the run at the nth thing it reports, without any chance to tidy up."""
        cache = SqliteEmbeddingCache(self.root / "cache" / "embeddings.sqlite", print)
        cached = CachedEmbedder(self.embedder, cache)
        tools = IngestTools(
            cached,
            self.terms,
            self.index,
            self.catalogs,
            self.chunker,
            "test",
            optimized_from=self.optimized_from,
        )
        seen = 0

        def report(progress: Progress) -> None:
            nonlocal seen
            seen += 1
            if on_progress is not None:
                on_progress(progress)
            if seen == crash_at:
                raise Crash

        try:
            ingestor = Ingestor(tools)
            return await (ingestor.dry_run if dry_run else ingestor.run)(
                sources,
                IngestOptions(collection, **options),  # type: ignore[arg-type]
                report,
            )
        finally:
            await cached.close()

    async def search(self, text: str, **options: object) -> SearchResult:
        return await self.searcher.search(Query(text, **options))  # type: ignore[arg-type]

    @property
    def searcher(self) -> Searcher:
        return Searcher(self.readers, CachedEmbedder(self.embedder, None), self.terms)

    async def lose_catalog(self) -> None:
        """From now on readers find the catalog away; the index and the manifests are there."""
        manifest = (await self.generations.list())[-1]
        away = MemoryCatalogStore(away=True, pointers={"docs": manifest.number})
        away.sealed[manifest.ref] = manifest
        await self.readers.close()
        self.readers = Readers(self.index, away)

    async def texts(self) -> dict[str, list[str]]:
        """What a reader sees of it all: page -> texts, from index and catalog alike."""
        async with self.reader.lease() as generation:
            assert generation.catalog is not None
            seen: dict[str, list[str]] = {}
            points = []
            async for record in generation.catalog.chunks():
                seen.setdefault(record.chunk.source_path, []).append(record.chunk.text)
                points.append(record.chunk.point_id)
            payloads = await generation.index.payloads(points)
            assert len(payloads) == len(points) == await generation.index.count()
            in_index: dict[str, list[str]] = {}
            for point in points:
                chunk = payloads[point].chunk
                in_index.setdefault(chunk.source_path, []).append(chunk.text)
            assert in_index == seen
            return seen

    async def close(self) -> None:
        await self.readers.close()


class Crash(BaseException):
    """Not an Exception: nothing on the way may handle it."""
