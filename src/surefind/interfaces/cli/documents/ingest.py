"""`surefind ingest`: build the next generation from documentation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.errors import InputError
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
from surefind.interfaces.cli.usage import DOCUMENTATION, examples
from surefind.interfaces.failures import FAILED, INCONCLUSIVE

_SMALLEST_COST_SHOWN = 0.0001
_MOST_SKIPPED_SHOWN = 3
"""The pages that are named, of those that are skipped for the same reason."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from surefind.bootstrap import Application
    from surefind.model import GateResult, IngestReport, PageFailure

EXAMPLES = examples(
    "surefind ingest docs --base-url https://docs.example.com",
    "surefind ingest https://docs.example.com",
    "surefind ingest docs --exclude CHANGELOG.md",
    "surefind ingest docs/install.md --update",
    "surefind ingest docs --dry-run",
    page="commands/ingest/",
)


def ingest(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders, single pages, or the URL of a site to crawl.", show_default=False
        ),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="The URL of a documentation site to crawl; repeatable."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Read only matching paths, such as 'guide/**'."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Skip matching paths, such as 'old/**' or CHANGELOG.md."
        ),
    ] = None,
    max_pages: Annotated[
        int, typer.Option(min=1, help="Maximum number of pages per website.")
    ] = 5000,
    delay: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Seconds to wait between requests to a website."
        ),
    ] = 0.0,
    collection: Collection = None,
    data_dir: DataDir = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The URL where the pages are published, for links to them."
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Rebuild everything; required after changing the model or chunk size."
        ),
    ] = False,
    allow_shrink: Annotated[
        bool,
        typer.Option(
            "--allow-shrink", help="Publish even if many pages or a whole section have disappeared."
        ),
    ] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Add or change only the named pages; keep all others."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change without changing anything.")
    ] = False,
    check_links: Annotated[
        bool, typer.Option("--check-links", help="List broken links between pages.")
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="Stop before embedding if the estimated cost exceeds this amount."
        ),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="Golden tests that a new generation must pass before it is published.",
            show_default=False,
        ),
    ] = None,
    gate_strict: Annotated[
        bool,
        typer.Option(
            "--gate-strict", help="Also hold back a generation when the gate is inconclusive."
        ),
    ] = False,
    no_gate: Annotated[
        bool, typer.Option("--no-gate", help="Publish without running the gate from the settings.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build a searchable collection from documentation.

    Only changed pages are read, and only changed sections are embedded. Searches keep using the
    current generation until the new one is complete; if anything fails, nothing is published.
    """
    if no_gate and gate is not None:
        raise InputError("--gate and --no-gate can't be combined; use one of them")

    from surefind.adapters.sources.website.http import CrawlOptions
    from surefind.bootstrap import IngestRequest

    urls = [source for source in sources or () if source.startswith(("http://", "https://"))]
    request = IngestRequest(
        paths=[source for source in sources or () if source not in urls],
        sites=[*urls, *(site or ())],
        crawl=CrawlOptions(
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            max_pages=max_pages,
            delay_s=delay,
        ),
        rebuild=rebuild,
        allow_shrink=allow_shrink,
        check_links=check_links,
        dry_run=dry_run,
        max_cost=max_cost,
        gate="" if no_gate else gate,
        gate_strict=gate_strict,
        update=update,
        include=include or None,
        exclude=exclude or None,
    )

    async def work(application: "Application") -> "IngestReport":
        with progress_display() as progress:
            return await application.ingesting.ingest(request, progress)

    try:
        report = run(work, collection=collection, data_dir=data_dir, base_url=base_url)
    except KeyboardInterrupt:
        note("stopped; nothing was published. Finished embeddings are cached for the next run")
        raise
    if as_json:
        from surefind.interfaces.json_output.ingest import ingest_json

        show_json(ingest_json(report))
    else:
        show(plan(report) if dry_run else summary(report))
    code = _exit_code(report)
    if code:
        raise typer.Exit(code)


def _exit_code(report: "IngestReport") -> int:
    if report.gate is not None and report.gate.held and report.gate.verdict != "fail":
        return INCONCLUSIVE
    return FAILED if report.failures or (report.gate is not None and report.gate.held) else 0


def plan(report: "IngestReport") -> str:
    """The changes that a run would make, page by page."""
    lines = [f"{report.collection}: dry run, nothing was changed; a run would process"]
    lines.append(f"  pages    {_counts(report)}")
    new = f"{report.new_chunks} new or changed, {report.new_tokens} tokens"
    lines.append(f"  chunks   {report.chunks} in the catalog, {new}")
    lines += _cost(report)
    for verb, paths in (
        ("added", report.added_pages),
        ("changed", report.changed_pages),
        ("removed", report.removed_pages),
    ):
        lines += [f"  {verb:<8} {path}" for path in paths]
    if report.gate is not None:
        count = "1 test" if report.gate.tests == 1 else f"{report.gate.tests} tests"
        lines.append(f"  gate     would run {count} from {report.gate.golden} before publishing")
    return "\n".join(lines + _notes(report))


def summary(report: "IngestReport") -> str:
    """What changed, the collection's new size, and problems to check."""
    lines = [
        _headline(report),
        f"  pages    {_counts(report)}",
        f"  chunks   {report.chunks} in the catalog, {report.index_points} in the index",
        f"  vectors  {report.embedded} embedded, {report.from_cache} from the cache",
    ]
    lines += _cost(report)
    if report.replication is not None:
        lines.append(f"  replicas {report.replication}")
    if report.pruned:
        numbers = ", ".join(map(str, report.pruned))
        lines.append(f"  removed  old generations {numbers}")
    if report.gate is not None:
        lines += gate_lines(report.gate)
        if report.gate.held:
            command = f"surefind generations publish {report.gate.generation}"
            lines.append(f"  publish  to publish it anyway, run `{command}`")
    return "\n".join(lines + _notes(report))


def _headline(report: "IngestReport") -> str:
    spent = f"{report.seconds:.1f} s"
    if report.published:
        return f"{report.collection}: generation {report.generation} published in {spent}"
    current = (
        f"generation {report.generation} stays current"
        if report.generation
        else "no generation is published yet"
    )
    change = "nothing changed"
    if report.gate is not None:
        change = f"generation {report.gate.generation} held back"
    return f"{report.collection}: {change}, {current} ({spent})"


_VERDICTS = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive"}


def gate_lines(gate: "GateResult") -> list[str]:
    """The gate's verdict, its reasons and the failed tests."""
    passed = f"{gate.passed} of {gate.tests} passed"
    lines = [f"  gate     {_VERDICTS[gate.verdict]}: {passed} ({gate.golden})"]
    lines += [f"           {reason}" for reason in gate.reasons]
    if gate.comparison:
        lines += [f"           {line}" for line in gate.comparison]
    elif gate.compared_with is not None:
        lines.append(f"           compared with generation {gate.compared_with}")
    elif gate.not_compared:
        lines.append(f"           not compared: {gate.not_compared}")
    lines += [f"           warning: {warning}" for warning in gate.warnings]
    for test in gate.failed:
        cause = ": ".join(filter(None, (test.cause.replace("_", " "), test.message)))
        lines.append(f"  {test.outcome:<8} {test.test_id}: {test.query_text}")
        lines.append(f"           {cause}")
    return lines


def _cost(report: "IngestReport") -> list[str]:
    cost = report.cost
    if cost is None:
        return []
    amount = (
        f"about {cost.amount:.4f}" if cost.amount >= _SMALLEST_COST_SHOWN else "less than 0.0001"
    )
    price = f"{cost.price_per_million_tokens:g} per million"
    return [f"  cost     {amount} for about {cost.tokens} tokens at {price}"]


def _counts(report: "IngestReport") -> str:
    counts = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "skipped": len(report.left_out),
        "failed": len(report.failures),
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def _left_out(notes: "Sequence[PageFailure]") -> list[str]:
    """Many pages that are skipped for one reason, such as the posts of a blog, take one line."""
    places: dict[str, list[str]] = {}
    for one in notes:
        places.setdefault(one.reason, []).append(one.source_path)
    lines = []
    for reason, paths in places.items():
        if len(paths) > _MOST_SKIPPED_SHOWN:
            lines.append(f"  skipped  {len(paths)} pages such as {paths[0]}: {reason}")
        else:
            lines += [f"  skipped  {path}: {reason}" for path in paths]
    return lines


def _notes(report: "IngestReport") -> list[str]:
    lines = [f"  empty    {path}: contains no text" for path in report.empty_pages]
    lines += _left_out(report.left_out)
    for verb, notes in (("warning", report.warnings), ("failed", report.failures)):
        lines += [f"  {verb:<8} {note.source_path}: {note.reason}" for note in notes]
    if report.unread:
        count = sum(report.unread.values())
        formats = ", ".join(f"{number} {name}" for name, number in report.unread.items())
        files = "1 file" if count == 1 else f"{count} files"
        lines.append(f"  skipped  {files}: {formats}; see {DOCUMENTATION}what-surefind-reads/")
    if report.broken_links is not None:
        lines.append(f"  links    {len(report.broken_links) or 'none'} broken")
        lines += [f"  {line}" for line in broken_lines(report.broken_links)]
    return lines
