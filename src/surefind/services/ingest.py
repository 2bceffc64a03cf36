"""Ingest: sources become the next generation, and then, in one step, the current one.

What readers read is never edited. The catalog of the next generation is written first, page by
page, so that memory does not grow with the source; then its chunks are embedded and indexed; then
both are verified, sealed and published. A run that dies leaves an unfinished generation, which
the next run removes, and every vector that was paid for, in the cache.
"""

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from surefind.errors import InputError, StoreError
from surefind.model import (
    Chunk,
    ChunkRecord,
    Document,
    DocumentRecord,
    GenerationRef,
    IngestReport,
    LexicalSettings,
    Manifest,
    PageFailure,
    SourcePage,
    point_id,
)
from surefind.ports import Catalog, CatalogWriter, IndexWriter, Source
from surefind.services.building import (
    IngestTools,
    Progress,
    Report,
    all_chunks,
    fill,
    some_chunks,
    verify,
)
from surefind.services.generations import drop
from surefind.services.lexical import mean_on_grid
from surefind.services.planning import Changes, check_same_making, check_shrinking
from surefind.text.chunking import chunk_document
from surefind.text.documents import content_hash, read_document

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    collection: str
    base_url: str | None = None
    rebuild: bool = False
    allow_shrink: bool = False
    keep_generations: int = 5


class Ingestor:
    def __init__(self, tools: IngestTools) -> None:
        if tools.chunker.max_tokens > tools.embedder.max_tokens:
            raise InputError(
                f"max_tokens is {tools.chunker.max_tokens}, but the embedder reads at most "
                f"{tools.embedder.max_tokens}; lower it"
            )
        self._tools = tools

    async def run(
        self, sources: Sequence[Source], options: IngestOptions, report: Report = lambda _: None
    ) -> IngestReport:
        """Whatever it raises, readers see what they saw before."""
        _check_sources(sources)
        async with self._tools.catalogs.writing("ingest"):
            for ref in await self._tools.catalogs.unfinished(options.collection):
                await drop(ref, self._tools.index, self._tools.catalogs)
            run = _Run(self._tools, options, report)
            try:
                return await run.go(sources)
            finally:
                await run.clean_up()


