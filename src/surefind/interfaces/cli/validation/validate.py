"""`surefind validate`: is retrieval right, whole and fast."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    note,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.validation.past_runs import DEFAULT_SHOWN, show_history
from surefind.interfaces.cli.validation.report_files import ReportFiles, content_of, files_read
from surefind.interfaces.cli.validation.stopping import StopRequest, stop_request
from surefind.interfaces.cli.validation.validate_options import (
    Calibrate,
    Duration,
    ExtraOptions,
    FalseAcceptCost,
    Force,
    Generation,
    IndexRecallOption,
    RateOption,
    TestsOut,
)
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.golden.golden_set import GoldenSet
    from surefind.evaluation.report.report import Report
    from surefind.interfaces.reports.html import ReportExtras
    from surefind.services.validation.validate import ValidateOptions


def validate(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Golden tests (.yaml, .json, .jsonl), questions (.txt), a BEIR folder, or topics. "
            "Without it, the collection's own headings are asked for.",
            show_default=False,
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "-k", help="How many results count. [default: the file's, or 5]"),
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="How to search. [default: the file's, or hybrid]")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="TREC judgements; the file then holds the topics.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Compare with the report that was saved here.")
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Save the report here, to compare later runs with.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the report as Markdown, for a pull request.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write the report as JUnit XML, for continuous integration.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the report as one page of HTML, to look around in.")
    ] = None,
    trec_out: Annotated[
        Path | None,
        typer.Option(help="Write run.txt and qrels.txt for trec_eval into this folder."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(help="How many questions are asked at a time, 1 to 64.")
    ] = 8,
    duration: Duration = None,
    rate: RateOption = None,
    index_recall: IndexRecallOption = False,
    calibrate: Calibrate = False,
    force: Force = False,
    false_accept_cost: FalseAcceptCost = 1.0,
    generation: Generation = None,
    tests_out: TestsOut = None,
    history: Annotated[
        bool,
        typer.Option("--history", help="Ask nothing: list earlier runs, of FILE if given."),
    ] = False,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="With --history: how many runs are listed.")
    ] = DEFAULT_SHOWN,
    no_history: Annotated[
        bool, typer.Option("--no-history", help="Do not keep this run for --history.")
    ] = False,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Ask questions, judge the answers, and report.

    Exit codes: 0 passed, 1 failed or worse than the baseline, 2 the caller's mistake,
    3 inconclusive, not comparable, stopped early or no queries, 4 a store or service is
    unavailable, 130 or 143 stopped before the first question, after the last one, or twice.
    """
    from surefind.errors import InputError

    if qrels is not None and file is None:
        raise InputError("--qrels: name the file of topics that it judges")
    files = ReportFiles(markdown, junit, html, trec_out, save_baseline, tests_out)
    if history:
        if not files.is_empty or baseline is not None:
            raise InputError("--history asks nothing, so there is no report to write or compare")
        show_history(file, qrels, number, collection, data_dir, as_json=as_json)
        return
    further = ExtraOptions(
        duration, rate, index_recall, calibrate, force, false_accept_cost, generation
    )
    with stop_request() as stop:
        files.check(files_read(file, qrels, baseline))
        before = None if baseline is None else _read_baseline(baseline)
        further.check()
        kept, with_passages = not no_history, html is not None
        wanted = _ValidateRequest(
            file, qrels, top_k, mode, concurrency, before, further, kept, with_passages
        )
        done = _run(wanted, collection, data_dir, stop)
        _write(done, files, stop, as_json=as_json)
    raise typer.Exit(further.exit_code(_exit_code(done.report)))


@dataclass(frozen=True, slots=True)
class _ValidateRequest:
    """What a run is asked for; `with_passages` where somebody will read them."""

    file: Path | None
    qrels: Path | None
    top_k: int | None
    mode: Mode | None
    concurrency: int
    baseline: "Report | None"
    further: ExtraOptions
    is_kept: bool
    with_passages: bool


@dataclass(frozen=True, slots=True)
class _Done:
    report: "Report"
    beside: "ReportExtras | None"


