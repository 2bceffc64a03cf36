"""Runs golden tests on a target, and saves how its results are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from surefind.interfaces.cli.console import note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from surefind.bootstrap import Application
    from surefind.bootstrap.targets import OpenedTarget
    from surefind.evaluation.golden.golden_set import GoldenSet
    from surefind.evaluation.report.report import Report
    from surefind.services.validation.run_request import RunRequest
    from surefind.services.validation.test_session import CountProgress


def refuse_with_target(given: Mapping[str, bool]) -> None:
    """Refuse options that need surefind's own index."""
    from surefind.errors import InputError

    wrong = [option for option, is_given in given.items() if is_given]
    if wrong:
        options = " and ".join(wrong)
        raise InputError(
            f"{options} can't be combined with --target, whose index is out of reach; "
            "for a collection of surefind, use --collection, or --target surefind:NAME?mode=lexical"
        )


async def validated_target(
    application: Application,
    target: str,
    golden: GoldenSet,
    request: RunRequest,
    progress: CountProgress,
    save_as: Path | None,
) -> Report:
    from surefind.bootstrap.targets import read_spec

    def show(opened: OpenedTarget) -> None:
        show_inference(opened)
        if save_as is not None:
            save_target(save_as, opened)

    return await application.validation.validate_target(
        golden, read_spec(target), request, progress, opened_one=show
    )


def show_inference(opened: OpenedTarget) -> None:
    """Show which keys the results are read from, and why."""
    if opened.inference is None:
        return
    note(f"{opened.spec.label}: the results are read from")
    for line in opened.inference.evidence:
        note(f"  {line}")


def save_target(path: Path, opened: OpenedTarget) -> None:
    from surefind.adapters.files.golden_files import write_golden
    from surefind.evaluation.targets.target_file import target_text

    write_golden(path, target_text(opened.spec).encode(), is_new=True)
    note(f"saved as {path}; use --target {path} from now on")
