"""Moving a generation: out of its stores page by page, and into others as a generation of theirs.

What moves is what can't be made again: documents, chunks, vectors. The words of the lexical leg are
counted anew, by the rules that are in force where it arrives. Nothing is embedded.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from surefind.errors import StoreChanged, StoreError, StoreRefused
from surefind.model import ChunkRecord, GenerationRef, LexicalSettings, Manifest
from surefind.ports import (
    CatalogStore,
    CatalogWriter,
    IndexEntry,
    IndexStore,
    IndexWriter,
    Matrix,
    MovedPage,
    UnfinishedIndex,
    VectorIndex,
    WholeCatalog,
)
from surefind.services.encoding.bm25 import Bm25Encoder, mean_on_grid
from surefind.services.generations.generations import drop
from surefind.services.generations.index_building import Progress, ReportProgress, check_whole
from surefind.services.generations.resume import (
    PartialBuild,
    build_digest_of,
    left_behind,
    require_room,
)

Pages = Callable[[], AsyncIterator[MovedPage]]
"""They may be asked for more than once."""

Vectors = Callable[[Sequence[ChunkRecord]], Awaitable[Matrix]]
"""One row for each of a page's chunks."""

_PAGES_AT_ONCE = 64
_HEAL = "`surefind doctor` says what can be done"
_POINTS_AT_ONCE = 500


async def pages_of(catalog: WholeCatalog, vectors: Vectors) -> AsyncIterator[MovedPage]:
    """Every document with its chunks and their vectors, in the order of the source paths."""
    last: str | None = None
    while documents := await catalog.documents(last, _PAGES_AT_ONCE):
        for document in documents:
            path = document.source_path
            records = await catalog.document_chunks(path)
            matrix = await vectors(records)
            yield MovedPage(await catalog.whole_document(path), tuple(records), matrix)
        last = documents[-1].source_path


def kept_in(index: VectorIndex) -> Vectors:
    """The vectors that the index has of chunks."""

    async def vectors(records: Sequence[ChunkRecord]) -> Matrix:
        rows = await index.vectors([record.chunk.point_id for record in records])
        if not np.isfinite(rows).all():
            raise StoreChanged(
                f"the vectors of {records[0].chunk.source_path} are damaged; {_HEAL}"
            )
        return rows

    return vectors


@dataclass(frozen=True, slots=True)
class TransferTarget:
    """The stores that a generation moves into, and the rules by which words are counted there."""

    index: IndexStore
    catalogs: CatalogStore
    terms: Bm25Encoder
    version: str

    async def receive(
        self,
        collection: str,
        manifest: Manifest,
        pages: Pages,
        report: ReportProgress,
    ) -> Manifest:
        """Publish what comes as the collection's next generation: all of it, or nothing."""
        async with self.catalogs.writing("ingest"):
            half = await left_behind(collection, self.index, self.catalogs)
            dimensions = manifest.embedder.dimensions
            await require_room(collection, self.index, self.catalogs, manifest.chunks, dimensions)
            arrival = _Transfer(self, collection, manifest, half)
            try:
                sealed = await arrival.build(pages, report)
                await self.catalogs.point_to(sealed.ref)
            except StoreRefused:
                await arrival.clean_up(refused=True)
                raise
            except BaseException:
                await arrival.clean_up()
                raise
            await self.index.published(sealed.ref)
            return sealed


