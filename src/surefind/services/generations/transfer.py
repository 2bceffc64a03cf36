"""Copies a generation into other stores, page by page: export, import, promote.

Documents, chunks and vectors are copied unchanged; nothing is embedded. Terms are recounted if the
target uses another analyzer.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np

from surefind.errors import StoreChanged, StoreError
from surefind.model import ChunkRecord, Document, LexicalSettings, Manifest, unpublished_url
from surefind.ports import (
    CatalogStore,
    CatalogWriter,
    IndexEntry,
    IndexStore,
    IndexWriter,
    Matrix,
    MovedPage,
    VectorIndex,
    WholeCatalog,
)
from surefind.services.encoding.bm25 import Bm25Encoder, mean_on_grid
from surefind.services.generations.cleanup import remove_unfinished, require_room
from surefind.services.generations.index_building import Progress, ReportProgress
from surefind.services.generations.partial_build import PartialBuild

Pages = Callable[[], AsyncIterator[MovedPage]]
"""May be called more than once."""

Vectors = Callable[[Sequence[ChunkRecord]], Awaitable[Matrix]]
"""One row per chunk."""

Addressed = TypeVar("Addressed", Document, ChunkRecord)

_PAGES_AT_ONCE = 64
_HEAL = "`surefind doctor` shows how to repair it"
_POINTS_AT_ONCE = 500


async def pages_of(catalog: WholeCatalog, vectors: Vectors) -> AsyncIterator[MovedPage]:
    """Every document with its chunks and their vectors, sorted by source path."""
    last: str | None = None
    while documents := await catalog.documents(last, _PAGES_AT_ONCE):
        for document in documents:
            path = document.source_path
            records = await catalog.document_chunks(path)
            matrix = await vectors(records)
            yield MovedPage(await catalog.whole_document(path), tuple(records), matrix)
        last = documents[-1].source_path


def kept_in(index: VectorIndex) -> Vectors:
    """Reads the vectors from the index."""

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
    """The stores that receive a generation, and the analyzer used there."""

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
        """Publish the pages as the next generation of the collection, all or nothing."""
        async with self.catalogs.writing("ingest"):
            await remove_unfinished(collection, self.index, self.catalogs)
            dimensions = manifest.embedder.dimensions
            await require_room(collection, self.index, self.catalogs, manifest.chunks, dimensions)
            follows = await self.catalogs.current(collection)
            partial = PartialBuild(collection, self.index, self.catalogs)
            try:
                built = await _Transfer(self, manifest, partial, report).build(pages, follows)
                await partial.publish(built)
            finally:
                await partial.clean_up()
            return built


class _Transfer:
    """A transfer of one generation."""

    def __init__(
        self,
        target: TransferTarget,
        manifest: Manifest,
        partial: PartialBuild,
        report: ReportProgress,
    ) -> None:
        self._terms = target.terms
        self._target = target
        self._manifest = manifest
        self._partial = partial
        self._report = report
        self._recounts_terms = manifest.lexical.analyzer != target.terms.name

    async def build(self, pages: Pages, follows: int | None) -> Manifest:
        """Build the complete generation, without publishing it."""
        mean_terms = await self._mean_terms(pages)
        catalog = await self._partial.begin(None)
        index = await self._partial.begin_index(self._manifest.embedder.dimensions, None)
        await self._fill(catalog, index, pages(), mean_terms)
        await self._partial.finish(self._report)
        return replace(
            self._manifest,
            collection=self._partial.ref.collection,
            number=self._partial.ref.number,
            created_at=datetime.now(UTC),
            surefind_version=self._target.version,
            lexical=LexicalSettings(self._terms.name, mean_terms),
            based_on=None,
            follows=follows,
            replaced=0,
        )

    async def _mean_terms(self, pages: Pages) -> float:
        """The mean length, which the weights depend on."""
        if not self._recounts_terms:
            return self._manifest.lexical.mean_terms
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
    ) -> None:
        manifest, terms = self._manifest, self._terms.passage
        documents = chunks = 0
        waiting: list[IndexEntry] = []
        self._report(Progress("moving", 0, manifest.chunks))
        async for page in pages:
            records = [self._readdressed(record) for record in self._counted(page.records)]
            await catalog.put(self._readdressed(page.document), records)
            waiting += [
                IndexEntry(record, vector, terms(record.chunk.passage, mean_terms, record.language))
                for record, vector in zip(records, page.vectors, strict=True)
            ]
            documents, chunks = documents + 1, chunks + len(records)
            if len(waiting) >= _POINTS_AT_ONCE:
                await self._write(index, waiting)
                waiting = []
                self._report(Progress("moving", chunks, manifest.chunks))
        if waiting:
            await self._write(index, waiting)
        if (documents, chunks) != (manifest.documents, manifest.chunks):
            raise StoreError(
                f"the source has {documents} pages with {chunks} chunks, but its manifest says "
                f"{manifest.documents} with {manifest.chunks}. Nothing was published; {_HEAL}"
            )

    async def _write(self, index: IndexWriter, entries: Sequence[IndexEntry]) -> None:
        # Without the write lock, the index may belong to another run.
        await self._target.catalogs.require_writing()
        await index.upsert(entries)

    def _readdressed(self, page: Addressed) -> Addressed:
        """With the new collection's name in the address of an unpublished page."""
        old, new = (
            unpublished_url(collection, "")
            for collection in (self._manifest.collection, self._partial.ref.collection)
        )
        if old == new or not page.url.startswith(old):
            return page
        return replace(page, url=new + page.url.removeprefix(old))

    def _counted(self, records: Sequence[ChunkRecord]) -> list[ChunkRecord]:
        if not self._recounts_terms:
            return list(records)
        length = self._terms.length
        return [
            replace(record, term_count=length(record.chunk.passage, record.language))
            for record in records
        ]
