"""`surefind ingest`: documentation in, the next generation out."""

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
from surefind.interfaces.failures import FAILED, INCONCLUSIVE

_LEAST_SHOWN = 0.0001

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import GateResult, IngestReport


def ingest(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Folders of documentation, or single pages.", show_default=False),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(help="A website to crawl, by the address of its documentation."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Crawl only paths that match, such as 'guide/**'."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out paths that match, such as 'old/**'.")
    ] = None,
    max_pages: Annotated[int, typer.Option(min=1, help="The most pages of a website.")] = 5000,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds between two requests to a website.")
    ] = 0.0,
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    check_links: Annotated[
        bool, typer.Option("--check-links", help="List links between pages that lead nowhere.")
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="Embed nothing if that would cost more, in the currency of the price."
        ),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="Golden tests that must pass on the new state before it is published.",
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
        bool, typer.Option("--no-gate", help="Publish without the gate that the settings name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Turn documentation into a searchable collection.

    Only what changed is read and embedded again. Searches go on meanwhile, on what was there
    before; the new state appears all at once, or, if anything goes wrong, not at all.
    """
    if no_gate and gate is not None:
        raise InputError("--gate and --no-gate: give one of the two")

    from surefind.adapters.sources.website.http import CrawlOptions
    from surefind.bootstrap import IngestRequest

    request = IngestRequest(
        paths=sources or (),
        sites=site or (),
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
    )

    async def work(application: "Application") -> "IngestReport":
        with progress_display() as progress:
            return await application.ingesting.ingest(request, progress)

    try:
        report = run(work, collection=collection, data_dir=data_dir, base_url=base_url)
    except KeyboardInterrupt:
        note(
            "stopped; nothing was published, and what was embedded so far is kept for the next run"
        )
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
    """What a run would do, page by page."""
    lines = [f"{report.collection}: nothing was changed; a run would find"]
    lines.append(f"  pages    {_counts(report)}")
    lines.append(f"  chunks   {report.new_chunks} new or changed, {report.new_tokens} tokens")
    lines += _cost(report)
    for verb, paths in (
        ("added", report.added_pages),
        ("changed", report.changed_pages),
        ("removed", report.removed_pages),
    ):
        lines += [f"  {verb:<8} {path}" for path in paths]
    if report.gate is not None:
        count = "1 test" if report.gate.tests == 1 else f"{report.gate.tests} tests"
        lines.append(f"  gate     {count} of {report.gate.golden} would be run before publishing")
    return "\n".join(lines + _notes(report))


def summary(report: "IngestReport") -> str:
    """What changed, what is there now, what needs a look."""
    if report.published:
        head = f"{report.collection}: generation {report.generation} published"
    elif report.gate is not None:
        stays = f"generation {report.generation} stays" if report.generation else "there is none"
        head = f"{report.collection}: generation {report.gate.generation} held back, {stays}"
    else:
        head = f"{report.collection}: nothing changed, generation {report.generation} stays"
    lines = [
        f"{head} in {report.seconds:.1f} s",
        f"  pages    {_counts(report)}",
        f"  chunks   {report.chunks} in the catalog, {report.index_points} in the index",
        f"  vectors  {report.embedded} embedded, {report.from_cache} from the cache",
    ]
    lines += _cost(report)
    if report.pruned:
        numbers = ", ".join(map(str, report.pruned))
        lines.append(f"  removed  old generations {numbers}")
    if report.gate is not None:
        lines += gate_lines(report.gate)
        if report.gate.held:
            command = f"surefind generations publish {report.gate.generation}"
            lines.append(f"  publish  `{command}` shows it to readers all the same")
    return "\n".join(lines + _notes(report))


_VERDICTS = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive"}


def gate_lines(gate: "GateResult") -> list[str]:
    """What golden tests said before publishing, and what can be done about it."""
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
        why = ": ".join(filter(None, (test.cause.replace("_", " "), test.message)))
        lines.append(f"  {test.outcome:<8} {test.test_id}: {test.query_text}")
        lines.append(f"           {why}")
    return lines


def _cost(report: "IngestReport") -> list[str]:
    """Nothing for an embedder that costs nothing."""
    cost = report.cost
    if cost is None:
        return []
    amount = f"about {cost.amount:.4f}" if cost.amount >= _LEAST_SHOWN else "less than 0.0001"
    price = f"{cost.price_per_million_tokens:g} per million"
    return [f"  cost     {amount}, for about {cost.tokens} tokens at {price}"]


def _counts(report: "IngestReport") -> str:
    counts = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "left out": len(report.left_out),
        "failed": len(report.failures),
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def _notes(report: "IngestReport") -> list[str]:
    lines = [f"  empty    {path}: it holds no text" for path in report.empty_pages]
    for verb, notes in (
        ("left out", report.left_out),
        ("warning", report.warnings),
        ("failed", report.failures),
    ):
        lines += [f"  {verb:<8} {note.source_path}: {note.reason}" for note in notes]
    if report.broken_links is not None:
        lines.append(f"  links    {len(report.broken_links) or 'none'} broken")
        lines += [f"  {line}" for line in broken_lines(report.broken_links)]
    return lines
