"""`surefind collections`: list, rename and delete collections."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.errors import InputError
from surefind.interfaces.cli.console import (
    AsJson,
    DataDir,
    confirm,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import CollectionSummary, Manifest

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the collection.")]

app = typer.Typer(
    help="List, rename and delete collections.",
    epilog=examples(
        "surefind collections list",
        "surefind collections rename docs handbook",
        "surefind collections delete old --yes",
        page="commands/collections/",
    ),
)


@app.command("list")
def list_collections(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the collections with their sizes; * marks the default one."""

    async def work(application: "Application") -> "list[CollectionSummary]":
        return await application.searching.collections()

    found = run(work, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.json_output.generations import collection_json

        show_json([collection_json(one) for one in found])
        return
    if not found:
        show("there is no collection yet; create one with `surefind ingest FOLDER`")
        return
    show("  collection            generation   pages   chunks")
    for one in found:
        mark = "*" if one.served else " "
        numbers = (f"{one.generation:>10}", _count(one.documents, 7), _count(one.chunks, 8))
        show(f"{mark} {one.name:<20}  {' '.join(numbers)}")


def _count(number: int | None, width: int) -> str:
    return f"{'-' if number is None else number:>{width}}"


@app.command("rename")
def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="Its new name.")],
    data_dir: DataDir = None,
) -> None:
    """Give a collection a new name. Its current generation is kept, earlier ones are deleted."""

    async def work(application: "Application") -> "Manifest":
        with progress_display() as progress:
            return await application.transfer.rename(new_name, progress)

    manifest = run(work, collection=name, data_dir=data_dir)
    size = f"{manifest.documents} pages, {manifest.chunks} chunks"
    show(f"{name} is now {manifest.collection}: generation {manifest.number}, {size}")


@app.command("delete")
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a collection with all its generations. The source files are not touched."""
    if not yes and not sys.stdin.isatty():
        raise InputError(f"deleting {name} can't be undone; add --yes to delete it without asking")
    if not yes and not confirm(f"Delete the collection {name}?", default=False):
        show("nothing was deleted")
        return

    async def work(application: "Application") -> int:
        return await application.generations.delete()

    removed = run(work, collection=name, data_dir=data_dir)
    show(f"deleted {name}: {removed} generation{'' if removed == 1 else 's'}")
