"""`surefind inspect`: preview the chunks of a page."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    broken_lines,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.ingest.inspect import Inspection

EXAMPLES = examples(
    "surefind inspect docs/install.md",
    "surefind inspect docs/install.md --check-links",
    page="commands/inspect/",
)


def inspect(
    page: Annotated[Path, typer.Argument(help="A documentation page.", show_default=False)],
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The URL where the page is published, for links to it."),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    check_links: Annotated[
        bool,
        typer.Option("--check-links", help="List links to pages that were not ingested."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Preview the URL, chunks and warnings of a page.

    Nothing is embedded and nothing is stored.
    """
    if os.path.isdir(page):  # noqa: PTH112 - unlike Path.is_dir, accepts impossible paths
        from surefind.errors import InputError

        raise InputError(f"{page} is a folder; name a single page")

    async def work(application: "Application") -> "Inspection":
        return await application.ingesting.inspect(page, check_links=check_links)

    inspection = run(work, base_url=base_url, collection=collection, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.json_output.ingest import inspection_json

        show_json(inspection_json(inspection))
    else:
        show(described(inspection))


def described(inspection: "Inspection") -> str:
    document = inspection.document
    if document is None:
        return f"{inspection.source_path}: skipped: {inspection.left_out}"
    facts = {
        "page": document.source_path,
        "url": document.url,
        "title": document.title,
        "version": document.version,
        "locale": document.locale,
        "chunks": str(len(inspection.chunks)),
        "tokens": str(sum(chunk.tokens for chunk in inspection.chunks)),
    }
    lines = [f"{name:<8} {value}" for name, value in facts.items() if value]
    lines += [f"warning  {warning}" for warning in inspection.warnings]
    lines += [f"unread   {code}" for code in inspection.unread]
    if inspection.broken_links is not None:
        lines.append(f"links    {len(inspection.broken_links) or 'none'} broken")
        lines += broken_lines(inspection.broken_links)
    for chunk in inspection.chunks:
        anchor = f"#{chunk.anchor}" if chunk.anchor else ""
        lines += [
            "",
            f"--- {chunk.position}  {' > '.join(chunk.heading_path)}  {anchor}",
            f"    {chunk.id}, {chunk.tokens} tokens, {chunk.content_type}",
            chunk.text,
        ]
    return "\n".join(lines)
