"""The generation that an ingest builds on, normally the current one."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from surefind.errors import InputError, StoreChanged, StoreError, UnknownGeneration
from surefind.model import ChunkRecord, DocumentRecord, GenerationRef, Manifest
from surefind.ports import Catalog, ReadBytes
from surefind.services.generations.index_building import IngestTools, ReportProgress
from surefind.services.generations.integrity import ReadingReport, checked_pages
from surefind.services.ingest.planning import check_same_settings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurrentGeneration:
    """Empty for a new collection.

    If the current generation is damaged, this is the newest intact one, or empty;
    `lost_documents` is then the number of pages in the damaged one. With `rebuild`, a page whose
    chunks are damaged counts as new.
    """

    manifest: Manifest | None = None
    catalog: Catalog | None = None
    documents: Mapping[str, DocumentRecord] = field(default_factory=dict)
    index_usable: bool = False
    is_published: bool = True
    lost_documents: int = 0
    rebuild: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is published and no part of it has to be rebuilt."""
        return self.is_published and self.index_usable

    async def chunks(self, source_path: str) -> dict[str, ChunkRecord]:
        if self.catalog is None:
            return {}
        try:
            records = await self.catalog.document_chunks(source_path)
        except StoreChanged as error:
            if not self.rebuild:
                raise
            _log.warning("rebuilding the page %s: %s", source_path, error)
            return {}
        return {record.chunk.id: record for record in records}

    async def close(self) -> None:
        if self.catalog is not None:
            await self.catalog.close()


async def open_current(
    collection: str, tools: IngestTools, report: ReportProgress, *, rebuild: bool
) -> CurrentGeneration:
    """Open and fully verify it, so that damage is never copied into the next generation."""
    ref, is_published = await _newest(collection, tools)
    if ref is None:
        return CurrentGeneration()
    try:
        current = await _open(ref, tools, report, is_published=is_published)
        return replace(current, rebuild=rebuild)
    except (StoreChanged, UnknownGeneration) as error:
        _log.warning("rebuilding generation %d: %s", ref.number, error)
        if rebuild:
            return CurrentGeneration(lost_documents=await _pages_in(ref, tools))
        return await _open_earlier(ref, tools, report)
    except StoreError as error:
        if not rebuild:
            raise StoreError(f"{error}; or rebuild it from the sources with --rebuild") from error
        _log.warning("rebuilding all of generation %d: %s", ref.number, error)
        return CurrentGeneration()


async def _newest(collection: str, tools: IngestTools) -> tuple[GenerationRef | None, bool]:
    """The generation, and whether it is published; with a damaged pointer, none is."""
    try:
        number = await tools.catalogs.current(collection)
    except StoreChanged as error:
        _log.warning("%s", error)
        complete = await tools.catalogs.complete(collection)
        return (complete[-1] if complete else None), False
    return (None if number is None else GenerationRef(collection, number)), True


async def _open(
    ref: GenerationRef, tools: IngestTools, report: ReportProgress, *, is_published: bool
) -> CurrentGeneration:
    read = ReadingReport(ref, report)
    await tools.catalogs.verify(ref, read)
    manifest = await tools.catalogs.manifest(ref)
    catalog = await tools.catalogs.open(ref)
    try:
        pages = await checked_pages(manifest, catalog)
        documents = {record.source_path: record for record in pages}
        usable = await _index_usable(manifest, tools, read)
    except BaseException:
        await catalog.close()
        raise
    return CurrentGeneration(manifest, catalog, documents, usable, is_published)


async def _open_earlier(
    damaged: GenerationRef, tools: IngestTools, report: ReportProgress
) -> CurrentGeneration:
    """The newest intact generation with the same settings, or an empty one."""
    complete = await tools.catalogs.complete(damaged.collection)
    for ref in reversed([ref for ref in complete if ref != damaged]):
        try:
            earlier = await _open(ref, tools, report, is_published=False)
        except (StoreChanged, UnknownGeneration) as error:
            _log.warning("generation %d is damaged, too: %s", ref.number, error)
            continue
        if earlier.manifest is not None and _has_same_settings(earlier.manifest, tools):
            return earlier
        await earlier.close()
    return CurrentGeneration(lost_documents=await _pages_in(damaged, tools))


async def _pages_in(damaged: GenerationRef, tools: IngestTools) -> int:
    """0 if the manifest is damaged too."""
    with suppress(StoreChanged, UnknownGeneration):
        return (await tools.catalogs.manifest(damaged)).documents
    return 0


def _has_same_settings(manifest: Manifest, tools: IngestTools) -> bool:
    try:
        check_same_settings(manifest, tools.embedder.fingerprint, tools.chunker, tools.terms.name)
    except InputError:
        return False
    return True


async def _index_usable(manifest: Manifest, tools: IngestTools, read: ReadBytes) -> bool:
    """Whether the index can be copied; a lost or damaged one is rebuilt."""
    try:
        await tools.index.verify(manifest.ref, read)
        index = await tools.index.open(manifest.ref)
        try:
            points = await index.count()
        finally:
            await index.close()
    except StoreError as error:
        _log.warning("rebuilding the index of generation %d: %s", manifest.number, error)
        return False
    if points != manifest.chunks:
        _log.warning(
            "rebuilding the index of generation %d: it has %d points for %d chunks",
            manifest.number,
            points,
            manifest.chunks,
        )
    return points == manifest.chunks
