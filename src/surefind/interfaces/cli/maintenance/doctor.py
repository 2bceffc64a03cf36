"""`surefind doctor`: check an installation, and repair it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.errors import InputError
from surefind.interfaces.cli.console import (
    AsJson,
    DataDir,
    confirm,
    note,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples
from surefind.interfaces.failures import FAILED, UNAVAILABLE

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.generations.index_building import ReportProgress
    from surefind.services.maintenance.doctor_findings import CheckFinding, Examination, Repair

_LABELS = {"fine": "ok", "warning": "warning", "problem": "PROBLEM"}

EXAMPLES = examples(
    "surefind doctor",
    "surefind doctor --repair",
    page="commands/doctor/",
)


def doctor(
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="List the available repairs, and apply them after confirmation."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Apply the repairs without asking.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Count the stored data instead of reading all of it."),
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check that all stores and services work, and repair them.

    Reads every generation and the embedding cache. Without --repair, nothing is changed.
    """
    if repair:
        _repair_format(data_dir)
    with progress_display() as report:
        findings, examination = run(
            lambda application: _examine(application, report, quick=quick), data_dir=data_dir
        )
    if as_json:
        show_json(_as_json(findings, examination))
    else:
        _show(findings, examination)
    repairs = examination.repairs
    if repair and repairs:
        if not (yes or _confirmed(repairs)):
            note("nothing was changed")
        else:
            with progress_display() as report:
                run(lambda application: _repair(application, repairs, report), data_dir=data_dir)
                _, examination = run(
                    lambda application: _examine(application, report, quick=quick),
                    data_dir=data_dir,
                )
    elif repairs and not as_json:
        note("run `surefind doctor --repair` to apply the repairs; it asks for confirmation first")
    if examination.unavailable:
        raise typer.Exit(UNAVAILABLE)
    if not examination.sound:
        raise typer.Exit(FAILED)


async def _examine(
    application: "Application", report: "ReportProgress", *, quick: bool
) -> tuple[list["CheckFinding"], "Examination"]:
    from surefind.services.maintenance.doctor_findings import (
        CheckFinding,
        CheckSeverity,
        Examination,
    )

    try:
        examination = await application.maintenance.examiner().examine(report, quick=quick)
    except InputError as error:  # a server is configured that surefind can't use
        finding = CheckFinding("stores", CheckSeverity.PROBLEM, str(error))
        examination = Examination((finding,), ())
    return [*application.maintenance.surroundings(), *examination.findings], examination


def _repair_format(data_dir: str | None) -> None:
    """Runs first, because the application can't open a folder in an outdated format."""
    from surefind.bootstrap.maintenance import repair_format
    from surefind.settings import load

    for repair in repair_format(load(data_dir=data_dir)):
        note(f"done: {repair}")


async def _repair(
    application: "Application", repairs: list["Repair"], report: "ReportProgress"
) -> None:
    repairer = application.maintenance.repairer()
    for repair in repairs:
        await repairer.repair(repair, report)
        note(f"done: {repair}")


def _confirmed(repairs: list["Repair"]) -> bool:
    for repair in repairs:
        note(f"to do: {repair}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        note("there is no terminal to ask for confirmation; add --yes to repair without asking")
        return False
    return confirm("Apply these repairs?", default=False)


def _show(findings: list["CheckFinding"], examination: "Examination") -> None:
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        show(f"{_LABELS[finding.severity]:<8} {finding.subject:<{width}}  {finding.message}")
    if examination.generations:
        show("")
        show("  generation                 catalog     index")
    for state in examination.generations:
        mark = "*" if state.current else " "
        indexed = "present" if state.indexed else "missing"
        show(f"{mark} {state.ref!s:<25}  {state.cataloged:<10}  {indexed}")


def _as_json(findings: list["CheckFinding"], examination: "Examination") -> dict[str, object]:
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
                "collection": state.ref.collection,
                "generation": state.ref.number,
                "catalog": state.cataloged,
                "index": state.indexed,
                "current": state.current,
            }
            for state in examination.generations
        ],
    }
