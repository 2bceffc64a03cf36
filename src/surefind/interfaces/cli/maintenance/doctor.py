"""`surefind doctor`: are the parts there, do they fit, and is everything as it was written?"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    DataDir,
    asked,
    note,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.failures import AWAY, FAILED

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.maintenance.doctor import CheckFinding, Examination, Repair

_MARKS = {"fine": "ok", "warning": "warning", "problem": "PROBLEM"}


def doctor(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Repair what is damaged from what is whole, after asking."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Repair without asking.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Count what the stores hold instead of reading it all.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check that everything is reachable, configured and as it was written.

    All generations and the embedding cache are read once. Nothing is changed unless you give
    --repair: then it lists what can be repaired, and does so once you agree.
    """
    if repair:
        _repair_format(data_dir)
    with progress_display() as report:
        findings, examination = run(
            lambda application: _look(application, report, quick=quick), data_dir=data_dir
        )
    if as_json:
        show_json(_facts(findings, examination))
    else:
        _show(findings, examination)
    repairs = examination.repairs
    if repair and repairs:
        if not (yes or _agreed(repairs)):
            note("nothing was changed")
        else:
            with progress_display() as report:
                run(lambda application: _repair(application, repairs, report), data_dir=data_dir)
                _, examination = run(
                    lambda application: _look(application, report, quick=quick), data_dir=data_dir
                )
    elif repairs and not as_json:
        note("`surefind doctor --repair` repairs what can be repaired")
    if examination.away:
        raise typer.Exit(AWAY)
    if not examination.sound:
        raise typer.Exit(FAILED)


async def _look(
    application: "Application", report: "ReportProgress", *, quick: bool
) -> tuple[list["CheckFinding"], "Examination"]:
    examination = await application.maintenance.doctor().examine(report, quick=quick)
    return [*application.maintenance.surroundings(), *examination.findings], examination


def _repair_format(data_dir: str | None) -> None:
    """Before all else: nothing works in a folder whose format can't be read."""
    from surefind.bootstrap.maintenance import repair_format
    from surefind.settings import load

    for done in repair_format(load(data_dir=data_dir)):
        note(f"done: {done}")


async def _repair(
    application: "Application", repairs: list["Repair"], report: "ReportProgress"
) -> None:

    doctor = application.maintenance.doctor(repairing=True)
    for one in repairs:
        await doctor.repair(one, report)
        note(f"done: {one}")


def _agreed(repairs: list["Repair"]) -> bool:
    for one in repairs:
        note(f"to do: {one}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        note("nobody can be asked here; with --yes it is done without asking")
        return False
    return asked("Do all of that?", default=False)


def _show(findings: list["CheckFinding"], examination: "Examination") -> None:
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        show(f"{_MARKS[finding.severity]:<8} {finding.subject:<{width}}  {finding.message}")
    if examination.sides:
        show("")
        show("  collection and generation  catalog     index")
    for side in examination.sides:
        mark = "*" if side.current else " "
        held = "there" if side.indexed else "missing"
        show(f"{mark} {side.ref!s:<25}  {side.cataloged:<10}  {held}")


def _facts(findings: list["CheckFinding"], examination: "Examination") -> dict[str, object]:
    return {
        "sound": examination.sound,
        "findings": [
            {
                "subject": finding.subject,
                "gravity": finding.severity.value,
                "message": finding.message,
                "repair": str(finding.repair) if finding.repair else None,
            }
            for finding in findings
        ],
        "generations": [
            {
                "collection": side.ref.collection,
                "generation": side.ref.number,
                "catalog": side.cataloged,
                "index": side.indexed,
                "current": side.current,
            }
            for side in examination.sides
        ],
    }
