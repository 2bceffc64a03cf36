"""The next generation while it is made, and the one it is made from."""

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from surefind.errors import InputError, StoreChanged, StoreError, UnknownGeneration
from surefind.model import (
    ChunkRecord,
    Document,
    DocumentRecord,
    GenerationRef,
    LexicalSettings,
    Manifest,
    point_id,
)
from surefind.ports import Catalog, CatalogWriter, IndexWriter, ReadBytes, UnfinishedIndex
from surefind.services.encoding.bm25 import mean_on_grid
from surefind.services.encoding.confidence import still_fits
from surefind.services.generations.generations import drop
from surefind.services.generations.index_building import (
    IngestTools,
    Progress,
    ReportProgress,
    all_chunks,
    calibrated,
    check_whole,
    fill,
    some_chunks,
    unpaid_tokens,
)
from surefind.services.generations.integrity import ReadingReport, checked_pages
from surefind.services.generations.resume import (
    LARGE,
    PATCHED,
    PartialBuild,
    build_digest_of,
    unfitting,
)
from surefind.services.ingest.planning import PlannedChanges, check_budget, check_same_making
from surefind.services.search.filters import fields_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurrentGeneration:
    """What the next generation is made from: mostly what readers see now.

    Everything is empty where there is nothing yet. Where readers see one that is damaged, it is the
    newest one that is not, or nothing, and `lost_documents` is how many pages the damaged one had.
    With `rebuild`, a page whose chunks are damaged is made as if it were new.
    """

    manifest: Manifest | None = None
    catalog: Catalog | None = None
    documents: Mapping[str, DocumentRecord] = field(default_factory=dict)
    index_usable: bool = False
    is_current: bool = True
    lost_documents: int = 0
    rebuild: bool = False

    @property
    def is_whole(self) -> bool:
        """Readers see it, and nothing of it has to be built again."""
        return self.is_current and self.index_usable

    async def chunks(self, source_path: str) -> dict[str, ChunkRecord]:
        if self.catalog is None:
            return {}
        try:
            records = await self.catalog.document_chunks(source_path)
        except StoreChanged as error:
            if not self.rebuild:
                raise
            _log.warning("the page %s is made again: %s", source_path, error)
            return {}
        return {record.chunk.id: record for record in records}

    async def close(self) -> None:
        if self.catalog is not None:
            await self.catalog.close()


async def open_base(
    collection: str, tools: IngestTools, report: ReportProgress, *, rebuild: bool
) -> CurrentGeneration:
    """Every byte of it is read, so that no damage is copied on."""
    ref, is_current = await _newest(collection, tools)
    if ref is None:
        return CurrentGeneration()
    try:
        base = await _open(ref, tools, report, is_current=is_current)
        return replace(base, rebuild=rebuild)
    except (StoreChanged, UnknownGeneration) as error:
        _log.warning("generation %d is built again: %s", ref.number, error)
        if rebuild:
            return CurrentGeneration(lost_documents=await _pages_in(ref, tools))
        return await _open_earlier(ref, tools, report)
    except StoreError as error:
        if not rebuild:
            raise StoreError(f"{error}; or --rebuild makes it again from the source") from error
        _log.warning("nothing of generation %d can be kept: %s", ref.number, error)
        return CurrentGeneration()


async def _newest(collection: str, tools: IngestTools) -> tuple[GenerationRef | None, bool]:
    """What readers see, and whether they do: with a damaged pointer, they see nothing."""
    try:
        number = await tools.catalogs.current(collection)
    except StoreChanged as error:
        _log.warning("%s", error)
        complete = await tools.catalogs.complete(collection)
        return (complete[-1] if complete else None), False
    return (None if number is None else GenerationRef(collection, number)), True


async def _open(
    ref: GenerationRef, tools: IngestTools, report: ReportProgress, *, is_current: bool
) -> CurrentGeneration:
    read = ReadingReport(ref, report)
    await tools.catalogs.verify(ref, read)
    manifest = await tools.catalogs.manifest(ref)
    catalog = await tools.catalogs.open(ref)
    try:
        pages = await checked_pages(manifest, catalog)
        documents = {record.source_path: record for record in pages}
        usable = await _is_index_usable(manifest, tools, read)
    except BaseException:
        await catalog.close()
        raise
    return CurrentGeneration(manifest, catalog, documents, usable, is_current)


async def _open_earlier(
    damaged: GenerationRef, tools: IngestTools, report: ReportProgress
) -> CurrentGeneration:
    """The newest other generation of the same making that is whole, or nothing."""
    complete = await tools.catalogs.complete(damaged.collection)
    for ref in reversed([ref for ref in complete if ref != damaged]):
        try:
            base = await _open(ref, tools, report, is_current=False)
        except (StoreChanged, UnknownGeneration) as error:
            _log.warning("generation %d is damaged, too: %s", ref.number, error)
            continue
        if base.manifest is not None and _is_of_same_making(base.manifest, tools):
            return base
        await base.close()
    return CurrentGeneration(lost_documents=await _pages_in(damaged, tools))


