"""Documentation in: sources, gates, inspections; and collections that are there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefind.bootstrap.connections import candidate_table, foreign_collection
from surefind.bootstrap.models import price_of_tokens
from surefind.bootstrap.validating import Validating

if TYPE_CHECKING:
    from surefind.model import IngestReport
    from surefind.ports import Source
    from surefind.services.connected.connect import ConnectOptions, Proposal
    from surefind.services.connected.vector_origin import CountProgress as Counted
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.ingest.inspect import Inspection
    from surefind.services.maintenance.audit import AuditOptions, AuditReport
    from surefind.services.validation.gate import Gate


class Ingesting(Validating):
    """What an ingest needs of an installation; a gate is a validation."""

    async def ingest(
        self,
        paths: Sequence[str | PathLike[str]],
        report: ReportProgress,
        *,
        dry_run: bool = False,
        websites: Sequence[str] = (),
        crawl: Mapping[str, Any] | None = None,
        gate: str | PathLike[str] | None = None,
        gate_strict: bool = False,
        **wanted: Any,
    ) -> IngestReport:
        """`crawl` holds what is asked of the crawler, `wanted` what is asked of the ingest, both by
        the names of their options. `gate` is a file of golden tests; the empty one is none, also
        where the settings name one.
        """
        from surefind.services.generations.index_building import IngestTools
        from surefind.services.generations.resume import make_room
        from surefind.services.ingest.ingest import IngestOptions, Ingestor

        self._check_own()
        guard = await self._gate(gate, strict=gate_strict)
        sources = self._sources(paths, websites, crawl or {})
        if not dry_run:  # before the model is loaded, and the cache opened on a full disk
            self._folder.prepare()
            await make_room(self.settings.collection, self.index, self.catalogs)
        tools = IngestTools(
            embedder=await (self._dry_run_embedder() if dry_run else self.embedder(writing=True)),
            terms=self.terms,
            index=self.index,
            catalogs=self.catalogs,
            chunker=self.settings.chunker,
            version=version("surefind"),
            price_per_million_tokens=price_of_tokens(self.settings),
        )
        options = IngestOptions(
            collection=self.settings.collection,
            keep_generations=self.settings.keep_generations,
            gate=guard,
            **wanted,
        )
        ingestor = Ingestor(tools)
        if dry_run:
            return await ingestor.dry_run(sources, options, report)
        return await ingestor.run(sources, options, report)

    async def _gate(self, path: str | PathLike[str] | None, *, strict: bool) -> Gate | None:
        from surefind.services.validation.gate import Gate

        wanted = self.settings.gate if path is None else path
        if not wanted:
            return None
        return Gate(await self.golden(Path(wanted)), strict or self.settings.gate_strict)

    def _sources(
        self,
        paths: Sequence[str | PathLike[str]],
        websites: Sequence[str],
        crawl: Mapping[str, Any],
    ) -> list[Source]:
        from surefind.adapters.sources.filesystem import sources_of
        from surefind.adapters.sources.website.http import CrawlOptions
        from surefind.adapters.sources.website.source import WebsiteSource

        folders = sources_of(paths, self.settings.collection, self.settings.base_url)
        for folder in folders:
            for note in folder.notes:
                self._notify(f"{folder.name}: {note}")
        options = CrawlOptions(**crawl)
        return [*folders, *(WebsiteSource(url, options, self._notify) for url in websites)]

    async def inspect(self, path: Path, *, check_links: bool = False) -> Inspection:
        """What a page would become, without keeping any of it."""
        from surefind.adapters.sources.filesystem import sources_of
        from surefind.services.ingest.inspect import inspect

        if check_links:
            return await self._inspect_links(path)
        [source] = sources_of([path], self.settings.collection, self.settings.base_url)
        return await inspect(source, self.settings.chunker, await self.embedder())

    async def _inspect_links(self, path: Path) -> Inspection:
        """As a page of the source that the collection was made from."""
        from surefind.adapters.sources.filesystem import page_of
        from surefind.services.ingest.inspect import inspect

        settings = self.settings
        async with self.reader.lease() as generation:
            catalog = generation.require_catalog()
            known = {record.source_path for record in await catalog.documents()}
            names = generation.manifest.sources
            source = page_of(path, names, known, settings.collection, settings.base_url)
            embedder = await self.embedder()
            return await inspect(source, settings.chunker, embedder, catalog)

    def _check_own(self) -> None:
        from surefind.errors import InputError

        name = self.settings.collection
        if any(one.name == name for one in self.settings.connected):
            raise InputError(
                f"collection {name!r} is connected, something else fills it; surefind only reads "
                "it. Ingest into another one with --collection"
            )

    async def propose(self, wanted: ConnectOptions, progress: Counted) -> Proposal:
        """How a collection that something else filled would be read. Nothing is kept."""
        from surefind.services.connected.connect import propose

        candidate = candidate_table(wanted, self.settings)
        foreign = foreign_collection(wanted.collection, wanted.url, self.settings, self._notify)
        try:
            return await propose(
                foreign, await self.embedder(), self.terms, wanted, candidate, progress
            )
        finally:
            await foreign.close()
            if candidate is not None:
                await candidate.table.close()

    async def audit(self, options: AuditOptions, report: ReportProgress) -> AuditReport:
        """Whether the collection's data is whole."""
        from surefind.services.maintenance.audit import audit

        name = self.settings.collection
        foreign = [one.foreign for one in self.connected if one.connection.name == name]
        async with self.reader.lease() as generation:
            return await audit(
                generation, foreign[0] if foreign else None, self.embedder, options, report
            )

    async def is_own(self, collection: str) -> bool:
        """Whether surefind itself has made a collection of that name."""
        return collection in await self.own_catalogs.collections()
