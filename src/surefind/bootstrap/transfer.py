"""Exports, imports and promotes generations."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.bootstrap.parts import Parts
from surefind.model import GenerationRef

if TYPE_CHECKING:
    from surefind.model import Manifest
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.generations.transfer import TransferTarget
    from surefind.services.reading.llms_export import LlmsTxtExport


class Transfer:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def export_archive(
        self, path: Path, number: int | None, report: ReportProgress
    ) -> Manifest:
        """Export a generation to a file, by default the current one."""
        from surefind.adapters.files.archive import write_archive
        from surefind.services.generations.index_building import Progress, both_stores
        from surefind.services.generations.integrity import (
            ReadingReport,
            require_complete,
            verify,
        )
        from surefind.services.generations.transfer import kept_in, pages_of

        index, catalogs = self._parts.index, self._parts.catalogs
        if number is None:
            number = await self._parts.generations().current()
        manifest = await catalogs.manifest(GenerationRef(self._parts.settings.collection, number))
        await verify(manifest.ref, index, catalogs, ReadingReport(manifest.ref, report))
        async with both_stores(manifest.ref, index, catalogs) as (points, catalog):
            await require_complete(manifest, points, catalog)
            await write_archive(
                path,
                manifest,
                pages_of(catalog, kept_in(points)),
                lambda done: report(Progress("exporting", done, manifest.chunks)),
            )
        return manifest

    async def export_llms_txt(self, path: Path, *, force: bool) -> LlmsTxtExport:
        """Write llms.txt, llms-full.txt and each page of the current generation as Markdown."""
        from surefind.adapters.files.markdown_folder import MarkdownFolder
        from surefind.services.reading.llms_export import export_llms_txt

        settings, folder = self._parts.settings, MarkdownFolder(path)
        async with self._parts.reader.lease() as generation:
            return await export_llms_txt(
                generation,
                settings.base_url,
                lambda names: folder.prepare(names, force=force),
                folder.write,
            )

    async def import_archive(
        self, path: Path, collection: str | None, report: ReportProgress
    ) -> Manifest:
        """Publish the archive's generation as the next one of its collection."""
        from surefind.adapters.files.archive import Archive
        from surefind.services.generations.index_building import Progress

        report(Progress("checking", 0))
        archive = await asyncio.to_thread(Archive, path)
        name = collection or archive.manifest.collection
        target = _target(self._parts)
        return await target.receive(name, archive.manifest, archive.pages, report)

    async def rename(self, collection: str, report: ReportProgress) -> Manifest:
        """Move the current generation of the collection to a new name; the others are deleted."""
        from surefind.errors import InputError
        from surefind.services.generations.index_building import both_stores
        from surefind.services.generations.integrity import require_complete
        from surefind.services.generations.transfer import kept_in, pages_of

        index, catalogs = self._parts.index, self._parts.catalogs
        generations = self._parts.generations()
        ref = GenerationRef(self._parts.settings.collection, await generations.current())
        if await catalogs.complete(collection) or await catalogs.current(collection) is not None:
            raise InputError(f"there is a collection {collection!r} already; choose another name")
        manifest = await catalogs.manifest(ref)
        async with both_stores(ref, index, catalogs) as (points, catalog):
            await require_complete(manifest, points, catalog)
            moved = await _target(self._parts).receive(
                collection, manifest, lambda: pages_of(catalog, kept_in(points)), report
            )
        await generations.delete()
        return moved

    async def promote(self, to: str, report: ReportProgress) -> Manifest:
        """Copy the current generation from the data folder to the servers of the settings.

        With `to="embedded"`, the other way round.
        """
        from surefind.errors import InputError
        from surefind.services.generations.index_building import both_stores
        from surefind.services.generations.integrity import (
            ReadingReport,
            require_complete,
            verify,
        )
        from surefind.services.generations.transfer import kept_in, pages_of

        settings = self._parts.settings
        if settings.qdrant_url is None and settings.database_url is None:
            raise InputError(
                "neither QDRANT_URL nor DATABASE_URL is set; set the address of the server to move "
                "the collection to or from"
            )
        if to == "qdrant" and settings.qdrant_url is None:
            raise InputError(
                "QDRANT_URL is not set; set it to the address of the server to move to"
            )
        local = Parts(settings.model_copy(update={"stores": "embedded"}))
        servers = self._parts
        if settings.stores == "embedded":
            servers = Parts(settings.model_copy(update={"stores": "auto"}), self._parts.notify)
        source, target = (servers, local) if to == "embedded" else (local, servers)
        try:
            ref = GenerationRef(settings.collection, await source.generations().current())
            manifest = await source.catalogs.manifest(ref)
            await verify(ref, source.index, source.catalogs, ReadingReport(ref, report))
            async with both_stores(ref, source.index, source.catalogs) as (index, catalog):
                await require_complete(manifest, index, catalog)
                return await _target(target).receive(
                    settings.collection,
                    manifest,
                    lambda: pages_of(catalog, kept_in(index)),
                    report,
                )
        finally:
            await local.close()
            if servers is not self._parts:
                await servers.close()


def _target(parts: Parts) -> TransferTarget:
    from surefind.services.generations.transfer import TransferTarget

    return TransferTarget(parts.index, parts.catalogs, parts.terms, version("surefind"))