async def _pages_in(damaged: GenerationRef, tools: IngestTools) -> int:
    """0 if its manifest is damaged too."""
    with suppress(StoreChanged, UnknownGeneration):
        return (await tools.catalogs.manifest(damaged)).documents
    return 0


def _is_of_same_making(manifest: Manifest, tools: IngestTools) -> bool:
    try:
        check_same_making(manifest, tools.embedder.fingerprint, tools.chunker, tools.terms.name)
    except InputError:
        return False
    return True


async def _is_index_usable(manifest: Manifest, tools: IngestTools, read: ReadBytes) -> bool:
    """An index that was lost or damaged is built again without being asked to."""
    try:
        await tools.index.verify(manifest.ref, read)
        index = await tools.index.open(manifest.ref)
        try:
            points = await index.count()
        finally:
            await index.close()
    except StoreError as error:
        _log.warning("the index of generation %d is built again: %s", manifest.number, error)
        return False
    if points != manifest.chunks:
        _log.warning(
            "the index of generation %d has %d points for %d chunks; it is built again",
            manifest.number,
            points,
            manifest.chunks,
        )
    return points == manifest.chunks


class GenerationBuilder:
    """Nothing exists of it before the first change, so a run without one writes nothing."""

    def __init__(
        self,
        collection: str,
        base: CurrentGeneration,
        tools: IngestTools,
        half: PartialBuild | None = None,
    ) -> None:
        self._collection = collection
        self._base = base
        self._tools = tools
        self._half = half
        self._waits = half is not None
        self._sealing = False
        self._given_up = False
        self._ref: GenerationRef | None = None
        self._catalog: CatalogWriter | None = None
        self._index: IndexWriter | None = None

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        _, catalog = await self._begun()
        await catalog.put(document, chunks)

    async def remove(self, source_path: str) -> None:
        _, catalog = await self._begun()
        await catalog.remove(source_path)

    async def build(
        self, changes: PlannedChanges, params: "BuildParams", report: ReportProgress
    ) -> tuple[Manifest, int]:
        """Embed, index, verify; (manifest, points). It is whole then, and not sealed yet."""
        tools = self._tools
        ref, catalog = await self._begun()
        chunks = await catalog.count()
        mean_terms = mean_on_grid(await catalog.total_terms(), chunks)
        fingerprint = tools.embedder.fingerprint
        await tools.index.require_room(chunks, fingerprint.dimensions)
        base = None if params.rebuild else self._index_to_copy(mean_terms, changes.replaced)
        batches, total = self._to_fill(catalog, base, changes, chunks)
        if tools.price_per_million_tokens:
            changes.unpaid_tokens = await unpaid_tokens(batches, tools)
            check_budget(tools.cost(changes.unpaid_tokens), params.max_cost)
            batches, total = self._to_fill(catalog, base, changes, chunks)
        lexical = LexicalSettings(tools.terms.name, mean_terms)
        # What was copied is no better than where it comes from, which --rebuild does not trust.
        content = f"copy of {base.number}" if base else "anew"
        begun, unfit = await self._taken_up(
            build_digest_of(fingerprint, lexical, tools.version, content), params
        )
        await tools.catalogs.require_writing()  # before each step that deletes, as in `fill`
        self._index = await tools.index.create(
            ref, fingerprint.dimensions, base.ref if base else None, begun
        )
        self._half, self._waits = None, self._index.resumable
        if base is not None and changes.stale_chunks:
            await tools.catalogs.require_writing()
            await self._index.delete([point_id(chunk) for chunk in changes.stale_chunks])
        await fill(self._index, batches, total, mean_terms, tools, report)
        documents = await catalog.documents()
        report(Progress("indexing", 0))
        await tools.catalogs.require_writing()
        points = await self._index.finish()
        self._index = None
        written = await catalog.finish()
        self._catalog = None
        report(Progress("verifying", 0))
        before = self._base.manifest
        alike = before if before and before.embedder == fingerprint else None
        known, threshold = (alike.calibration, alike.threshold) if alike else (None, None)
        try:
            await check_whole(ref, points, written, tools.index, tools.catalogs)
        except StoreChanged:
            self.give_up()
            raise
        calibration = await calibrated(ref, written, tools, known)
        manifest = Manifest(
            collection=ref.collection,
            number=ref.number,
            created_at=params.now,
            surefind_version=tools.version,
            embedder=fingerprint,
            chunker=tools.chunker,
            lexical=lexical,
            sources=params.sources,
            sites=params.sites,
            source_digest=_digest(documents),
            documents=len(documents),
            chunks=written,
            based_on=base.number if base else None,
            follows=before.number if before else None,
            replaced=unfit + (base.replaced + changes.replaced if base else 0),
            pending=tuple(changes.pending),
            fields=fields_of(record.attributes for record in documents),
            calibration=calibration,
            threshold=threshold if still_fits(threshold, written) else None,
        )
        return manifest, points

    async def publish(self, manifest: Manifest) -> None:
        await self._seal(manifest)
        await self._tools.catalogs.point_to(manifest.ref)
        self._ref = None  # no longer ours to clean up
        await self._tools.index.published(manifest.ref)

    async def hold_back(self, manifest: Manifest) -> None:
        """Complete, for whoever wants to look into it or publish it by hand, and not current."""
        await self._seal(manifest)
        self._ref = None

    async def _seal(self, manifest: Manifest) -> None:
        self._sealing = True
        await self._tools.catalogs.seal(manifest)

    async def discard_half(self) -> None:
        """There is nothing to build: what a dead run has left is of no use."""
        if self._half is not None:
            await drop(self._half.ref, self._tools.index, self._tools.catalogs)
            self._half, self._waits = None, False

    def give_up(self) -> None:
        """Whoever went on with it would be refused the same, or meet what is wrong with it."""
        self._given_up = True

    async def clean_up(self) -> None:
        """What was not published never happened; but what can be gone on with waits for that."""
        if self._index is not None:
            await self._index.abandon()
        if self._catalog is not None:
            await self._catalog.abandon()
        if self._waits and not self._given_up and not await self._is_sealed():
            return
        if self._ref is not None and await self._is_not_current(self._ref):
            await drop(self._ref, self._tools.index, self._tools.catalogs)

    async def _is_sealed(self) -> bool:
        """What is complete is not gone on with, and must not look like one that was held back."""
        complete = await self._tools.catalogs.complete(self._collection) if self._sealing else []
        return self._ref in complete

    async def _is_not_current(self, ref: GenerationRef) -> bool:
        """Publishing may have failed after it was done: what readers see is never dropped."""
        try:
            return await self._tools.catalogs.current(ref.collection) != ref.number
        except StoreChanged:  # the pointer was damaged before, and this run has not written it
            return True

    async def _begun(self) -> tuple[GenerationRef, CatalogWriter]:
        if self._ref is None or self._catalog is None:
            tools, base = self._tools, self._base.manifest
            await tools.index.require_room(
                base.chunks if base else 0, tools.embedder.fingerprint.dimensions
            )
            if self._half is not None:  # its pages are read anew, only its points wait
                await tools.catalogs.drop(self._half.ref)
            self._ref = await tools.catalogs.next_ref(self._collection)
            self._catalog = await tools.catalogs.create(self._ref, base.ref if base else None)
        return self._ref, self._catalog

    async def _taken_up(self, digest: str, params: "BuildParams") -> tuple[UnfinishedIndex, int]:
        """What is gone on with, and how many points of it are replaced; or else it is begun now."""
        index, half = self._tools.index, self._half
        ref, catalog = await self._begun()
        if half is not None and half.begun.build_digest == digest:
            unfit = await unfitting(ref, catalog, index)
            if unfit is not None and await index.begun(ref) == half.begun:
                return half.begun, unfit
        if half is not None:
            await catalog.redate(params.began, params.now)
        return UnfinishedIndex(digest, params.now), 0

    def _to_fill(
        self, catalog: Catalog, base: Manifest | None, changes: PlannedChanges, chunks: int
    ) -> tuple[AsyncIterator[Sequence[ChunkRecord]], int]:
        """What has to go into the index, in batches, and how much that is."""
        at_once = self._tools.chunks_at_once
        if base is None:
            return all_chunks(catalog, at_once), chunks
        return some_chunks(catalog, changes.new_chunks, at_once), len(changes.new_chunks)

    def _index_to_copy(self, mean_terms: float, replaced: int) -> Manifest | None:
        """None where all is written anew.

        Every stored weight depends on the mean length. And the engine's word statistics go on
        counting what was deleted from a segment that it has optimised, so a large index is not
        patched for ever.
        """
        base = self._base.manifest
        if base is None or not self._base.index_usable or base.lexical.mean_terms != mean_terms:
            return None
        patched = base.chunks >= LARGE and base.replaced + replaced > PATCHED * base.chunks
        return None if patched else base


@dataclass(frozen=True, slots=True)
class BuildParams:
    """What a run goes by: it is written into the manifest, all but what it may cost.

    `began` is when the first run began that this one may go on with; mostly it is now.
    """

    now: datetime
    began: datetime
    sources: tuple[str, ...]
    sites: tuple[str, ...]
    rebuild: bool
    max_cost: float | None = None


def _digest(documents: Sequence[DocumentRecord]) -> str:
    digest = hashlib.sha256()
    for record in documents:
        digest.update(f"{record.source_path}\0{record.content_hash}\0".encode())
    return digest.hexdigest()