class _Run:
    """The state of one ingest."""

    def __init__(self, tools: IngestTools, options: IngestOptions, report: Report) -> None:
        self._tools = tools
        self._options = options
        self._report_progress = report
        self._started = time.monotonic()
        self._now = datetime.now(UTC)
        self._embedded_before = tools.embedder.embedded
        self._reused_before = tools.embedder.reused
        self._changes = Changes()
        self._base: Manifest | None = None
        self._base_catalog: Catalog | None = None
        self._index_usable = True
        self._ref: GenerationRef | None = None
        self._catalog: CatalogWriter | None = None
        self._index: IndexWriter | None = None

    async def go(self, sources: Sequence[Source]) -> IngestReport:
        before = await self._open_base()
        seen = await self._read(sources, before)
        await self._remove_missing(before, seen)
        if self._base is not None and self._index_usable and not self._changes.any:
            return self._report(self._base, self._base.chunks, published=False)
        manifest, points = await self._build(tuple(source.name for source in sources))
        await self._tools.catalogs.seal(manifest)
        await self._tools.catalogs.point_to(manifest.ref)
        self._ref = None  # published: no longer ours to clean up
        return self._report(manifest, points, published=True, pruned=await self._prune(manifest))

    async def clean_up(self) -> None:
        if self._base_catalog is not None:
            await self._base_catalog.close()
        if self._index is not None:
            await self._index.abandon()
        if self._catalog is not None:
            await self._catalog.abandon()
        if self._ref is not None:
            await drop(self._ref, self._tools.index, self._tools.catalogs)

    # --- reading ---

    async def _open_base(self) -> Mapping[str, DocumentRecord]:
        tools, collection = self._tools, self._options.collection
        number = await tools.catalogs.current(collection)
        if number is None:
            return {}
        ref = GenerationRef(collection, number)
        try:
            base = await tools.catalogs.manifest(ref)
            self._base_catalog = await tools.catalogs.open(ref)
        except StoreError as error:
            if not self._options.rebuild:
                raise StoreError(f"{error}; or --rebuild makes it anew from the source") from error
            _log.warning("nothing of generation %d can be kept: %s", number, error)
            return {}
        if not self._options.rebuild:
            check_same_making(base, tools.embedder.fingerprint, tools.chunker, tools.terms.analyzer)
        self._base = base
        self._index_usable = await self._holds_all_chunks(base)
        return {record.source_path: record for record in await self._base_catalog.documents()}

    async def _holds_all_chunks(self, base: Manifest) -> bool:
        """An index that was lost or damaged is built anew, without being asked."""
        try:
            index = await self._tools.index.open(base.ref)
            try:
                points = await index.count()
            finally:
                await index.close()
        except StoreError as error:
            _log.warning("the index of generation %d is built anew: %s", base.number, error)
            return False
        return points == base.chunks

    async def _read(
        self, sources: Sequence[Source], before: Mapping[str, DocumentRecord]
    ) -> set[str]:
        """The paths of all pages there are, those that failed among them."""
        seen: set[str] = set()
        again = self._options.rebuild or (
            self._base is not None and self._base.base_url != self._options.base_url
        )
        for source in sources:
            async for page in source.pages():
                if page.source_path in seen:
                    raise InputError(f"{page.source_path} comes from two of the sources")
                seen.add(page.source_path)
                await self._take(page, before.get(page.source_path), again=again)
                self._report_progress(Progress("reading", len(seen)))
        self._check_anything_read(sources, seen)
        return seen

    async def _take(
        self, page: SourcePage | PageFailure, old: DocumentRecord | None, *, again: bool
    ) -> None:
        """A page that can't be used keeps the chunks it had."""
        if isinstance(page, PageFailure):
            self._changes.failures.append(page)
            return
        if old is not None and old.content_hash == content_hash(page.content) and not again:
            self._changes.unchanged.append(page.source_path)
            if not old.chunks:
                self._changes.empty_pages.append(page.source_path)
            return
        try:
            document, structure = read_document(
                page, self._options.collection, self._options.base_url
            )
        except InputError as error:
            self._changes.failures.append(PageFailure(page.source_path, str(error)))
            return
        tools = self._tools
        chunks = chunk_document(document, structure, tools.chunker, tools.embedder.count_tokens)
        await self._put(document, chunks)
        (self._changes.changed if old else self._changes.added).append(page.source_path)
        if not chunks:
            self._changes.empty_pages.append(page.source_path)

    async def _put(self, document: Document, chunks: Sequence[Chunk]) -> None:
        old = await self._old_chunks(document.source_path)
        records = [self._record(document, chunk, old.get(chunk.id)) for chunk in chunks]
        _, catalog = await self._next()
        await catalog.put(document, records)
        self._changes.new_chunks += [r.chunk.id for r in records if old.get(r.chunk.id) != r]
        self._changes.stale_chunks += old.keys() - {chunk.id for chunk in chunks}

    async def _old_chunks(self, source_path: str) -> dict[str, ChunkRecord]:
        if self._base_catalog is None:
            return {}
        records = await self._base_catalog.document_chunks(source_path)
        return {record.chunk.id: record for record in records}

    def _record(self, document: Document, chunk: Chunk, old: ChunkRecord | None) -> ChunkRecord:
        same_text = old is not None and old.chunk.content_hash == chunk.content_hash
        return ChunkRecord(
            chunk=chunk,
            url=document.url,
            slug=document.slug,
            title=document.title,
            created_at=old.created_at if old is not None and same_text else self._now,
            term_count=int(sum(self._tools.terms.count(chunk.passage).weights)),
        )

    async def _next(self) -> tuple[GenerationRef, CatalogWriter]:
        """Made at the first change, so that a run without one writes nothing."""
        if self._ref is None or self._catalog is None:
            tools = self._tools
            await tools.index.require_room(
                self._base.chunks if self._base else 0, tools.embedder.fingerprint.dimensions
            )
            self._ref = await tools.catalogs.next_ref(self._options.collection)
            self._catalog = await tools.catalogs.create(
                self._ref, self._base.ref if self._base else None
            )
        return self._ref, self._catalog

    def _check_anything_read(self, sources: Sequence[Source], seen: set[str]) -> None:
        names = ", ".join(source.name for source in sources)
        if not seen:
            raise InputError(f"there is no Markdown page in {names}; nothing was changed")
        failures = self._changes.failures
        if len(failures) == len(seen) and self._base is None:
            first = failures[0]
            raise InputError(
                f"none of the {len(seen)} pages in {names} could be used; "
                f"{first.source_path}: {first.reason}"
            )

    async def _remove_missing(self, before: Mapping[str, DocumentRecord], seen: set[str]) -> None:
        removed = sorted(before.keys() - seen)
        if not self._options.allow_shrink:
            check_shrinking(before.keys(), removed)
        for source_path in removed:
            self._changes.stale_chunks += await self._old_chunks(source_path)
            _, catalog = await self._next()
            await catalog.remove(source_path)
        self._changes.removed += removed

    # --- building ---

    async def _build(self, sources: tuple[str, ...]) -> tuple[Manifest, int]:
        tools = self._tools
        ref, catalog = await self._next()
        chunks = await catalog.count()
        mean_terms = mean_on_grid(await catalog.total_terms(), chunks)
        fingerprint = tools.embedder.fingerprint
        await tools.index.require_room(chunks, fingerprint.dimensions)
        base = None if self._needs_fresh_index(mean_terms) else self._base
        self._index = await tools.index.create(
            ref, fingerprint.dimensions, base.ref if base else None
        )
        if base is None:
            batches, total = all_chunks(catalog), chunks
        else:
            if self._changes.stale_chunks:
                await self._index.delete([point_id(c) for c in self._changes.stale_chunks])
            batches = some_chunks(catalog, self._changes.new_chunks)
            total = len(self._changes.new_chunks)
        await fill(self._index, batches, total, mean_terms, tools, self._report_progress)
        digest, documents = await _digest(catalog)
        self._report_progress(Progress("indexing", 0))
        points = await self._index.finish()
        self._index = None
        written = await catalog.finish()
        self._catalog = None
        self._report_progress(Progress("verifying", 0))
        await verify(ref, points, written, tools)
        manifest = Manifest(
            collection=ref.collection,
            number=ref.number,
            created_at=self._now,
            surefind_version=tools.version,
            embedder=fingerprint,
            chunker=tools.chunker,
            lexical=LexicalSettings(tools.terms.analyzer, mean_terms),
            sources=sources,
            base_url=self._options.base_url,
            source_digest=digest,
            documents=documents,
            chunks=written,
            based_on=base.number if base else None,
        )
        return manifest, points

    def _needs_fresh_index(self, mean_terms: float) -> bool:
        """Every stored weight depends on the mean length: when it moves, all are written anew."""
        return (
            self._base is None
            or not self._index_usable
            or self._options.rebuild
            or self._base.lexical.mean_terms != mean_terms
        )

    async def _prune(self, manifest: Manifest) -> tuple[int, ...]:
        """All is published by now: what can't be removed today is left to the next run."""
        tools = self._tools
        complete = await tools.catalogs.complete(manifest.collection)
        others = [ref for ref in complete if ref != manifest.ref]
        surplus = others[: max(0, len(others) - (self._options.keep_generations - 1))]
        try:
            for ref in surplus:
                await drop(ref, tools.index, tools.catalogs)
        except StoreError as error:
            _log.warning("old generations could not be removed: %s", error)
            return ()
        return tuple(ref.number for ref in surplus)

    def _report(
        self, manifest: Manifest, points: int, *, published: bool, pruned: tuple[int, ...] = ()
    ) -> IngestReport:
        changes, embedder = self._changes, self._tools.embedder
        return IngestReport(
            collection=manifest.collection,
            generation=manifest.number,
            published=published,
            added=len(changes.added),
            changed=len(changes.changed),
            removed=len(changes.removed),
            unchanged=len(changes.unchanged),
            documents=manifest.documents,
            chunks=manifest.chunks,
            index_points=points,
            embedded=embedder.embedded - self._embedded_before,
            from_cache=embedder.reused - self._reused_before,
            failures=tuple(changes.failures),
            empty_pages=tuple(changes.empty_pages),
            pruned=pruned,
            seconds=time.monotonic() - self._started,
        )


def _check_sources(sources: Sequence[Source]) -> None:
    if not sources:
        raise InputError("no source was given; name a folder of Markdown")
    names = [source.name for source in sources]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(
            f"two sources are called {', '.join(sorted(twice))}: a page is known by its folder's "
            "name and its path below it, so rename one of the folders"
        )


async def _digest(catalog: Catalog) -> tuple[str, int]:
    digest, documents = hashlib.sha256(), await catalog.documents()
    for record in documents:
        digest.update(f"{record.source_path}\0{record.content_hash}\0".encode())
    return digest.hexdigest(), len(documents)
