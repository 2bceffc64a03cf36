"""Reads the sources page by page and classifies pages as new, changed, unchanged or removed."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from surefind.errors import InputError, SurefindError
from surefind.model import (
    DEFAULT_LANGUAGE,
    Chunk,
    ChunkRecord,
    Document,
    DocumentRecord,
    PageFailure,
    PageUnchanged,
    SkippedPage,
    SourcePage,
    language_in,
)
from surefind.ports import Source
from surefind.services.generations.index_building import (
    IngestTools,
    Progress,
    ReportProgress,
    unpaid_tokens_of,
)
from surefind.services.ingest.current_generation import CurrentGeneration
from surefind.services.ingest.link_check import LinkCheck, SourceRoot
from surefind.services.ingest.planning import PlannedChanges
from surefind.text.chunking import chunk_document
from surefind.text.documents import ReadPage, content_hash, read_document
from surefind.text.languages import is_for_english
from surefind.text.sites.addresses import clashes

_log = logging.getLogger(__name__)


class ChangeTarget(Protocol):
    """Receives the pages: a `GenerationBuilder`, or a `DryRunTarget`."""

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None: ...

    async def remove(self, source_path: str) -> None: ...


class DryRunTarget:
    """Discards everything."""

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        pass

    async def remove(self, source_path: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _ChunkedPage:
    """A page and its chunks, each with its number of terms."""

    read: ReadPage
    chunks: tuple[tuple[Chunk, int], ...]
    is_foreign: bool


class SourceScan:
    def __init__(
        self,
        current: CurrentGeneration,
        target: ChangeTarget,
        tools: IngestTools,
        now: datetime,
        *,
        reread: bool,
        links: LinkCheck | None = None,
    ) -> None:
        """`reread` also parses unchanged pages, whose URLs or chunks may have changed.

        `links` collects the links of every page; None skips the check.
        """
        kept = sum(document.chunks for document in current.documents.values())
        self.changes = PlannedChanges(chunks=kept)
        self._current = current
        self._target = target
        self._tools = tools
        self._now = now
        self._reread = reread
        self._links = links
        self._seen: set[str] = set()
        self._urls: dict[str, str] = {}
        self._foreign: list[str] = []
        self._pending = frozenset(current.manifest.pending if current.manifest else ())

    async def read(self, sources: Sequence[Source], report: ReportProgress) -> None:
        documents = {} if self._reread else self._current.documents
        # Without a validator, a website sends unchanged pages in full, as the link check needs.
        known = {
            path: "" if self._links else record.validator for path, record in documents.items()
        }
        for source in sources:
            async for page in source.pages(known):
                seen_before = page.source_path in self._seen
                if seen_before and not isinstance(page, PageFailure):
                    raise InputError(
                        f"{page.source_path} is in two of the sources; pass each page only once"
                    )
                self._seen.add(page.source_path)
                await self._process(page, source)
                report(Progress("reading", len(self._seen)))
            self.changes.left_out += source.skipped
            self.changes.unread.update(source.unread)
        self._check_anything_read(", ".join(source.name for source in sources))
        self.changes.warnings += _same_addresses(self._urls)
        self.changes.warnings += self._in_other_languages()
        if self._links is not None:
            self.changes.broken_links = list(self._links.broken())

    def _in_other_languages(self) -> list[PageFailure]:
        """One warning for all pages that were read; unchanged pages had theirs before."""
        if not self._foreign:
            return []
        first, others = self._foreign[0], len(self._foreign) - 1
        more = f" and {others} more {'page' if others == 1 else 'pages'}" if others else ""
        model = self._tools.embedder.fingerprint.model
        reason = (
            f"this page{more} {'are' if others else 'is'} not in English, but {model} is a model "
            "for English; use a multilingual one with the settings embedder and embed_model"
        )
        return [PageFailure(first, reason)]

    @property
    def missing(self) -> list[str]:
        """Pages that have disappeared, without those that failed to load."""
        return sorted(self._current.documents.keys() - self._seen)

    async def remove_missing(self) -> None:
        for source_path in self.missing:
            await self._remove(source_path)

    async def _process(
        self, page: SourcePage | PageFailure | PageUnchanged, source: Source
    ) -> None:
        """Classify a page. If it can't be used, it keeps its old chunks."""
        old = self._current.documents.get(page.source_path)
        reread = self._reread or page.source_path in self._pending
        if isinstance(page, PageFailure):
            self._fail(page)
        elif isinstance(page, PageUnchanged):
            self.changes.unchanged.append(page.source_path)
            self._keep(page.source_path)
        elif old is not None and old.content_hash == content_hash(page.content) and not reread:
            self.changes.unchanged.append(page.source_path)
            self._keep(page.source_path)
            if not old.chunks:
                self.changes.empty_pages.append(page.source_path)
            if self._links is not None:
                await asyncio.to_thread(self._collect_links, page, source, self._links)
        else:
            await self._parse(page, old, source)

    def _keep(self, source_path: str) -> None:
        """Carry over a page from the current generation."""
        old = self._current.documents.get(source_path)
        if old is not None:
            self._urls[source_path] = old.url
            if self._links is not None:
                self._links.know(source_path, old.url)

    def _collect_links(self, page: SourcePage, source: Source, links: LinkCheck) -> None:
        """Collect the links of an unchanged page, unless it can no longer be parsed."""
        with suppress(Exception):
            read = read_document(page, source.site, self._tools.formats)
            if not isinstance(read, SkippedPage):
                links.add(page, SourceRoot.of(page, source), read)

    async def _parse(self, page: SourcePage, old: DocumentRecord | None, source: Source) -> None:
        """Parse and store a page. A bad page never stops a run, even if it triggers a bug."""
        changes = self.changes
        try:
            chunked = await asyncio.to_thread(self._chunk, page, source)
        except InputError as error:
            self._fail(PageFailure(page.source_path, str(error)))
            return
        except SurefindError:  # from the embedder's token counter, not caused by the page
            raise
        except Exception as error:  # noqa: BLE001 - pages are untrusted input
            _log.debug("can't read %s", page.source_path, exc_info=True)
            reason = f"surefind can't read it ({type(error).__name__}: {error}); please report it"
            self._fail(PageFailure(page.source_path, reason))
            return
        if isinstance(chunked, SkippedPage):
            changes.left_out.append(PageFailure(page.source_path, chunked.reason))
            if self._links is not None:
                self._links.leave(page.source_path)
            if old is not None:
                await self._remove(page.source_path)
            return
        document = chunked.read.document
        changes.warnings += [PageFailure(page.source_path, text) for text in chunked.read.warnings]
        self._urls[page.source_path] = document.url
        if chunked.is_foreign:
            self._foreign.append(page.source_path)
        await self._put(document, chunked.chunks)
        (changes.changed if old else changes.added).append(page.source_path)
        if not chunked.chunks:
            changes.empty_pages.append(page.source_path)
            if old is not None and old.chunks:
                changes.emptied.append(page.source_path)

    def _chunk(self, page: SourcePage, source: Source) -> "_ChunkedPage | SkippedPage":
        """Pure computation; runs in a thread."""
        tools = self._tools
        read = read_document(page, source.site, tools.formats)
        if isinstance(read, SkippedPage):
            return read
        if self._links is not None:
            self._links.add(page, SourceRoot.of(page, source), read)
        chunks = chunk_document(
            read.document, read.structure, tools.chunker, tools.embedder.count_tokens
        )
        language = language_in(read.document.attributes)
        terms = (tools.terms.length(chunk.passage, language) for chunk in chunks)
        foreign = language != DEFAULT_LANGUAGE and is_for_english(tools.embedder.fingerprint.model)
        return _ChunkedPage(read, tuple(zip(chunks, terms, strict=True)), foreign)

    def _fail(self, failure: PageFailure) -> None:
        """Keep the old chunks of the page, or of all pages in a folder that can't be read."""
        self.changes.failures.append(failure)
        path = failure.source_path
        kept = {name for name in self._current.documents if name == path or _below(name, path)}
        self._seen |= kept
        for name in kept:
            self._keep(name)
        if self._reread:  # the next run must reread them
            self.changes.pending += sorted(kept)
        else:
            self.changes.pending += sorted(kept & self._pending)

    async def _put(self, document: Document, chunks: Sequence[tuple[Chunk, int]]) -> None:
        self.changes.chunks += len(chunks) - self._chunks_before(document.source_path)
        old = await self._current.chunks(document.source_path)
        records = [
            self._record(document, chunk, terms, old.get(chunk.id)) for chunk, terms in chunks
        ]
        await self._target.put(document, records)
        new = [record.chunk for record in records if old.get(record.chunk.id) != record]
        stale = old.keys() - {record.chunk.id for record in records}
        if self._tools.price_per_million_tokens:
            to_pay = [record for record in records if old.get(record.chunk.id) != record]
            self.changes.unpaid_tokens += await unpaid_tokens_of(to_pay, self._tools)
        self.changes.new_chunks += [chunk.id for chunk in new]
        self.changes.replaced += sum(chunk.id in old for chunk in new) + len(stale)
        self.changes.new_tokens += sum(chunk.tokens for chunk in new)
        self.changes.stale_chunks += stale

    async def _remove(self, source_path: str) -> None:
        self.changes.chunks -= self._chunks_before(source_path)
        stale = await self._current.chunks(source_path)
        self.changes.stale_chunks += stale
        self.changes.replaced += len(stale)
        self.changes.removed.append(source_path)
        await self._target.remove(source_path)

    def _chunks_before(self, source_path: str) -> int:
        old = self._current.documents.get(source_path)
        return 0 if old is None else old.chunks

    def _record(
        self, document: Document, chunk: Chunk, terms: int, old: ChunkRecord | None
    ) -> ChunkRecord:
        same_text = old is not None and old.chunk.content_hash == chunk.content_hash
        return ChunkRecord(
            chunk=chunk,
            url=document.url,
            slug=document.slug,
            title=document.title,
            version=document.version,
            locale=document.locale,
            attributes=document.attributes,
            created_at=old.created_at if old is not None and same_text else self._now,
            term_count=terms,
        )

    def _check_anything_read(self, names: str) -> None:
        if not self._seen:
            raise InputError(
                f"there is no page to read in {names}. Nothing was changed; check the path and the "
                "file types"
            )
        failures = self.changes.failures
        if len(failures) == len(self._seen) and self._current.manifest is None:
            first = failures[0]
            raise InputError(
                f"none of the {len(self._seen)} pages in {names} could be used; "
                f"{first.source_path}: {first.reason}"
            )


def _same_addresses(urls: Mapping[str, str]) -> list[PageFailure]:
    return [
        PageFailure(
            first,
            f"its URL {url} is also that of {' and '.join(others)}; a site shows only one of them",
        )
        for url, (first, *others) in clashes(urls).items()
    ]


def _below(source_path: str, folder: str) -> bool:
    return folder.endswith("/") and source_path.startswith(folder)
