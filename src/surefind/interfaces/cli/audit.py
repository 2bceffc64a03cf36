"""`surefind audit`: is the data whole?"""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.audit import AuditReport, Finding


def audit(collection: Collection = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Read every point once, and say what is missing, broken, or there twice.

    Exit codes: 0 nothing is wrong, 1 problems were found, 2 the caller's mistake, 4 a store is
    away.
    """
    from surefind.interfaces.failures import FAILED
    from surefind.services.building import Progress

    with progress_display() as display:

        async def work(application: "Application") -> "AuditReport":
            return await application.audit(
                lambda done, total: display(Progress("audited", done, total))
            )

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
        show("nothing is wrong")


def _line(finding: "Finding") -> str:
    count = f"{finding.count} " if finding.count else ""
    return f"{finding.gravity.value:<10}{count}{finding.message}"


def _report_json(report: "AuditReport") -> dict[str, object]:
    return {
        "collection": report.collection,
        "points": report.points,
        "read": report.read,
        "sound": report.sound,
        "findings": [
            {
                "check": finding.check,
                "gravity": finding.gravity.value,
                "count": finding.count,
                "message": finding.message,
                "examples": list(finding.examples),
            }
            for finding in report.findings
        ],
        "seconds": round(report.seconds, 3),
    }
