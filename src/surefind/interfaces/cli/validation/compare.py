"""`surefind compare`: the same questions for two or more retrievers, side by side."""

import json
from dataclasses import dataclass
from pathlib import Path
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
from surefind.interfaces.cli.validation.judging_options import Qrels, TopK
from surefind.interfaces.cli.validation.report_files import ReportFiles, files_read
from surefind.interfaces.cli.validation.stopping import StopRequest, stop_request
from surefind.interfaces.cli.validation.targets import show_inference

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.golden.golden_set import GoldenSet
    from surefind.evaluation.report.report import Report
    from surefind.evaluation.report.side_by_side import SideBySide
    from surefind.services.validation.run_request import RunRequest
    from surefind.services.validation.test_session import CountProgress

EXAMPLES = examples(
    "surefind compare surefind:docs mcp:'uvx docs-server' golden.yaml",
    "surefind compare 'surefind:?mode=dense' 'surefind:?mode=hybrid' golden.yaml",
    "surefind compare before.json after.json",
    page="commands/compare/",
)


def compare(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET... [GOLDEN]",
            help="Two to eight targets, as for `validate --target`, or reports saved by `validate "
            "--save-baseline`; then the golden tests. Saved reports alone need no tests.",
            show_default=False,
        ),
    ],
    top_k: TopK = None,
    qrels: Qrels = None,
    concurrency: Annotated[
        int,
        typer.Option(
            metavar="1..64",
            help="Number of questions at the same time; more blur the latencies.",
        ),
    ] = 1,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison as Markdown.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the comparison as a single HTML page.")
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compare the results of several retrievers.

    Exit codes: 0 compared, 2 invalid input, 3 nothing to compare or stopped early, 4 a target is
    unavailable, 130 or 143 interrupted before the first question.
    """
    from surefind.evaluation.report.side_by_side import side_by_side
    from surefind.services.validation.run_request import RunRequest

    wanted = _wanted(arguments, qrels)
    files = ReportFiles(markdown=markdown, html=html)
    with stop_request() as stop:
        inputs = files_read(wanted.golden, qrels, None)
        for path in wanted.files:
            inputs += files_read(None, None, path)
        files.check(inputs)
        request = RunRequest(top_k=top_k, concurrency=concurrency, stop_requested=stop.is_made)
        result = side_by_side(_reports(wanted, request, collection, data_dir, stop))
        _write(result, files, as_json=as_json)
    raise typer.Exit(_exit_code(result))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Targets in order, each with its saved report if it is one."""

    targets: tuple[tuple[str, "Report | None"], ...]
    golden: Path | None
    qrels: Path | None

    @property
    def files(self) -> list[Path]:
        return [Path(one) for one, _ in self.targets if Path(one).is_file()]


def _wanted(arguments: list[str], qrels: Path | None) -> _Wanted:
    from surefind.errors import InputError
    from surefind.evaluation.report.side_by_side import MAX_SIDES

    known = [(one, _saved_report(one)) for one in arguments]
    is_saved = all(report is not None for _, report in known)
    targets = known if is_saved else known[:-1]
    if not 2 <= len(targets) <= MAX_SIDES:
        raise InputError(
            f"compare needs 2 to {MAX_SIDES} targets and then a file of golden tests, not "
            f"{len(targets)} targets; `surefind compare --help` has examples"
        )
    if not is_saved and known[-1][1] is not None:
        raise InputError(
            f"{arguments[-1]} is a saved report, but the last argument must be the golden tests"
        )
    return _Wanted(tuple(targets), None if is_saved else Path(arguments[-1]), qrels)


def _saved_report(written: str) -> "Report | None":
    """A saved report; None for everything else, such as golden tests in JSON."""
    from surefind.interfaces.cli.validation.report_files import content_of
    from surefind.interfaces.reports.json_report import read_report

    path = Path(written)
    if path.suffix.casefold() != ".json" or not path.is_file():
        return None
    content = content_of(path)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or "schema" not in values:
        return None
    return read_report(written, content)


def _reports(
    wanted: _Wanted,
    request: "RunRequest",
    collection: str | None,
    data_dir: str | None,
    stop: StopRequest,
) -> "list[Report]":
    from surefind.services.generations.index_building import Progress

    saved = [report for _, report in wanted.targets if report is not None]
    if wanted.golden is None:
        return saved
    with progress_display() as display:

        def show_progress(done: int, total: int) -> None:
            display(Progress("compared", done, total))

        async def work(application: "Application") -> "list[Report]":
            with stop.cancels_this_task():
                golden = await application.validation.golden(wanted.golden, wanted.qrels)
                return await _asked(application, wanted, golden, request, show_progress)

        return run(work, collection=collection, data_dir=data_dir)


async def _asked(
    application: "Application",
    wanted: _Wanted,
    golden: "GoldenSet",
    request: "RunRequest",
    progress: "CountProgress",
) -> "list[Report]":
    """Saved reports stay as they are; all other targets are asked in turn."""
    from surefind.bootstrap.targets import read_spec

    sides = [report or read_spec(one) for one, report in wanted.targets]
    return await application.validation.compare_targets(
        sides, golden, request, progress, show_inference
    )


def _write(result: "SideBySide", files: ReportFiles, *, as_json: bool) -> None:
    from importlib.metadata import version

    from surefind.interfaces.cli.validation.report_files import save
    from surefind.interfaces.reports.side_by_side import (
        side_by_side_json,
        side_by_side_markdown,
        side_by_side_terminal,
    )

    if as_json:
        show_json(side_by_side_json(result))
    else:
        show(side_by_side_terminal(result))
    if files.markdown is not None:
        save(files.markdown, side_by_side_markdown(result))
    if files.html is not None:
        from surefind.interfaces.reports.html.side_by_side import side_by_side_page

        save(files.html, side_by_side_page(result, version("surefind")))


def _exit_code(result: "SideBySide") -> int:
    from surefind.interfaces.failures import INCONCLUSIVE, UNAVAILABLE

    if result.store_away:
        return UNAVAILABLE
    return INCONCLUSIVE if result.interrupted else 0
