"""The files that a report is written to, each in the form that its option names."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefind.interfaces.cli.console import note

if TYPE_CHECKING:
    from surefind.evaluation.report.report import Report
    from surefind.interfaces.reports.html import ReportExtras

_TREC_FILES = ("run.txt", "qrels.txt")
_LINES = {".jsonl", ".ndjson"}
_BASELINE = "the baseline to compare with"


@dataclass(frozen=True, slots=True)
class Input:
    """A file that a run reads: `role` says what it is to whoever would write over it."""

    path: Path
    role: str


@dataclass(frozen=True, slots=True)
class _Output:
    option: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReportFiles:
    markdown: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    trec_out: Path | None = None
    save_baseline: Path | None = None
    tests_out: Path | None = None

    @property
    def is_empty(self) -> bool:
        return not list(self._outputs())

    def check(self, inputs: Sequence[Input] = ()) -> None:
        """Before an hour of questions, not after it: each can be written, and is nobody else's."""
        if self.trec_out is not None:
            _refuse_stdout(_Output("--trec-out", self.trec_out))
        if self.trec_out is not None and self.trec_out.exists() and not self.trec_out.is_dir():
            _refuse(self.trec_out, f"{self.trec_out} is no folder")
        outputs = list(self._outputs())
        for output in outputs:
            _refuse_stdout(output)
        for number, output in enumerate(outputs):
            for read in inputs:
                _keep_apart(output, read)
            for other in outputs[:number]:
                _tell_apart(other, output)
        for output in outputs:
            _try(output.path)

    def _outputs(self) -> Iterator[_Output]:
        for option, path in (
            ("--markdown", self.markdown),
            ("--junit", self.junit),
            ("--html", self.html),
            ("--save-baseline", self.save_baseline),
            ("--tests-out", self.tests_out),
        ):
            if path is not None:
                yield _Output(option, path)
        if self.trec_out is not None:
            for name in _TREC_FILES:
                yield _Output("--trec-out", self.trec_out / name)

    def write(self, report: "Report", beside: "ReportExtras | None") -> None:
        from surefind.interfaces.reports import trec
        from surefind.interfaces.reports.junit import junit
        from surefind.interfaces.reports.markdown import markdown

        if self.markdown is not None:
            _save(self.markdown, markdown(report))
        if self.junit is not None:
            _save(self.junit, junit(report))
        if self.html is not None:
            from surefind.interfaces.reports.html import html_page

            _save(self.html, html_page(report, beside))
        if self.trec_out is not None:
            texts = (trec.trec_run(report), trec.trec_qrels(report))
            for name, text in zip(_TREC_FILES, texts, strict=True):
                _save(self.trec_out / name, text)
        if self.tests_out is not None:
            _save_tests(self.tests_out, report)

    def write_baseline(self, report: "Report") -> None:
        from surefind.interfaces.reports import json_report

        if self.save_baseline is None:
            return
        if report.interrupted:
            note(f"no baseline was saved: the run ended early: {report.interrupted}")
        elif not report.totals.total:
            note("no baseline was saved: there were no queries")
        else:
            _save(self.save_baseline, json_report.report_text(report))


def files_read(tests: Path | None, qrels: Path | None, baseline: Path | None) -> list[Input]:
    """What nothing may be written over. Of a BEIR folder it is what BEIR has put there."""
    read = []
    if tests is not None and tests.is_dir():
        parts = (tests / "queries.jsonl", tests / "corpus.jsonl", tests / "qrels.tsv")
        read += [Input(part, "a file of the tests") for part in parts]
        read += [Input(part, "a file of the tests") for part in tests.glob("qrels/*.tsv")]
    elif tests is not None:
        read.append(Input(tests, "the file of tests"))
    if qrels is not None:
        read.append(Input(qrels, "the file of judgements"))
    if baseline is not None:
        read.append(Input(baseline, _BASELINE))
    return read


def _keep_apart(output: _Output, read: Input) -> None:
    # A baseline that is compared with and then replaced is brought up to date.
    is_update = output.option == "--save-baseline" and read.role == _BASELINE
    if not is_update and _is_same(output.path, read.path):
        from surefind.errors import InputError

        raise InputError(
            f"{output.option} {output.path} would write over {read.path}: that is {read.role}; "
            "name another file"
        )


def _tell_apart(one: _Output, other: _Output) -> None:
    from surefind.errors import InputError

    if _is_same(one.path, other.path):
        raise InputError(
            f"{one.option} and {other.option} both write {other.path}; name a file for each"
        )
    first, second = one.path.resolve(), other.path.resolve()
    if first in second.parents or second in first.parents:
        raise InputError(
            f"{one.option} {one.path} and {other.option} {other.path}: one can't be a file and "
            "hold the other; name another file"
        )


def _is_same(one: Path, other: Path) -> bool:
    """By whatever name, link or spelling. Pipes and devices hold nothing that could be lost."""
    with suppress(OSError):
        if one.exists() and other.exists():
            return one.is_file() and one.samefile(other)
    return one.resolve() == other.resolve()


def _try(path: Path) -> None:
    if path.is_dir():
        _refuse(path, "it is a folder")
    target = path.resolve() if path.is_symlink() else path
    folder = target.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        _refuse(path, f"{folder} is no folder")
    try:
        _rehearse(target, folder)
    except OSError as error:
        _refuse(path, error.strerror or str(error))


def _rehearse(path: Path, folder: Path) -> None:
    """Only trying tells: root may write anywhere but where the system makes the files itself.

    `folder` is the one above it that is there. What was made for the trial is taken away again.
    """
    if path.exists():
        if path.is_file():
            path.open("ab").close()
        return
    made = [one for one in path.parents if one != folder and folder in one.parents]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another run was faster, and may
            path.open("xb").close()
            path.unlink()
    finally:
        for one in made:
            with suppress(OSError):
                one.rmdir()


def _save_tests(path: Path, report: "Report") -> None:
    """What was run, as golden tests that ask the same again: the contract's tests with their
    `where`, after what holds for all of them.
    """
    from surefind.contracts.implementation_tests import validation_tests_of

    where = {test.test_id: test.where for test in report.tests if test.where}
    tests = [
        test.model_dump(mode="json")
        | ({"where": list(where[test.test_id])} if test.test_id in where else {})
        for test in validation_tests_of(report)
    ]
    subject = report.subject
    for_all: dict[str, Any] = {
        "top_k": subject.top_k,
        "mode": subject.mode.value,
        "collapse": subject.collapse.value,
    }
    if path.suffix.casefold() in _LINES:
        lines = [for_all, *tests]
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    else:
        text = json.dumps(for_all | {"tests": tests}, ensure_ascii=False, indent=2) + "\n"
    _save(path, text)
    if len(tests) < report.totals.total:
        left = report.totals.total - len(tests)
        note(f"{left} of {report.totals.total} tests name no chunk, and are not written")


def _refuse_stdout(output: _Output) -> None:
    """Stdout has the report for people, or the JSON."""
    if str(output.path) == "-":
        from surefind.errors import InputError

        raise InputError(f"{output.option} -: name a file; only --json prints to stdout")


def _save(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        _refuse(path, error.strerror or str(error))


def _refuse(path: Path, reason: str) -> None:
    from surefind.errors import InputError

    raise InputError(f"{path} can't be written: {reason}")


def content_of(path: Path) -> bytes:
    from surefind.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
