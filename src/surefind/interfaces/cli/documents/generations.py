"""`surefind generations`: list, publish, roll back and prune builds."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, run, show, show_json
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Manifest, Rate

app = typer.Typer(
    help="Manage the generations of a collection, its complete builds.",
    epilog=examples(
        "surefind generations list",
        "surefind generations rollback",
        "surefind generations prune --keep 2",
        page="commands/generations/",
    ),
)


@app.command("list")
def list_generations(
    collection: Collection = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the stored generations; * marks the current one."""

    async def work(application: "Application") -> tuple[int | None, list["Manifest"]]:
        generations = application.generations
        return await generations.seen(), await generations.list()

    current, manifests = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.json_output.generations import manifest_json

        show_json([manifest_json(m, current=m.number == current) for m in manifests])
        return

    show("  generation  created               pages  chunks  sources")
    for manifest in manifests:
        mark = "*" if manifest.number == current else " "
        held = "  (held back)" if is_held_back(manifest, current) else ""
        documents = manifest.counted_documents
        pages = "-" if documents is None else documents
        created = manifest.created_at.strftime("%Y-%m-%d %H:%M:%SZ")
        show(
            f"{mark} {manifest.number:>10}  {created}  {pages:>5}  "
            f"{manifest.chunks:>6}  {', '.join(manifest.sources)}{held}"
        )


def is_held_back(manifest: "Manifest", current: int | None) -> bool:
    """Whether a gate held it back and it has not been published since."""
    return manifest.gate is not None and manifest.gate.held and manifest.number > (current or 0)


@app.command("show")
def show_generation(
    number: Annotated[
        int | None, typer.Argument(help="The generation's number. [default: the current one]")
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show how a generation was built, and its gate result."""

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

    state = "current" if manifest.number == current else "not current"
    if is_held_back(manifest, current):
        state = "held back by a gate"
    created = manifest.created_at.strftime("%Y-%m-%d %H:%M:%SZ")
    lines = [
        f"{manifest.collection}: generation {manifest.number}, {state}",
        f"  created  {created} by surefind {manifest.surefind_version}",
        f"  holds    {manifest.documents} pages, {manifest.chunks} chunks",
        f"  sources  {', '.join(manifest.sources)}",
        f"  model    {manifest.embedder}",
        f"  chunker  {manifest.chunker}",
        *_confidence(manifest),
    ]
    return lines + (gate_lines(manifest.gate) if manifest.gate is not None else [])


def _confidence(manifest: "Manifest") -> list[str]:
    """The threshold that decides whether a question has an answer here."""
    threshold, own = manifest.threshold, manifest.calibration
    if threshold is not None:
        return [
            f"  answers  similarity from {threshold.similarity:.3f}, by {threshold.golden}",
            f"           false accepts {rate(threshold.false_accepts)}",
            f"           false rejects {rate(threshold.false_rejects)}",
        ]
    if own is not None:
        return [f"  answers  similarity from {own.middle:.3f}, estimated from its own sentences"]
    return ["  answers  not calibrated"]


def rate(value: "Rate") -> str:
    of_total = f"{value.count} of {value.total}"
    return f"{value.value:.1%} ({value.low:.1%} to {value.high:.1%}, {of_total})"


@app.command("publish")
def publish(
    number: Annotated[int, typer.Argument(help="The generation to publish.")],
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Make a generation the current one, even if a gate held it back."""

    async def work(application: "Application") -> "Manifest":
        return await application.generations.rollback(number)

    manifest = run(work, collection=collection, data_dir=data_dir)
    show(f"{manifest.collection}: generation {manifest.number} is current")


@app.command("rollback")
def rollback(
    to: Annotated[
        int | None,
        typer.Option("--to", help="The generation to return to. [default: the previous one]"),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Return to an earlier generation. Nothing is deleted."""

    async def work(application: "Application") -> "Manifest":
        return await application.generations.rollback(to)

    manifest = run(work, collection=collection, data_dir=data_dir)
    show(f"{manifest.collection}: generation {manifest.number} is current again")


@app.command("prune")
def prune(
    keep: Annotated[
        int | None,
        typer.Option(help="How many to keep. [default: the keep_generations setting]", min=1),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete old generations to free space. The current one is always kept."""

    async def work(application: "Application") -> tuple[int, ...]:
        number = application.settings.keep_generations if keep is None else keep
        return await application.generations.prune(number)

    removed = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json({"removed": list(removed)})
    elif removed:
        show(f"removed {len(removed)}: generation {', '.join(map(str, removed))}")
    else:
        show("nothing to remove")