class _Transfer:
    """One generation on its way into its new stores."""

    def __init__(
        self, stores: TransferTarget, collection: str, manifest: Manifest, half: PartialBuild | None
    ) -> None:
        self._half = half
        self._waits = half is not None
        self._sealing = self._spoilt = False
        self._stores = stores
        self._collection = collection
        self._manifest = manifest
        self._ref: GenerationRef | None = None
        self._catalog: CatalogWriter | None = None
        self._index: IndexWriter | None = None

    async def build(self, pages: Pages, report: ReportProgress) -> Manifest:
        stores = self._stores
        follows = await stores.catalogs.current(self._collection)
        mean_terms = await self._mean_terms(pages)
        ref, catalog = await self._begin()
        lexical = LexicalSettings(stores.terms.name, mean_terms)
        await stores.catalogs.require_writing()
        self._index = index = await stores.index.create(
            ref, self._manifest.embedder.dimensions, None, self._begun(lexical)
        )
        self._waits = index.resumable
        await self._fill(catalog, index, pages(), mean_terms, report)
        report(Progress("indexing", 0))
        await stores.catalogs.require_writing()
        points = await index.finish()
        self._index = None
        written = await catalog.finish()
        self._catalog = None
        report(Progress("verifying", 0))
        try:
            await check_whole(ref, points, written, stores.index, stores.catalogs)
        except StoreChanged:
            self._spoilt = True
            raise
        sealed = replace(
            self._manifest,
            collection=ref.collection,
            number=ref.number,
            created_at=datetime.now(UTC),
            surefind_version=stores.version,
            lexical=lexical,
            based_on=None,
            follows=follows,
            replaced=0,
        )
        self._sealing = True
        await stores.catalogs.seal(sealed)
        return sealed

    async def _begin(self) -> tuple[GenerationRef, CatalogWriter]:
        catalogs = self._stores.catalogs
        if self._half is not None:  # its pages come again, only its points wait
            await catalogs.drop(self._half.ref)
        self._ref = ref = await catalogs.next_ref(self._collection)
        self._catalog = catalog = await catalogs.create(ref, None)
        return ref, catalog

    def _begun(self, lexical: LexicalSettings) -> UnfinishedIndex:
        """A generation comes as it is: what was left of another one is not gone on with."""
        manifest = self._manifest
        content = f"{manifest.source_digest} {manifest.created_at.isoformat()}"
        build_digest = build_digest_of(manifest.embedder, lexical, self._stores.version, content)
        if self._half is not None and self._half.begun.build_digest == build_digest:
            return self._half.begun
        return UnfinishedIndex(build_digest, datetime.now(UTC))

    async def _mean_terms(self, pages: Pages) -> float:
        """It has to be known before the first weight is written."""
        made = self._manifest.lexical
        if not self._counts_anew:
            return made.mean_terms
        total = 0
        async for page in pages():
            total += sum(record.term_count for record in self._counted(page.records))
        return mean_on_grid(total, self._manifest.chunks)

    async def _fill(
        self,
        catalog: CatalogWriter,
        index: IndexWriter,
        pages: AsyncIterator[MovedPage],
        mean_terms: float,
        report: ReportProgress,
    ) -> None:
        terms, manifest = self._stores.terms, self._manifest
        documents = chunks = 0
        waiting: list[IndexEntry] = []
        report(Progress("moving", 0, manifest.chunks))
        async for page in pages:
            records = self._counted(page.records)
            await catalog.put(page.document, records)
            waiting += [
                IndexEntry(record, vector, terms.passage(record.chunk.passage, mean_terms))
                for record, vector in zip(records, page.vectors, strict=True)
            ]
            documents, chunks = documents + 1, chunks + len(records)
            if len(waiting) >= _POINTS_AT_ONCE:
                await self._write(index, waiting)
                waiting = []
                report(Progress("moving", chunks, manifest.chunks))
        if waiting:
            await self._write(index, waiting)
        if (documents, chunks) != (manifest.documents, manifest.chunks):
            raise StoreError(
                f"{documents} pages with {chunks} chunks came, and the manifest names "
                f"{manifest.documents} with {manifest.chunks}; nothing was published"
            )

    async def _write(self, index: IndexWriter, entries: Sequence[IndexEntry]) -> None:
        await self._stores.catalogs.require_writing()  # else the index is another writer's by now
        await index.upsert(entries)

    @property
    def _counts_anew(self) -> bool:
        return self._manifest.lexical.analyzer != self._stores.terms.name

    def _counted(self, records: Sequence[ChunkRecord]) -> list[ChunkRecord]:
        if not self._counts_anew:
            return list(records)
        length = self._stores.terms.length
        return [replace(record, term_count=length(record.chunk.passage)) for record in records]

    async def clean_up(self, *, refused: bool = False) -> None:
        """What was not published never happened; but what can be gone on with waits for that.

        Whoever went on with what was refused would be refused the same.
        """
        index, catalogs = self._stores.index, self._stores.catalogs
        if self._index is not None:
            await self._index.abandon()
        if self._catalog is not None:
            await self._catalog.abandon()
        if self._ref is None or (self._waits and not refused and not await self._is_over()):
            return
        if await catalogs.current(self._collection) != self._ref.number:
            await drop(self._ref, index, catalogs)

    async def _is_over(self) -> bool:
        """What is not whole is of no use, and what is complete is not gone on with."""
        if not self._sealing:
            return self._spoilt
        return self._ref in await self._stores.catalogs.complete(self._collection)
