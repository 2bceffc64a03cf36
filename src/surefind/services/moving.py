"""Moving a generation: out of its stores page by page, and into others as a generation of theirs.

What moves is what can't be made again: documents, chunks, vectors. The words of the lexical leg are
counted anew, by the rules that are in force where it arrives. Nothing is embedded.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from surefind.errors import StoreError, StoreRefused
from surefind.model import ChunkRecord, GenerationRef, LexicalSettings, Manifest
from surefind.ports import (
    Begun,
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
from surefind.services.building import Progress, Report, check_whole
from surefind.services.generations import drop
from surefind.services.lexical import TermReader, mean_on_grid
from surefind.services.resuming import Half, left_behind, making_of

Pages = Callable[[], AsyncIterator[MovedPage]]
"""They may be asked for more than once."""

Vectors = Callable[[Sequence[ChunkRecord]], Awaitable[Matrix]]
"""One row for each of a page's chunks."""

_PAGES_AT_ONCE = 64
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
        return await index.vectors([record.chunk.point_id for record in records])

    return vectors


@dataclass(frozen=True, slots=True)
class Destination:
    """The stores that a generation moves into, and the rules by which words are counted there."""

    index: IndexStore
    catalogs: CatalogStore
    terms: TermReader
    version: str

    async def receive(
        self,
        collection: str,
        manifest: Manifest,
        pages: Pages,
        report: Report,
    ) -> Manifest:
        """Publish what comes as the collection's next generation: all of it, or nothing."""
        async with self.catalogs.writing("ingest"):
            await self.index.require_room(manifest.chunks, manifest.embedder.dimensions)
            half = await left_behind(collection, self.index, self.catalogs)
            if half is not None:  # its pages come again, only its points wait
                await self.catalogs.drop(half.ref)
            arrival = _Arrival(self, await self.catalogs.next_ref(collection), manifest, half)
            try:
                sealed = await arrival.build(pages, report)
                await self.catalogs.point_to(sealed.ref)
            except BaseException as error:
                await arrival.clean_up(refused=isinstance(error, StoreRefused))
                raise
            await self.index.published(sealed.ref)
            return sealed


class _Arrival:
    """One generation on its way into its new stores."""

    def __init__(
        self, stores: Destination, ref: GenerationRef, manifest: Manifest, half: Half | None
    ) -> None:
        self._half = half
        self._stores = stores
        self._ref = ref
        self._manifest = manifest
        self._catalog: CatalogWriter | None = None
        self._index: IndexWriter | None = None

    async def build(self, pages: Pages, report: Report) -> Manifest:
        stores, ref = self._stores, self._ref
        follows = await stores.catalogs.current(ref.collection)
        mean_terms = await self._mean_terms(pages)
        self._catalog = catalog = await stores.catalogs.create(ref, None)
        lexical = LexicalSettings(stores.terms.name, mean_terms)
        self._index = index = await stores.index.create(
            ref, self._manifest.embedder.dimensions, None, self._begun(lexical)
        )
        self._half = None
        await self._fill(catalog, index, pages(), mean_terms, report)
        report(Progress("indexing", 0))
        points = await index.finish()
        self._index = None
        written = await catalog.finish()
        self._catalog = None
        report(Progress("verifying", 0))
        await check_whole(ref, points, written, stores.index, stores.catalogs)
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
        await stores.catalogs.seal(sealed)
        return sealed

    def _begun(self, lexical: LexicalSettings) -> Begun:
        """A generation comes as it is: what was left of another one is not gone on with."""
        manifest = self._manifest
        content = f"{manifest.source_digest} {manifest.created_at.isoformat()}"
        making = making_of(manifest.embedder, lexical, self._stores.version, content)
        return Begun(making, self._half.begun.at if self._half else datetime.now(UTC))

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
        report: Report,
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
                await self._stores.catalogs.require_writing()
                await index.upsert(waiting)
                waiting = []
                report(Progress("moving", chunks, manifest.chunks))
        if waiting:
            await index.upsert(waiting)
        if (documents, chunks) != (manifest.documents, manifest.chunks):
            raise StoreError(
                f"{documents} pages with {chunks} chunks came, and the manifest names "
                f"{manifest.documents} with {manifest.chunks}; nothing was published"
            )

    @property
    def _counts_anew(self) -> bool:
        return self._manifest.lexical.analyzer != self._stores.terms.name

    def _counted(self, records: Sequence[ChunkRecord]) -> list[ChunkRecord]:
        if not self._counts_anew:
            return list(records)
        length = self._stores.terms.length
        return [replace(record, term_count=length(record.chunk.passage)) for record in records]

    async def clean_up(self, *, refused: bool) -> None:
        """What was not published never happened; but what can be gone on with waits for that.

        Whoever went on with what was refused would be refused the same.
        """
        stores, waits = self._stores, self._half is not None
        if self._index is not None:
            waits = self._index.resumable
            await self._index.abandon()
        if self._catalog is not None:
            await self._catalog.abandon()
        if waits and not refused:
            return
        if await stores.catalogs.current(self._ref.collection) != self._ref.number:
            await drop(self._ref, stores.index, stores.catalogs)
