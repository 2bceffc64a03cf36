"""`surefind generations`: what was built, and going back."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, run, show, show_json

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Manifest

app = typer.Typer(help="The complete builds of a collection.", no_args_is_help=True)


@app.command("list")
def list_generations(
    collection: Collection = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Every generation that is kept, oldest first; * marks the one that readers see."""

    async def work(application: "Application") -> tuple[int, list["Manifest"]]:
        generations = application.generations
        return await generations.current(), await generations.list()

    current, manifests = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.native import manifest_json

        show_json([manifest_json(m, current=m.number == current) for m in manifests])
        return
    show("  generation  created               pages  chunks  sources")
    for manifest in manifests:
        mark = "*" if manifest.number == current else " "
        created = manifest.created_at.strftime("%Y-%m-%d %H:%M:%SZ")
        show(
            f"{mark} {manifest.number:>10}  {created}  {manifest.documents:>5}  "
            f"{manifest.chunks:>6}  {', '.join(manifest.sources)}"
        )


@app.command("rollback")
def rollback(
    to: Annotated[
        int | None,
        typer.Option("--to", help="The generation to go to. [default: the one before]"),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Let readers see an earlier generation again. Nothing is deleted."""

    async def work(application: "Application") -> "Manifest":
        return await application.generations.rollback(to)

    manifest = run(work, collection=collection, data_dir=data_dir)
    show(f"{manifest.collection}: generation {manifest.number} is current again")
