"""`surefind export`, `import`, `promote`: a generation on the move."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    progress_display,
    run,
    show,
    show_json,
)

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Manifest


def export(
    file: Annotated[Path, typer.Argument(help="The archive to write.", show_default=False)],
    generation: Annotated[
        int | None,
        typer.Option(help="The generation to write. [default: the one that readers see]"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there already.")
    ] = False,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write a generation into one file: documents, chunks and vectors, with checksums.

    `surefind import` reads it back, here or elsewhere, into whatever stores are configured there.
    """
    from surefind.errors import InputError

    if file.is_dir():
        raise InputError(f"{file} is a folder; name the file to write")
    if file.exists() and not force:
        raise InputError(f"{file} exists; name another file, or give --force to write over it")

    async def work(application: "Application") -> "Manifest":
        return await application.transfer.export_archive(file, generation, report)

    with progress_display() as report:
        manifest = run(work, collection=collection, data_dir=data_dir)
    size = file.stat().st_size
    if as_json:
        show_json({**_facts(manifest), "file": str(file), "bytes": size})
        return
    show(
        f"{file}: generation {manifest.number} of {manifest.collection}, {manifest.documents} "
        f"pages, {manifest.chunks} chunks, {size / 2**20:.1f} MB"
    )


def import_(
    file: Annotated[Path, typer.Argument(help="The archive to read.", show_default=False)],
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="Its name here. [default: the name it has]"),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Read a generation from a file, and let readers see it.

    It becomes the next generation of its collection; `surefind generations rollback` goes back to
    the one before. Nothing is embedded again. The file is checked whole before anything is written.
    """

    async def work(application: "Application") -> "Manifest":
        return await application.transfer.import_archive(file, collection, report)

    with progress_display() as report:
        manifest = run(work, data_dir=data_dir)
    if as_json:
        show_json(_facts(manifest))
        return
    show(
        f"{manifest.collection}: generation {manifest.number} is current, {manifest.documents} "
        f"pages, {manifest.chunks} chunks, made by {manifest.embedder}"
    )


class PromoteTarget(StrEnum):
    QDRANT = "qdrant"
    EMBEDDED = "embedded"


def promote(
    to: Annotated[PromoteTarget, typer.Option("--to", help="Where the collection is to be kept.")],
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Move what readers see out of the data folder into the configured servers, or back.

    With QDRANT_URL set, the index goes into that Qdrant server; with DATABASE_URL set too, the
    catalog goes into that database. Nothing is embedded again, and the collection stays where it
    was as well, until you remove it.
    """

    async def work(application: "Application") -> "Manifest":
        return await application.transfer.promote(to.value, report)

    with progress_display() as report:
        manifest = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json({**_facts(manifest), "to": to.value})
        return
    show(
        f"{manifest.collection}: generation {manifest.number} is current in {to.value}, "
        f"{manifest.documents} pages, {manifest.chunks} chunks"
    )


def _facts(manifest: "Manifest") -> dict[str, object]:
    return {
        "collection": manifest.collection,
        "generation": manifest.number,
        "documents": manifest.documents,
        "chunks": manifest.chunks,
        "embedder": str(manifest.embedder),
    }
