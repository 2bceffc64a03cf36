"""`surefind doctor`: are the parts there, and do they fit?"""

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
    from surefind.services.building import Report
    from surefind.services.doctor import Examination, Finding, Repair

_MARKS = {"fine": "ok", "warning": "warning", "problem": "PROBLEM"}


def doctor(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Bring index and catalog together again, after asking."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Repair without asking.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Look whether everything is reachable and configured, and whether index and catalog agree.

    Nothing is changed, unless --repair is given: then what can be put right is listed, and done
    once you agree.
    """
    findings, examination = run(_look, data_dir=data_dir)
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
            _, examination = run(_look, data_dir=data_dir)
    elif repairs and not as_json:
        note("`surefind doctor --repair` puts right what can be put right")
    if examination.away:
        raise typer.Exit(AWAY)
    if not examination.sound:
        raise typer.Exit(FAILED)


async def _look(application: "Application") -> tuple[list["Finding"], "Examination"]:
    from surefind.bootstrap.examining import doctor_of, surroundings

    examination = await doctor_of(application).examine()
    return [*surroundings(application), *examination.findings], examination


async def _repair(application: "Application", repairs: list["Repair"], report: "Report") -> None:
    from surefind.bootstrap.examining import doctor_of

    doctor = doctor_of(application, repairing=True)
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


def _show(findings: list["Finding"], examination: "Examination") -> None:
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        show(f"{_MARKS[finding.gravity]:<8} {finding.subject:<{width}}  {finding.message}")
    if examination.sides:
        show("")
        show("  collection and generation  catalog     index")
    for side in examination.sides:
        mark = "*" if side.current else " "
        held = "there" if side.indexed else "missing"
        show(f"{mark} {side.ref!s:<25}  {side.cataloged:<10}  {held}")


def _facts(findings: list["Finding"], examination: "Examination") -> dict[str, object]:
    return {
        "sound": examination.sound,
        "findings": [
            {
                "subject": finding.subject,
                "gravity": finding.gravity.value,
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
