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
    from surefind.services.building import Report
    from surefind.services.moving import Destination


async def export_archive(
    application: Application, path: Path, number: int | None, report: Report
) -> Manifest:
    """A generation as one file, by default the one that readers see."""
    from surefind.adapters.archive import write_archive
    from surefind.services.building import Progress, both_stores
    from surefind.services.moving import pages_of

    index, catalogs = application.index, application.catalogs
    if number is None:
        number = await application.generations.current()
    manifest = await catalogs.manifest(GenerationRef(application.settings.collection, number))
    async with both_stores(manifest.ref, index, catalogs) as (points, catalog):
        await write_archive(
            path,
            manifest,
            pages_of(points, catalog),
            lambda done: report(Progress("exporting", done, manifest.chunks)),
        )
    return manifest


async def import_archive(
    application: Application, path: Path, collection: str | None, report: Report
) -> Manifest:
    """The archive's generation becomes the next one of its collection, and is published."""
    from surefind.adapters.archive import Archive
    from surefind.services.building import Progress

    report(Progress("checking", 0))
    archive = await asyncio.to_thread(Archive, path)
    name = collection or archive.manifest.collection
    return await _destination(application).receive(name, archive.manifest, archive.pages, report)


def _destination(application: Application) -> Destination:
    from surefind.services.moving import Destination

    return Destination(
        application.index, application.catalogs, application.terms, version("surefind")
    )
