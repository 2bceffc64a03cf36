"""Builds the next generation of a collection from the planned changes."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from surefind.model import (
    ChunkRecord,
    Document,
    DocumentRecord,
    LexicalSettings,
    Manifest,
    language_in,
    point_id,
)
from surefind.ports import Catalog, CatalogWriter
from surefind.services.encoding.bm25 import mean_on_grid
from surefind.services.encoding.confidence import still_fits
from surefind.services.generations.index_building import (
    IngestTools,
    ReportProgress,
    all_chunks,
    calibrated,
    fill,
    some_chunks,
    unpaid_tokens,
)
from surefind.services.generations.partial_build import PartialBuild
from surefind.services.ingest.current_generation import CurrentGeneration
from surefind.services.ingest.planning import PlannedChanges, check_budget
from surefind.services.search.filters import fields_of

_MAX_REPLACED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class BuildParams:
    """The parameters of a run. All but `rebuild` and `max_cost` go into the manifest."""

    now: datetime
    sources: tuple[str, ...]
    sites: tuple[str, ...]
    rebuild: bool
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class _IndexPlan:
    """Which index to copy, and which chunks to embed and write."""

    copy_of: Manifest | None
    chunks: int
    new_chunks: Sequence[str]
    lexical: LexicalSettings

    @property
    def total(self) -> int:
        return self.chunks if self.copy_of is None else len(self.new_chunks)

    def batches(self, catalog: Catalog, size: int) -> AsyncIterator[Sequence[ChunkRecord]]:
        if self.copy_of is None:
            return all_chunks(catalog, size)
        return some_chunks(catalog, self.new_chunks, size)


class GenerationBuilder:
    """Collects changed pages, then builds. Writes nothing before the first change."""

    def __init__(self, collection: str, current: CurrentGeneration, tools: IngestTools) -> None:
        self._current = current
        self._tools = tools
        self._partial = PartialBuild(collection, tools.index, tools.catalogs)

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        await (await self._catalog()).put(document, chunks)

    async def remove(self, source_path: str) -> None:
        await (await self._catalog()).remove(source_path)

    async def build(
        self, changes: PlannedChanges, params: BuildParams, report: ReportProgress
    ) -> Manifest:
        """Embed, index and verify. The result is complete, and not published yet."""
        catalog = await self._catalog()
        plan = await self._prepare(catalog, changes, params)
        await self._fill(catalog, plan, changes, report)
        documents = await catalog.documents()
        chunks = await self._partial.finish(report)
        return await self._manifest(plan, changes, documents, chunks, params)

    async def publish(self, manifest: Manifest) -> None:
        await self._partial.publish(manifest)

    async def hold_back(self, manifest: Manifest) -> None:
        await self._partial.hold_back(manifest)

    async def clean_up(self) -> None:
        await self._partial.clean_up()

    async def _catalog(self) -> CatalogWriter:
        """The new catalog, created at the first change as a copy of the current one."""
        if self._partial.catalog is not None:
            return self._partial.catalog
        manifest = self._current.manifest
        dimensions = self._tools.embedder.fingerprint.dimensions
        await self._tools.index.require_room(manifest.chunks if manifest else 0, dimensions)
        return await self._partial.begin(manifest.ref if manifest else None)

    async def _prepare(
        self, catalog: CatalogWriter, changes: PlannedChanges, params: BuildParams
    ) -> _IndexPlan:
        """Raises StoreFull if it does not fit, GuardStopped if embedding would cost too much."""
        tools = self._tools
        chunks = await catalog.count()
        mean_terms = mean_on_grid(await catalog.total_terms(), chunks)
        await tools.index.require_room(chunks, tools.embedder.fingerprint.dimensions)
        copy_of = None if params.rebuild else self._index_to_copy(mean_terms, changes.replaced)
        lexical = LexicalSettings(tools.terms.name, mean_terms)
        plan = _IndexPlan(copy_of, chunks, changes.new_chunks, lexical)
        if tools.price_per_million_tokens:
            batches = plan.batches(catalog, tools.chunks_at_once)
            changes.unpaid_tokens = await unpaid_tokens(batches, tools)
            check_budget(tools.cost(changes.unpaid_tokens), params.max_cost)
        return plan

    def _index_to_copy(self, mean_terms: float, replaced: int) -> Manifest | None:
        """The index to copy and patch, or None to write every point.

        All stored weights depend on the mean length, so it must be the same. In segments that the
        engine has optimized, word statistics still count deleted points, which limits how often a
        large index can be patched.
        """
        current = self._current.manifest
        if current is None or not self._current.index_usable:
            return None
        if current.lexical.mean_terms != mean_terms:
            return None
        is_large = current.chunks >= self._tools.optimized_from
        if is_large and current.replaced + replaced > _MAX_REPLACED_SHARE * current.chunks:
            return None
        return current

    async def _fill(
        self, catalog: Catalog, plan: _IndexPlan, changes: PlannedChanges, report: ReportProgress
    ) -> None:
        tools = self._tools
        dimensions = tools.embedder.fingerprint.dimensions
        index = await self._partial.begin_index(
            dimensions, plan.copy_of.ref if plan.copy_of else None
        )
        if plan.copy_of is not None and changes.stale_chunks:
            await tools.catalogs.require_writing()
            await index.delete([point_id(chunk) for chunk in changes.stale_chunks])
        batches = plan.batches(catalog, tools.chunks_at_once)
        await fill(index, batches, plan.total, plan.lexical.mean_terms, tools, report)

    async def _manifest(
        self,
        plan: _IndexPlan,
        changes: PlannedChanges,
        documents: Sequence[DocumentRecord],
        chunks: int,
        params: BuildParams,
    ) -> Manifest:
        tools, ref = self._tools, self._partial.ref
        fingerprint, before = tools.embedder.fingerprint, self._current.manifest
        same_model = before if before and before.embedder == fingerprint else None
        threshold = same_model.threshold if same_model else None
        return Manifest(
            collection=ref.collection,
            number=ref.number,
            created_at=params.now,
            surefind_version=tools.version,
            embedder=fingerprint,
            chunker=tools.chunker,
            lexical=plan.lexical,
            sources=params.sources,
            sites=params.sites,
            source_digest=_digest(documents),
            documents=len(documents),
            chunks=chunks,
            based_on=plan.copy_of.number if plan.copy_of else None,
            follows=before.number if before else None,
            replaced=plan.copy_of.replaced + changes.replaced if plan.copy_of else 0,
            pending=tuple(changes.pending),
            fields=fields_of(record.attributes for record in documents),
            calibration=await calibrated(
                ref, chunks, tools, same_model.calibration if same_model else None
            ),
            threshold=threshold if still_fits(threshold, chunks) else None,
            languages=tuple(
                sorted({language_in(one.attributes) for one in documents if one.chunks})
            ),
        )


def _digest(documents: Sequence[DocumentRecord]) -> str:
    digest = hashlib.sha256()
    for record in documents:
        digest.update(f"{record.source_path}\0{record.content_hash}\0".encode())
    return digest.hexdigest()
