"""A generation while it is being written, before readers can see it."""

import logging

from surefind.errors import StoreChanged, StoreError
from surefind.model import GenerationRef, Manifest
from surefind.ports import CatalogStore, CatalogWriter, IndexStore, IndexWriter
from surefind.services.generations.cleanup import drop
from surefind.services.generations.index_building import Progress, ReportProgress, check_complete

_log = logging.getLogger(__name__)


class PartialBuild:
    """Begin the catalog, begin the index, finish both, then publish or hold back.

    Until then, `clean_up` removes it; if this run is killed, the next one does. Every step that
    deletes or overwrites first checks that the write lock is still held, because otherwise the
    generation may belong to another run.
    """

    def __init__(self, collection: str, index: IndexStore, catalogs: CatalogStore) -> None:
        self._collection = collection
        self._indexes = index
        self._catalogs = catalogs
        self._ref: GenerationRef | None = None
        self._catalog: CatalogWriter | None = None
        self._index: IndexWriter | None = None

    @property
    def ref(self) -> GenerationRef:
        assert self._ref is not None
        return self._ref

    @property
    def catalog(self) -> CatalogWriter | None:
        """None before `begin` and after `finish`."""
        return self._catalog

    async def begin(self, copy_of: GenerationRef | None) -> CatalogWriter:
        self._ref = await self._catalogs.next_ref(self._collection)
        self._catalog = await self._catalogs.create(self._ref, copy_of)
        return self._catalog

    async def begin_index(self, dimensions: int, copy_of: GenerationRef | None) -> IndexWriter:
        await self._catalogs.require_writing()
        self._index = await self._indexes.create(self.ref, dimensions, copy_of)
        return self._index

    async def finish(self, report: ReportProgress) -> int:
        """Make both stores durable, compare them, and return the number of chunks."""
        assert self._index is not None
        assert self._catalog is not None
        report(Progress("indexing", 0))
        await self._catalogs.require_writing()
        points = await self._index.finish()
        self._index = None
        chunks = await self._catalog.finish()
        self._catalog = None
        report(Progress("verifying", 0))
        await check_complete(self.ref, points, chunks, self._indexes, self._catalogs)
        return chunks

    async def publish(self, manifest: Manifest) -> None:
        await self._catalogs.seal(manifest)
        await self._catalogs.point_to(manifest.ref)
        self._ref = None  # published: `clean_up` must not touch it
        await self._indexes.published(manifest.ref)

    async def hold_back(self, manifest: Manifest) -> None:
        """Keep it complete but unpublished, for inspection or manual publication."""
        await self._catalogs.seal(manifest)
        self._ref = None

    async def clean_up(self) -> None:
        """Remove an unfinished build, without hiding the error that caused it."""
        try:
            if self._index is not None:
                await self._index.abandon()
            if self._catalog is not None:
                await self._catalog.abandon()
            if self._ref is not None and await self._is_not_current(self._ref):
                await drop(self._ref, self._indexes, self._catalogs)
        except StoreError as error:
            _log.warning("can't remove the unfinished generation %s: %s", self._ref, error)

    async def _is_not_current(self, ref: GenerationRef) -> bool:
        """Publishing may fail after the pointer has moved, and the current one is never dropped."""
        try:
            return await self._catalogs.current(ref.collection) != ref.number
        except StoreChanged:  # the pointer was already damaged before this run
            return True
