"""`surefind export`, `import` and `promote`: move a generation between stores."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    broken_lines,
    note,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Manifest
    from surefind.services.reading.llms_export import LlmsTxtExport

_MAX_BROKEN = 20
EXPORT_EXAMPLES = examples(
    "surefind export docs.surefind",
    "surefind export --llms-txt build/site",
    page="commands/export/",
)
IMPORT_EXAMPLES = examples(
    "surefind import docs.surefind",
    "surefind import docs.surefind --collection copy",
    page="commands/import/",
)
PROMOTE_EXAMPLES = examples(
    "surefind promote --to qdrant",
    "surefind promote --to embedded",
    page="commands/promote/",
)


def export(
    file: Annotated[
        Path | None, typer.Argument(help="The archive to write.", show_default=False)
    ] = None,
    llms_txt: Annotated[
        Path | None,
        typer.Option(
            "--llms-txt",
            metavar="DIR",
            help="Instead of an archive, write llms.txt and every page as Markdown into a folder.",
        ),
    ] = None,
    generation: Annotated[
        int | None,
        typer.Option(help="The generation to export. [default: the current one]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Export a generation to a file, or its pages as Markdown.

    The file contains documents, chunks and vectors, with checksums. `surefind import` loads it, on
    any machine, into the stores configured there. With --llms-txt, the current pages are written
    for assistants: llms.txt, llms-full.txt and one Markdown file for each page.
    """
    from surefind.errors import InputError

    if llms_txt is not None:
        if file is not None or generation is not None:
            raise InputError("--llms-txt takes neither FILE nor --generation; remove them")
        _export_llms_txt(llms_txt, force, collection, data_dir, as_json)
        return
    if file is None:
        raise InputError("name the file to write, or a folder with --llms-txt DIR")
    if file.is_dir():
        raise InputError(f"{file} is a folder; name the file to write")
    if file.exists() and not force:
        raise InputError(
            f"{file} already exists; name another file, or use --force to overwrite it"
        )

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


def _export_llms_txt(
    folder: Path, force: bool, collection: str | None, data_dir: str | None, as_json: bool
) -> None:
    from dataclasses import asdict

    async def work(application: "Application") -> "LlmsTxtExport":
        return await application.transfer.export_llms_txt(folder, force=force)

    done = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json({**asdict(done), "folder": str(folder)})
        return
    show(
        f"{folder}: llms.txt, llms-full.txt and {done.pages} pages of {done.collection}, "
        f"generation {done.generation}"
    )
    for path in done.left_out:
        note(f"left out  {path}: its address can't be that of a file")
    for line in broken_lines(done.broken_links[:_MAX_BROKEN]):
        note(line)
    if len(done.broken_links) > _MAX_BROKEN:
        more = len(done.broken_links) - _MAX_BROKEN
        note(f"broken   {more} more links; --json lists all of them")


def import_(
    file: Annotated[Path, typer.Argument(help="The archive to read.", show_default=False)],
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            help="The name to import it as. [default: its name in the archive]",
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Import a generation from a file, and make it the current one.

    It becomes the next generation of its collection; `surefind generations rollback` undoes that.
    Nothing is re-embedded. The whole file is verified before anything is written.
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
        f"pages, {manifest.chunks} chunks, embedded with {manifest.embedder}"
    )


class PromoteTarget(StrEnum):
    QDRANT = "qdrant"
    EMBEDDED = "embedded"


def promote(
    to: Annotated[PromoteTarget, typer.Option("--to", help="Where to move the collection.")],
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy a collection to the configured servers, or back.

    With QDRANT_URL set, the index goes from the data folder to that Qdrant server; with
    DATABASE_URL also set, the catalog goes to that database. Nothing is re-embedded. The original
    stays until you delete it.
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
