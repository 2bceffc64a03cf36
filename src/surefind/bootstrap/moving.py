"""Generations on the move: into a file, out of one, and from one kind of stores to another."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.model import GenerationRef

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Manifest
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.generations.transfer import TransferTarget


async def export_archive(
    application: Application, path: Path, number: int | None, report: ReportProgress
) -> Manifest:
    """A generation as one file, by default the one that readers see."""
    from surefind.adapters.files.archive import write_archive
    from surefind.services.generations.index_building import Progress, both_stores
    from surefind.services.generations.integrity import ReadingReport, verify
    from surefind.services.generations.transfer import kept_in, pages_of

    index, catalogs = application.index, application.catalogs
    if number is None:
        number = await application.generations.current()
    manifest = await catalogs.manifest(GenerationRef(application.settings.collection, number))
    await verify(manifest.ref, index, catalogs, ReadingReport(manifest.ref, report))
    async with both_stores(manifest.ref, index, catalogs) as (points, catalog):
        await write_archive(
            path,
            manifest,
            pages_of(catalog, kept_in(points)),
            lambda done: report(Progress("exporting", done, manifest.chunks)),
        )
    return manifest


async def import_archive(
    application: Application, path: Path, collection: str | None, report: ReportProgress
) -> Manifest:
    """The archive's generation becomes the next one of its collection, and is published."""
    from surefind.adapters.files.archive import Archive
    from surefind.services.generations.index_building import Progress

    report(Progress("checking", 0))
    archive = await asyncio.to_thread(Archive, path)
    name = collection or archive.manifest.collection
    return await _destination(application).receive(name, archive.manifest, archive.pages, report)


async def promote(application: Application, to: str, report: ReportProgress) -> Manifest:
    """What readers see moves from the data folder into the servers of the settings, or back."""
    from surefind.bootstrap import Application
    from surefind.errors import InputError
    from surefind.services.generations.index_building import both_stores
    from surefind.services.generations.integrity import ReadingReport, verify
    from surefind.services.generations.transfer import kept_in, pages_of

    settings = application.settings
    if settings.qdrant_url is None and settings.database_url is None:
        raise InputError(
            "neither QDRANT_URL nor DATABASE_URL is set: set the address of what the collection "
            "is to move into, or out of"
        )
    if to == "qdrant" and settings.qdrant_url is None:
        raise InputError("QDRANT_URL is not set: it is the address of the server to move into")
    embedded = Application(
        settings.model_copy(update={"qdrant_url": None, "database_url": None}),
    )
    source, target = (application, embedded) if to == "embedded" else (embedded, application)
    try:
        number = await source.generations.current()
        ref = GenerationRef(settings.collection, number)
        manifest = await source.catalogs.manifest(ref)
        await verify(ref, source.index, source.catalogs, ReadingReport(ref, report))
        async with both_stores(ref, source.index, source.catalogs) as (index, catalog):
            return await _destination(target).receive(
                settings.collection,
                manifest,
                lambda: pages_of(catalog, kept_in(index)),
                report,
            )
    finally:
        await embedded.close()


def _destination(application: Application) -> TransferTarget:
    from surefind.services.generations.transfer import TransferTarget

    return TransferTarget(
        application.index, application.catalogs, application.terms, version("surefind")
    )