def _run(
    wanted: _ValidateRequest, collection: str | None, data_dir: str | None, stop: StopRequest
) -> _Done:
    from surefind.evaluation.report.comparison import beside_baseline
    from surefind.services.generations.index_building import Progress
    from surefind.services.validation.validate import ValidateOptions

    with progress_display() as display:

        async def work(application: "Application") -> _Done:
            with stop.cancels_this_task():
                return await validated(application)

        async def validated(application: "Application") -> _Done:
            golden = await application.golden(wanted.file, wanted.qrels)
            options = ValidateOptions(
                application.settings.collection, wanted.top_k, wanted.mode, wanted.concurrency
            )
            further = wanted.further
            options = replace(further.added_to(options), stop_requested=stop.is_made)
            if wanted.baseline is not None:
                _check_baseline(wanted.baseline, golden, options)
            report = await application.validate(
                golden,
                options,
                lambda done, total: display(Progress("validated", done, total)),
                further.generation,
            )
            _require_finished(report, stop)
            await further.learn(application, report)
            if wanted.baseline is not None:
                report = beside_baseline(wanted.baseline, report)
            _require_finished(report, stop)
            if wanted.is_kept:
                await _keep(application, report)
            beside = None
            if wanted.with_passages:
                beside = await _beside(application, report, further.generation)
            return _Done(report, beside)

        return run(work, collection=collection, data_dir=data_dir)


def _write(done: _Done, files: ReportFiles, stop: StopRequest, *, as_json: bool) -> None:
    """A stop in the middle of the baseline waits until it is whole: half of one is no use."""
    from surefind.interfaces.reports.json_report import report_json

    report = done.report
    with stop.raises_at_once():
        _require_finished(report, stop)
        if as_json:
            show_json(report_json(report))
        else:
            from surefind.interfaces.reports.terminal import terminal

            show(terminal(report))
        files.write(report, done.beside)
    _require_finished(report, stop)
    files.write_baseline(report)
    _require_finished(report, stop)


def _require_finished(report: "Report", stop: StopRequest) -> None:
    """A report says itself that its run was stopped; later stops end the command."""
    if not report.interrupted:
        stop.check()


def _read_baseline(path: Path) -> "Report":
    from surefind.interfaces.reports.json_report import read_report

    return read_report(str(path), content_of(path))


def _check_baseline(baseline: "Report", golden: "GoldenSet", options: "ValidateOptions") -> None:
    """What can't be compared is refused before an hour of questions, not after it."""
    from surefind.evaluation.report.comparison import check_baseline
    from surefind.services.validation.validate import DEFAULT_TOP_K, measures_for, settled

    top_k = settled(options, golden).top_k or DEFAULT_TOP_K
    check_baseline(baseline, golden, top_k, measures_for(golden, top_k))


async def _keep(application: "Application", report: "Report") -> None:
    """A run is no worse for not being remembered."""
    from surefind.errors import StoreError
    from surefind.evaluation.report.past_runs import remembered

    if report.totals.total == report.totals.not_run:
        return
    try:
        await application.history.keep(remembered(report))
    except StoreError as error:
        note(f"this run is not kept for --history: {error}")


async def _beside(
    application: "Application", report: "Report", asked: int | None
) -> "ReportExtras":
    from surefind.errors import StoreError
    from surefind.evaluation.report.past_runs import trend_of
    from surefind.interfaces.reports.html import ReportExtras

    passages = await application.passages_of(report, asked)
    try:
        runs, damaged = await application.history.runs(report.subject.collection)
    except StoreError as error:
        note(f"the trend is left out: {error}")
        return ReportExtras(passages)
    for line in damaged:
        note(f"an earlier run can't be read and is left out: {line}")
    return ReportExtras(passages, trend_of(report, runs))


def _exit_code(report: "Report") -> int:
    from surefind.evaluation.statistics.significance import Verdict
    from surefind.interfaces.failures import AWAY, FAILED, INCONCLUSIVE

    if report.store_away:
        return AWAY
    return {Verdict.PASS: 0, Verdict.FAIL: FAILED}.get(report.verdict, INCONCLUSIVE)
