"""`surefind chunks`: count and show stored chunks."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, run, show, show_json
from surefind.interfaces.cli.usage import examples
from surefind.interfaces.failures import UNAVAILABLE

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import ChunkRecord

app = typer.Typer(
    help="Inspect the stored chunks of a collection.",
    epilog=examples("surefind chunks show ID", "surefind chunks count", page="commands/chunks/"),
)


@app.command("count")
def count(collection: Collection = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Count the chunks in the catalog and in the index."""

    async def work(application: "Application") -> dict[str, int | None]:
        async with application.parts.reader.lease() as generation:
            in_catalog = await generation.catalog.count() if generation.catalog else None
            return {
                "generation": generation.manifest.number,
                "catalog": in_catalog,
                "index": await generation.index.count(),
            }

    counts = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json(counts)
    elif counts["catalog"] is None:
        show(f"{counts['index']} chunks in the index (generation {counts['generation']})")
    else:
        show(
            f"{counts['catalog']} chunks in the catalog, {counts['index']} in the index "
            f"(generation {counts['generation']})"
        )
    if counts["catalog"] != counts["index"]:
        raise typer.Exit(UNAVAILABLE)


@app.command("show")
def show_chunk(
    chunk_id: Annotated[
        str, typer.Argument(help="The chunk's ID, as printed by `surefind search`.")
    ],
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a chunk with its text and metadata."""

    async def work(application: "Application") -> "ChunkRecord":
        return await application.searching.passages.chunk(chunk_id)

    from surefind.interfaces.json_output.search import chunk_json

    values = chunk_json(run(work, collection=collection, data_dir=data_dir))
    if as_json:
        show_json(values)
        return
    text = values.pop("text")
    for name, value in values.items():
        show(f"{name:<13} {value}")
    show(f"\n{text}")
