"""`surefind validate`: is retrieval right, whole and fast."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.beyond_tests import (
    Calibrate,
    Duration,
    FalseAcceptCost,
    Further,
    Generation,
    IndexRecall,
    Rate,
    TestsOut,
)
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
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.report import Report


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
    trec_out: Annotated[
        Path | None,
        typer.Option(help="Write run.txt and qrels.txt for trec_eval into this folder."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(help="How many questions are asked at a time, 1 to 64.")
    ] = 4,
    duration: Duration = None,
    rate: Rate = None,
    index_recall: IndexRecall = False,
    calibrate: Calibrate = False,
    false_accept_cost: FalseAcceptCost = 1.0,
    generation: Generation = None,
    tests_out: TestsOut = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Ask questions, judge the answers, and report.

    Exit codes: 0 passed, 1 failed or worse than the baseline, 2 the caller's mistake,
    3 inconclusive, not comparable or no queries, 4 a store or service is away.
    """
    from surefind.errors import InputError, NotComparable
    from surefind.interfaces.reports.json_report import read_report, report_json

    if qrels is not None and file is None:
        raise InputError("--qrels: name the file of topics that it judges")
    before = None if baseline is None else read_report(str(baseline), _content(baseline))
    further = Further(
        duration, rate, index_recall, calibrate, false_accept_cost, generation, tests_out
    )
    report = _run(file, qrels, top_k, mode, concurrency, further, collection, data_dir)
    refused: NotComparable | None = None
    if before is not None:
        try:
            report = _compared(before, report)
        except NotComparable as error:
            refused = error
    _write(report, markdown, junit, trec_out, save_baseline)
    if as_json:
        show_json(report_json(report))
    else:
        from surefind.interfaces.reports.terminal import terminal

        show(terminal(report))
    if refused is not None:
        raise refused
    raise typer.Exit(further.exit_code(_exit_code(report)))


def _run(
    file: Path | None,
    qrels: Path | None,
    top_k: int | None,
    mode: Mode | None,
    concurrency: int,
    further: Further,
    collection: str | None,
    data_dir: str | None,
) -> "Report":
    from surefind.services.building import Progress
    from surefind.services.validate import ValidateOptions

    with progress_display() as display:

        async def work(application: "Application") -> "Report":
            golden = await application.golden(file, qrels)
            options = ValidateOptions(application.settings.collection, top_k, mode, concurrency)
            report = await application.validate(
                golden,
                further.added_to(options),
                lambda done, total: display(Progress("validated", done, total)),
                further.generation,
            )
            await further.learn(application, report)
            further.write(report)
            return report

        return run(work, collection=collection, data_dir=data_dir)


def _compared(before: "Report", report: "Report") -> "Report":
    from surefind.evaluation.comparison import compare_reports
    from surefind.evaluation.summary import with_comparison

    return with_comparison(report, compare_reports(before, report))


def _write(
    report: "Report",
    markdown: Path | None,
    junit: Path | None,
    trec_out: Path | None,
    save_baseline: Path | None,
) -> None:
    from surefind.interfaces.reports import json_report, trec
    from surefind.interfaces.reports.junit import junit as junit_text
    from surefind.interfaces.reports.markdown import markdown as markdown_text

    if markdown is not None:
        _save(markdown, markdown_text(report))
    if junit is not None:
        _save(junit, junit_text(report))
    if trec_out is not None:
        _save(trec_out / "run.txt", trec.trec_run(report))
        _save(trec_out / "qrels.txt", trec.trec_qrels(report))
    if save_baseline is None:
        return
    if report.interrupted or not report.totals.total:
        note(f"no baseline was saved: {report.reasons[0]}")
    else:
        _save(save_baseline, json_report.report_text(report))


def _save(path: Path, text: str) -> None:
    from surefind.errors import InputError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}") from error


def _content(path: Path) -> bytes:
    from surefind.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def _exit_code(report: "Report") -> int:
    from surefind.evaluation.statistics import Verdict
    from surefind.interfaces.failures import AWAY, FAILED, INCONCLUSIVE

    if report.store_away:
        return AWAY
    return {Verdict.PASS: 0, Verdict.FAIL: FAILED}.get(report.verdict, INCONCLUSIVE)
