"""`surefind ingest`: documentation in, the next generation out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    note,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.failures import FAILED

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import IngestReport


def ingest(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Folders of Markdown, or Markdown files.", show_default=False),
    ],
    collection: Collection = None,
    data_dir: DataDir = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The address of the site the pages are published on, for their links."),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Build everything anew, with another model or chunk size."),
    ] = False,
    allow_shrink: Annotated[
        bool,
        typer.Option(
            "--allow-shrink", help="Publish even if many pages or a whole section are gone."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Turn documentation into a searchable collection.

    Only what changed is read and embedded again. Searches go on meanwhile, on what was there
    before; the new state appears all at once, or, if anything goes wrong, not at all.
    """

    async def work(application: "Application") -> "IngestReport":
        with progress_display() as progress:
            return await application.ingest(
                sources, progress, rebuild=rebuild, allow_shrink=allow_shrink
            )

    try:
        report = run(work, collection=collection, data_dir=data_dir, base_url=base_url)
    except KeyboardInterrupt:
        note(
            "stopped; nothing was published, and what was embedded so far is kept for the next run"
        )
        raise
    if as_json:
        from surefind.interfaces.native import ingest_json

        show_json(ingest_json(report))
    else:
        show(summary(report))
    if report.failures:
        raise typer.Exit(FAILED)


def summary(report: "IngestReport") -> str:
    """What changed, what is there now, what needs a look."""
    if report.published:
        head = f"{report.collection}: generation {report.generation} published"
    else:
        head = f"{report.collection}: nothing changed, generation {report.generation} stays"
    counts = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "failed": len(report.failures),
    }
    pages = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    lines = [
        f"{head} in {report.seconds:.1f} s",
        f"  pages    {pages}",
        f"  chunks   {report.chunks} in the catalog, {report.index_points} in the index",
        f"  vectors  {report.embedded} embedded, {report.from_cache} from the cache",
    ]
    if report.pruned:
        numbers = ", ".join(map(str, report.pruned))
        lines.append(f"  removed  old generations {numbers}")
    lines += [f"  empty    {path}: it holds no text" for path in report.empty_pages]
    lines += [f"  failed   {failure.source_path}: {failure.reason}" for failure in report.failures]
    return "\n".join(lines)
