"""`surefind audit`: check every stored point."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.maintenance.audit_report import AuditFinding, AuditReport

EXAMPLES = examples(
    "surefind audit",
    "surefind audit --collection pages --all",
    page="commands/audit/",
)


def audit(
    collection: Collection = None,
    certainty: Annotated[
        float,
        typer.Option(
            metavar="0..1",
            help="Probability of detecting vectors from another model; sets how many texts are "
            "re-embedded. 0 re-embeds none.",
        ),
    ] = 0.95,
    share: Annotated[
        float, typer.Option(metavar="0..1", help="The smallest share of such vectors to detect.")
    ] = 0.01,
    all_vectors: Annotated[
        bool, typer.Option("--all", help="Re-embed every text instead of a sample.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check every stored point, and report missing or damaged data.

    Reads all points, and re-embeds a sample of the texts to verify their vectors.

    Exit codes: 0 no problems found, 1 problems found, 2 invalid input, 4 a store is unavailable.
    """
    from surefind.interfaces.failures import FAILED
    from surefind.services.maintenance.audit import AuditOptions

    options = AuditOptions(certainty, share, all_vectors)
    with progress_display() as display:

        async def work(application: "Application") -> "AuditReport":
            return await application.maintenance.audit(options, display)

        report = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json(_report_json(report))
    else:
        _show(report)
    if not report.sound:
        raise typer.Exit(FAILED)


def _show(report: "AuditReport") -> None:
    show(f"{report.collection}: {report.read} points read in {report.seconds:.1f} s")
    for finding in report.findings:
        show(_line(finding))
        for example in finding.examples:
            show(f"{'':<10}{example}")
    if report.sound:
        checked = report.vectors is not None
        show("no problems found" + ("" if checked else "; the vectors were not checked"))


def _line(finding: "AuditFinding") -> str:
    count = f"{finding.count} " if finding.count else ""
    return f"{finding.severity.value:<10}{count}{finding.message}"


def _report_json(report: "AuditReport") -> dict[str, object]:
    from surefind.interfaces.cli.maintenance.connected_json import origins_json

    return {
        "collection": report.collection,
        "points": report.points,
        "read": report.read,
        "sound": report.sound,
        "findings": [
            {
                "check": finding.check,
                "gravity": finding.severity.value,
                "count": finding.count,
                "message": finding.message,
                "examples": list(finding.examples),
            }
            for finding in report.findings
        ],
        "vectors": origins_json(report.vectors),
        "seconds": round(report.seconds, 3),
    }
