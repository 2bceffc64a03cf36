"""`surefind validate`: run golden tests, report and compare."""

from collections.abc import Sequence
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
from surefind.interfaces.cli.usage import examples
from surefind.interfaces.cli.validation.judging_options import Qrels, TopK
from surefind.interfaces.cli.validation.label_free import kinds_of, validity_json, validity_text
from surefind.interfaces.cli.validation.past_runs import DEFAULT_SHOWN, show_history
from surefind.interfaces.cli.validation.report_files import ReportFiles, content_of, files_read
from surefind.interfaces.cli.validation.stopping import StopRequest, stop_request
from surefind.interfaces.cli.validation.targets import refuse_with_target, validated_target
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.golden.golden_set import GoldenSet
    from surefind.evaluation.golden.label_free import LabelFreeKind
    from surefind.evaluation.report.report import Report
    from surefind.interfaces.reports.html import ReportExtras
    from surefind.services.validation.run_request import RunRequest
    from surefind.services.validation.test_session import CountProgress

EXAMPLES = examples(
    "surefind validate",
    "surefind validate golden.yaml --html report.html",
    "surefind validate golden.yaml --baseline baseline.json",
    page="validation/",
)


def validate(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Golden tests (.yaml, .json, .jsonl), questions (.txt), a BEIR folder or TREC "
            "topics. If omitted, tests are generated from the collection's headings.",
            show_default=False,
        ),
    ] = None,
    top_k: TopK = None,
    mode: Annotated[
        Mode | None, typer.Option(help="The search mode. [default: set by FILE, or hybrid]")
    ] = None,
    qrels: Qrels = None,
    baseline: Annotated[Path | None, typer.Option(help="Compare with this saved report.")] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Save the report as the baseline for later runs.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the report as Markdown, for a pull request.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write the report as JUnit XML, for continuous integration.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the report as a single HTML page.")
    ] = None,
    trec_out: Annotated[
        Path | None,
        typer.Option(help="Write run.txt and qrels.txt for trec_eval into this folder."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(metavar="1..64", help="Number of concurrent searches.")
    ] = 8,
    duration: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Run a load test of this length after the tests."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Searches per second in the load test. [default: unlimited]"),
    ] = None,
    index_recall: Annotated[
        bool,
        typer.Option("--index-recall", help="Compare the approximate index with exact search."),
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Save the suggested threshold with the collection."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --calibrate: accept fewer than 12 negative tests."),
    ] = False,
    false_accept_cost: Annotated[
        float,
        typer.Option(help="Cost of a false accept relative to a false reject, for the threshold."),
    ] = 1.0,
    generation: Annotated[
        int | None,
        typer.Option(help="Validate this generation, such as one that a gate held back."),
    ] = None,
    tests_out: Annotated[
        Path | None,
        typer.Option("--tests-out", help="Save the tests and their results as golden tests."),
    ] = None,
    history: Annotated[
        bool,
        typer.Option(
            "--history",
            help="List earlier runs (of FILE and on --target, if given) instead of running tests.",
        ),
    ] = False,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="With --history: number of runs to list.")
    ] = DEFAULT_SHOWN,
    no_history: Annotated[
        bool, typer.Option("--no-history", help="Do not record this run for --history.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="Validate another retriever: mcp:COMMAND, https://…, python:module:function, "
            "trec:run.txt and more, or a target file (.yaml).",
        ),
    ] = None,
    save_target: Annotated[
        Path | None,
        typer.Option(
            help="With --target: save how its results are read in this file, for later runs."
        ),
    ] = None,
    label_free: Annotated[
        bool,
        typer.Option(
            "--label-free", help="Make the tests from what the documentation says about itself."
        ),
    ] = False,
    kinds: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="With --label-free: some of links,headings,symbols,faq. [default: valid ones]",
        ),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run test questions, judge the results, and report.

    Exit codes: 0 passed, 1 failed or worse than the baseline, 2 invalid input,
    3 inconclusive, not comparable, stopped early or no queries, 4 a store or service is
    unavailable, 130 or 143 interrupted before or after the tests, or twice.
    """
    from surefind.errors import InputError

    files = ReportFiles(markdown, junit, html, trec_out, save_baseline, tests_out)
    if qrels is not None and file is None:
        raise InputError("--qrels needs a file of topics; pass it as FILE")
    if history:
        if not files.is_empty or baseline is not None:
            raise InputError(
                "--history runs no tests, so it can't be combined with report files or --baseline"
            )
        show_history(file, qrels, number, target, collection, data_dir, as_json=as_json)
        return
    if label_free and file is not None:
        raise InputError("--label-free makes its own tests; remove FILE, or --label-free")
    if kinds is not None and not label_free:
        raise InputError("--kinds needs --label-free; add it, or remove --kinds")
    if force and not calibrate:
        raise InputError("--force needs --calibrate; add it, or remove --force")
    if target is not None:
        refuse_with_target(
            {
                "--mode": mode is not None,
                "--generation": generation is not None,
                "--index-recall": index_recall,
                "--duration": duration is not None,
                "--calibrate": calibrate,
                "--tests-out": tests_out is not None,
            }
        )
    elif save_target is not None:
        raise InputError("--save-target needs --target; add it, or remove --save-target")
    if rate is not None and duration is None:
        raise InputError("--rate needs --duration, the length of the load test in seconds")
    with stop_request() as stop:
        files.check(files_read(file, qrels, baseline, target))
        from surefind.services.validation.extra.load_test import LoadOptions
        from surefind.services.validation.run_request import RunRequest

        command = _Command(
            file,
            qrels,
            RunRequest(
                generation=generation,
                top_k=top_k,
                mode=mode,
                concurrency=concurrency,
                index_recall=index_recall,
                load=None if duration is None else LoadOptions(duration, rate),
                false_accept_cost=false_accept_cost,
                stop_requested=stop.is_made,
            ),
            None if baseline is None else _read_baseline(baseline),
            calibrate=calibrate,
            force=force,
            is_recorded=not no_history,
            needs_extras=html is not None,
            target=target,
            save_target=save_target,
            label_free=kinds_of(kinds) if label_free else [],
        )
        done = _run(command, collection, data_dir, stop)
        _write(done, files, stop, as_json=as_json)
    raise typer.Exit(_exit_code(done.report, is_calibrated=done.is_calibrated))


@dataclass(frozen=True, slots=True)
class _Command:
    """The parsed command line."""

    file: Path | None
    qrels: Path | None
    request: "RunRequest"
    baseline: "Report | None"
    calibrate: bool
    force: bool
    is_recorded: bool
    needs_extras: bool
    target: str | None = None
    save_target: Path | None = None
    label_free: "Sequence[LabelFreeKind]" = ()


@dataclass(frozen=True, slots=True)
class _Done:
    report: "Report"
    extras: "ReportExtras | None"
    is_calibrated: bool
    label_free: "Sequence[LabelFreeKind]" = ()


def _run(
    command: _Command, collection: str | None, data_dir: str | None, stop: StopRequest
) -> _Done:
    from surefind.services.generations.index_building import Progress

    with progress_display() as display:

        def show_progress(done: int, total: int) -> None:
            display(Progress("validated", done, total))

        async def work(application: "Application") -> _Done:
            with stop.cancels_this_task():
                return await _validated(application, command, show_progress, stop)

        return run(work, collection=collection, data_dir=data_dir)


async def _validated(
    application: "Application",
    command: _Command,
    progress: "CountProgress",
    stop: StopRequest,
) -> _Done:
    from surefind.evaluation.report.comparison import compared_with

    validation = application.validation
    if command.label_free:
        golden = await validation.label_free(command.label_free)
    else:
        golden = await validation.golden(command.file, command.qrels)
    request = replace(command.request, collection=application.settings.collection)
    if command.baseline is not None:
        _check_baseline(command.baseline, golden, request)
    if command.target is None:
        report = await application.validation.validate(golden, request, progress)
    else:
        report = await validated_target(
            application, command.target, golden, request, progress, command.save_target
        )
    _require_finished(report, stop)
    is_calibrated = not command.calibrate or await _calibrated(application, command, report)
    if command.baseline is not None:
        report = compared_with(command.baseline, report)
    _require_finished(report, stop)
    if command.is_recorded:
        await _record(application, report)
    needs_extras = command.needs_extras and command.target is None
    extras = await _extras(application, report, request) if needs_extras else None
    return _Done(report, extras, is_calibrated, command.label_free)


async def _calibrated(application: "Application", command: _Command, report: "Report") -> bool:
    """Calibrate even after a failed run: tests may fail only because there is no threshold yet."""
    from surefind.errors import NotComparable
    from surefind.interfaces.reports.extra_checks import rate

    try:
        threshold = await application.validation.learn_threshold(report, force=command.force)
    except NotComparable as error:
        note(str(error))
        return False
    note(
        f"generation {report.subject.generation} of {report.subject.collection} now uses the "
        f"threshold {threshold.similarity:.3f}; false accepts {rate(threshold.false_accepts)}, "
        f"false rejects {rate(threshold.false_rejects)}, with 95 % confidence"
    )
    return True


def _write(done: _Done, files: ReportFiles, stop: StopRequest, *, as_json: bool) -> None:
    """Write the reports. A stop waits until the baseline is written, so the file stays complete."""
    from surefind.interfaces.reports.json_report import report_json

    report = done.report
    with stop.raises_at_once():
        _require_finished(report, stop)
        if as_json:
            validity = {"label_free": validity_json(done.label_free)} if done.label_free else {}
            show_json(report_json(report) | validity)
        else:
            from surefind.interfaces.reports.terminal import terminal

            show(terminal(report))
            if done.label_free:
                show(f"\n{validity_text(done.label_free)}")
        files.write(report, done.extras)
    _require_finished(report, stop)
    files.write_baseline(report)
    _require_finished(report, stop)


def _require_finished(report: "Report", stop: StopRequest) -> None:
    """End the command if a stop was requested, unless the report already says so."""
    if not report.interrupted:
        stop.check()


def _read_baseline(path: Path) -> "Report":
    from surefind.interfaces.reports.json_report import read_report

    return read_report(str(path), content_of(path))


def _check_baseline(baseline: "Report", golden: "GoldenSet", request: "RunRequest") -> None:
    """Reject a baseline that doesn't fit before the tests run."""
    from surefind.evaluation.report.comparison import check_baseline

    measures = request.measures_for(golden)
    check_baseline(baseline, golden, request.top_k_for(golden), measures)


