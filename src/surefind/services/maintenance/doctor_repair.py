"""Repairs what an examination found. Each repair is independent, so it is safe to stop anywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from surefind.errors import StoreError
from surefind.model import ChunkRecord, GenerationRef
from surefind.ports import CatalogStore, EmbeddingCache, IndexStore, Matrix
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.cleanup import drop
from surefind.services.generations.index_building import ReportProgress
from surefind.services.generations.integrity import verify
from surefind.services.generations.transfer import TransferTarget, pages_of
from surefind.services.maintenance.doctor_findings import Remedy, Repair


class Repairer:
    """Repairs surefind's own stores; connected collections are only read.

    `cache` opens the embedding cache for writing, if there is one.
    """

    def __init__(
        self,
        index: IndexStore,
        catalogs: CatalogStore,
        embedder: Callable[[], Awaitable[CachedEmbedder]],
        terms: Bm25Encoder,
        version: str,
        cache: Callable[[], EmbeddingCache | None] = lambda: None,
    ) -> None:
        self._index = index
        self._catalogs = catalogs
        self._embedder = embedder
        self._terms = terms
        self._version = version
        self._cache = cache

    async def repair(self, repair: Repair, report: ReportProgress) -> None:
        if repair.ref is None:
            await self._clean_cache()
        elif repair.remedy is Remedy.PUBLISH:
            await self._publish(repair.ref)
        else:
            if repair.remedy is Remedy.REBUILD:
                await self._rebuild(repair.ref, report)
            await self._drop(repair.ref)

    async def _clean_cache(self) -> None:
        cache = self._cache()
        if cache is not None:
            try:
                await cache.check(repair=True)
            finally:
                await cache.close()

    async def _publish(self, ref: GenerationRef) -> None:
        async with self._catalogs.writing("ingest"):
            await verify(ref, self._index, self._catalogs, lambda _: None)
            await self._catalogs.point_to(ref)
            await self._index.published(ref)

    async def _rebuild(self, ref: GenerationRef, report: ReportProgress) -> None:
        """Publish a new generation with the same chunks. Until then, readers keep the old one."""
        manifest, embedder = await self._catalogs.manifest(ref), await self._embedder()
        if embedder.fingerprint != manifest.embedder:
            raise StoreError(
                f"generation {ref} was built with the embedder {manifest.embedder}, but "
                f"{embedder.fingerprint} is configured; configure the original embedder and run "
                "the repair again"
            )
        target = TransferTarget(self._index, self._catalogs, self._terms, self._version)
        catalog = await self._catalogs.open(ref)

        async def vectors(records: Sequence[ChunkRecord]) -> Matrix:
            return await embedder.embed_passages([record.chunk.passage for record in records])

        try:
            await target.receive(
                ref.collection, manifest, lambda: pages_of(catalog, vectors), report
            )
        finally:
            await catalog.close()

    async def _drop(self, ref: GenerationRef) -> None:
        async with self._catalogs.writing("ingest"):
            if await self._catalogs.current(ref.collection) == ref.number:
                raise StoreError(
                    f"generation {ref} has been published since it was examined, so it was kept; "
                    "run `surefind doctor` again"
                )
            await drop(ref, self._index, self._catalogs)
