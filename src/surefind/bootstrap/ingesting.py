"""Ingests documentation, and previews pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.errors import InputError

if TYPE_CHECKING:
    from surefind.adapters.sources.filesystem import FolderSource
    from surefind.adapters.sources.website.http import CrawlOptions
    from surefind.bootstrap.parts import Parts
    from surefind.bootstrap.validation import Validation
    from surefind.model import IngestReport, Page
    from surefind.ports import Source
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.ingest.inspect import Inspection
    from surefind.services.validation.gate import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """What to ingest, and how.

    `gate` is a file of golden tests that the new generation must pass. None uses the gate of the
    settings, and an empty string turns it off. `update` adds and changes pages and removes none.
    `include` and `exclude` are patterns for the paths of folders; None uses those of the settings.
    """

    paths: Sequence[str | PathLike[str]] = ()
    pages: Iterable[Page] = ()
    sites: Sequence[str] = ()
    crawl: CrawlOptions | None = None
    rebuild: bool = False
    allow_shrink: bool = False
    check_links: bool = False
    dry_run: bool = False
    max_cost: float | None = None
    gate: str | PathLike[str] | None = None
    gate_strict: bool = False
    update: bool = False
    include: Sequence[str] | None = None
    exclude: Sequence[str] | None = None


class Ingesting:
    def __init__(self, parts: Parts, validation: Validation) -> None:
        self._parts = parts
        self._validation = validation

    async def ingest(
        self, request: IngestRequest, report: ReportProgress = lambda _progress: None
    ) -> IngestReport:
        from surefind.adapters.sources.filesystem import unnamed_pages
        from surefind.services.generations.cleanup import make_room
        from surefind.services.generations.index_building import PARTS_AT_ONCE, IngestTools
        from surefind.services.ingest.ingest import IngestOptions, Ingestor
        from surefind.settings import notices_of

        parts, settings = self._parts, self._parts.settings
        self._refuse_connected()
        gate = await self._gate(request)
        folders = await self._folders(request)
        others = self._other_sources(request)
        sources: list[Source] = [*folders, *others]
        if not request.dry_run:  # free space before the model and the embedding cache need it
            parts.folder.prepare()
            for name, notice in notices_of(settings).items():
                if parts.folder.first_time(name):
                    parts.notify(notice)
            await make_room(settings.collection, parts.index, parts.catalogs)
        embedder = await (
            parts.dry_run_embedder() if request.dry_run else parts.embedder(writing=True)
        )
        ingestor = Ingestor(
            IngestTools(
                embedder=embedder,
                terms=parts.terms,
                index=parts.index,
                catalogs=parts.catalogs,
                chunker=settings.chunker,
                version=version("surefind"),
                price_per_million_tokens=parts.price_per_million_tokens,
                kind_weights=parts.kind_weights,
                formats=settings.formats,
                parts_at_once=max(PARTS_AT_ONCE, settings.embed_concurrency or 0),
            )
        )
        options = IngestOptions(
            collection=settings.collection,
            rebuild=request.rebuild,
            allow_shrink=request.allow_shrink,
            keep_generations=settings.keep_generations,
            check_links=request.check_links,
            max_cost=request.max_cost,
            gate=gate,
            update=request.update,
            is_unnamed=unnamed_pages(folders, alone=not others),
        )
        if request.dry_run:
            return await ingestor.dry_run(sources, options, report)
        return await ingestor.run(sources, options, report)

    async def inspect(self, path: Path, *, check_links: bool = False) -> Inspection:
        """Preview the chunks of a page. Nothing is stored.

        With `check_links`, the page is read as one of the collection's own source, so that its
        links to other pages can be resolved.
        """
        from surefind.adapters.sources.filesystem import page_of, sources_of
        from surefind.services.ingest.inspect import inspect

        parts, settings = self._parts, self._parts.settings
        if not check_links:
            [source] = sources_of(
                [path],
                settings.collection,
                settings.base_url,
                url_style=settings.url_style,
            )
            embedder = await parts.embedder()
            return await inspect(source, settings.chunker, embedder, formats=settings.formats)
        async with parts.reader.lease() as generation:
            catalog = generation.require_catalog()
            known = {record.source_path for record in await catalog.documents()}
            names = generation.manifest.sources
            page = page_of(
                path, names, known, settings.collection, settings.base_url, settings.url_style
            )
            embedder = await parts.embedder()
            return await inspect(page, settings.chunker, embedder, catalog, settings.formats)

    async def _gate(self, request: IngestRequest) -> Gate | None:
        from surefind.services.validation.gate import Gate

        settings = self._parts.settings
        path = settings.gate if request.gate is None else request.gate
        if not path:
            return None
        golden = await self._validation.golden(Path(path))
        return Gate(golden, request.gate_strict or settings.gate_strict)

    async def _folders(self, request: IngestRequest) -> list[FolderSource]:
        from surefind.adapters.sources.filesystem import sources_of, updates_of
        from surefind.adapters.sources.path_patterns import PathPatterns

        settings = self._parts.settings
        include = settings.include if request.include is None else request.include
        exclude = settings.exclude if request.exclude is None else request.exclude
        patterns = PathPatterns(tuple(include), tuple(exclude))
        site = settings.collection, settings.base_url, patterns, settings.url_style
        if request.update and request.rebuild:
            raise InputError("--rebuild needs all sources, so it can't be combined with --update")
        if request.update:
            async with self._parts.reader.lease() as generation:
                documents = await generation.require_catalog().documents()
                names = generation.manifest.sources
            known = {record.source_path for record in documents}
            folders = updates_of(request.paths, names, known, *site)
        else:
            folders = sources_of(request.paths, *site)
        for folder in folders:
            for note in folder.notes:
                self._parts.notify(f"{folder.name}: {note}")
        return folders

    def _other_sources(self, request: IngestRequest) -> list[Source]:
        from surefind.adapters.sources.memory import sources_of_pages
        from surefind.adapters.sources.website.http import CrawlOptions
        from surefind.adapters.sources.website.source import WebsiteSource

        notify, settings = self._parts.notify, self._parts.settings
        in_memory = sources_of_pages(
            request.pages, settings.collection, settings.base_url, settings.url_style
        )
        crawl = request.crawl or CrawlOptions()
        return [*in_memory, *(WebsiteSource(url, crawl, notify) for url in request.sites)]

    def _refuse_connected(self) -> None:
        name = self._parts.settings.collection
        if any(connection.name == name for connection in self._parts.settings.connected):
            raise InputError(
                f"collection {name!r} is connected, so surefind only reads it; choose another one "
                "with --collection"
            )