async def _record(application: "Application", report: "Report") -> None:
    """Record the run for --history. If that fails, the run itself still succeeds."""
    from surefind.errors import StoreError
    from surefind.evaluation.report.past_runs import remembered

    if report.totals.total == report.totals.not_run:
        return
    try:
        await application.validation.history.keep(remembered(report))
    except StoreError as error:
        note(f"this run was not recorded for --history: {error}")


async def _extras(
    application: "Application", report: "Report", request: "RunRequest"
) -> "ReportExtras":
    from surefind.errors import StoreError
    from surefind.evaluation.report.past_runs import trend_of
    from surefind.interfaces.reports.html import ReportExtras

    passages = await application.validation.passages_of(report, request.generation)
    try:
        runs, damaged = await application.validation.history.runs(report.subject.collection)
    except StoreError as error:
        note(f"the report has no trend, because earlier runs can't be read: {error}")
        return ReportExtras(passages)
    for line in damaged:
        note(f"skipped an unreadable record of an earlier run: {line}")
    return ReportExtras(passages, trend_of(report, runs))


def _exit_code(report: "Report", *, is_calibrated: bool = True) -> int:
    from surefind.evaluation.statistics.significance import Verdict
    from surefind.interfaces.failures import FAILED, INCONCLUSIVE, UNAVAILABLE

    if report.store_away:
        return UNAVAILABLE
    passed = 0 if is_calibrated else INCONCLUSIVE
    return {Verdict.PASS: passed, Verdict.FAIL: FAILED}.get(report.verdict, INCONCLUSIVE)
