"""`surefind generations`: what was built, and going back."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, run, show, show_json

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Manifest, Rate

app = typer.Typer(help="The complete builds of a collection.", no_args_is_help=True)


@app.command("list")
def list_generations(
    collection: Collection = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Every generation that is kept, oldest first; * marks the one that readers see."""

    async def work(application: "Application") -> tuple[int | None, list["Manifest"]]:
        generations = application.generations
        return await generations.seen(), await generations.list()

    current, manifests = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.json_output.generations import manifest_json

        show_json([manifest_json(m, current=m.number == current) for m in manifests])
        return
    from surefind.interfaces.json_output.generations import document_count

    show("  generation  created               pages  chunks  sources")
    for manifest in manifests:
        mark = "*" if manifest.number == current else " "
        held = "  (held back)" if is_held_back(manifest, current) else ""
        documents = document_count(manifest)
        pages = "-" if documents is None else documents
        created = manifest.created_at.strftime("%Y-%m-%d %H:%M:%SZ")
        show(
            f"{mark} {manifest.number:>10}  {created}  {pages:>5}  "
            f"{manifest.chunks:>6}  {', '.join(manifest.sources)}{held}"
        )


def is_held_back(manifest: "Manifest", current: int | None) -> bool:
    """A gate kept it from readers, and nobody has published it since."""
    return manifest.gate is not None and manifest.gate.held and manifest.number > (current or 0)


@app.command("show")
def show_generation(
    number: Annotated[
        int | None, typer.Argument(help="Which one. [default: the one that readers see]")
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """What made a generation, what it holds, and what golden tests said of it."""

    async def work(application: "Application") -> tuple[int | None, "Manifest"]:
        return await application.generations.seen(), await application.generations.one(number)

    current, manifest = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.json_output.generations import manifest_json

        show_json(manifest_json(manifest, current=manifest.number == current))
        return
    show("\n".join(described(manifest, current)))


def described(manifest: "Manifest", current: int | None) -> list[str]:
    from surefind.interfaces.cli.documents.ingest import gate_lines

    seen = "readers see it" if manifest.number == current else "readers do not see it"
    if is_held_back(manifest, current):
        seen = "a gate held it back"
    created = manifest.created_at.strftime("%Y-%m-%d %H:%M:%SZ")
    lines = [
        f"{manifest.collection}: generation {manifest.number}, {seen}",
        f"  created  {created} by surefind {manifest.surefind_version}",
        f"  holds    {manifest.documents} pages, {manifest.chunks} chunks",
        f"  sources  {', '.join(manifest.sources)}",
        f"  model    {manifest.embedder}",
        f"  chunker  {manifest.chunker}",
        *_confidence(manifest),
    ]
    return lines + (gate_lines(manifest.gate) if manifest.gate is not None else [])


def _confidence(manifest: "Manifest") -> list[str]:
    """What says whether a question is answered here."""
    threshold, own = manifest.threshold, manifest.calibration
    if threshold is not None:
        return [
            f"  answers  from a similarity of {threshold.similarity:.3f} on, by {threshold.golden}",
            f"           {rate(threshold.false_accepts)} of the questions without an answer pass",
            f"           {rate(threshold.false_rejects)} of those with one do not",
        ]
    if own is not None:
        return [f"  answers  from a similarity of {own.middle:.3f} on, by its own sentences"]
    return ["  answers  not calibrated"]


def rate(told: "Rate") -> str:
    return f"{told.value:.1%} ({told.low:.1%} to {told.high:.1%}, {told.count} of {told.total})"


@app.command("publish")
def publish(
    number: Annotated[int, typer.Argument(help="The generation that readers are to see.")],
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Let readers see a generation, also one that a gate held back."""

    async def work(application: "Application") -> "Manifest":
        return await application.generations.rollback(number)

    manifest = run(work, collection=collection, data_dir=data_dir)
    show(f"{manifest.collection}: generation {manifest.number} is current")


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


@app.command("prune")
def prune(
    keep: Annotated[
        int | None,
        typer.Option(help="How many to keep. [default: the setting keep_generations]", min=1),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove old generations to free space. The one that readers see always stays."""

    async def work(application: "Application") -> tuple[int, ...]:
        wanted = application.settings.keep_generations if keep is None else keep
        return await application.generations.prune(wanted)

    removed = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json({"removed": list(removed)})
    elif removed:
        show(f"removed {len(removed)}: generation {', '.join(map(str, removed))}")
    else:
        show("nothing to remove")
