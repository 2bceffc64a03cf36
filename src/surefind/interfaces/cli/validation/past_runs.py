"""`surefind validate --history`: list earlier runs and their trends."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.interfaces.cli.console import note, run, show, show_json

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.report.past_runs import PastRun

DEFAULT_SHOWN = 20


def show_history(
    file: Path | None,
    qrels: Path | None,
    number: int,
    target: str | None,
    collection: str | None,
    data_dir: str | None,
    *,
    as_json: bool,
) -> None:
    """Show the latest `number` runs, only those of `file` and on `target` if given."""
    from surefind.bootstrap.targets import read_spec

    label = "" if target is None else read_spec(target).label

    async def work(application: "Application") -> "tuple[Sequence[PastRun], Sequence[str]]":
        name = "" if label else application.settings.collection
        runs, damaged = await application.validation.history.runs(name)
        if label:
            runs = [one for one in runs if one.target == label]
        elif not runs and not damaged:
            await application.generations.list()  # raises if the collection does not exist
        if file is not None:
            digest = (await application.validation.golden(file, qrels)).digest
            runs = [one for one in runs if one.golden_digest == digest]
        return runs[-number:], damaged

    runs, damaged = run(work, collection=collection, data_dir=data_dir)
    for line in damaged:
        note(f"skipped an unreadable record of an earlier run: {line}")
    if as_json:
        from surefind.interfaces.reports.past_runs import history_json

        show_json(history_json(runs))
    elif runs:
        from surefind.interfaces.reports.past_runs import history_text

        show(history_text(runs))
    else:
        show(_nothing(file, damaged))


def _nothing(file: Path | None, damaged: Iterable[str]) -> str:
    if any(True for _ in damaged):
        return "no readable runs"
    of_file = f" of {file}" if file is not None else ""
    return f"no runs{of_file} yet; `surefind validate` records one"
