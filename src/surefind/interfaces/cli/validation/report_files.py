"""Writes the report files that the options name."""

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
    """A file that the run reads; `role` describes it in error messages."""

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
        """Check before the run that each file is writable and overwrites nothing that is needed."""
        if self.trec_out is not None:
            _refuse_stdout(_Output("--trec-out", self.trec_out))
        if self.trec_out is not None and self.trec_out.exists() and not self.trec_out.is_dir():
            _refuse(self.trec_out, f"{self.trec_out} is not a folder")
        outputs = list(self._outputs())
        for output in outputs:
            _refuse_stdout(output)
        for number, output in enumerate(outputs):
            for read in inputs:
                _check_not_input(output, read)
            for other in outputs[:number]:
                _check_distinct(other, output)
        for output in outputs:
            _check_writable(output.path)

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

    def write(self, report: "Report", extras: "ReportExtras | None") -> None:
        from surefind.interfaces.reports import trec
        from surefind.interfaces.reports.junit import junit
        from surefind.interfaces.reports.markdown import markdown

        if self.markdown is not None:
            save(self.markdown, markdown(report))
        if self.junit is not None:
            save(self.junit, junit(report))
        if self.html is not None:
            from surefind.interfaces.reports.html import html_page

            save(self.html, html_page(report, extras))
        if self.trec_out is not None:
            texts = (trec.trec_run(report), trec.trec_qrels(report))
            for name, text in zip(_TREC_FILES, texts, strict=True):
                save(self.trec_out / name, text)
        if self.tests_out is not None:
            _save_tests(self.tests_out, report)

    def write_baseline(self, report: "Report") -> None:
        from surefind.interfaces.reports import json_report

        if self.save_baseline is None:
            return
        if report.interrupted:
            note(f"no baseline was saved, because the run ended early: {report.interrupted}")
        elif not report.totals.total:
            note("no baseline was saved, because there were no queries")
        else:
            save(self.save_baseline, json_report.report_text(report))


def files_read(
    tests: Path | None, qrels: Path | None, baseline: Path | None, target: str | None = None
) -> list[Input]:
    """The files that must not be overwritten; in a BEIR folder, those that belong to BEIR."""
    read = []
    if tests is not None and tests.is_dir():
        parts = (tests / "queries.jsonl", tests / "corpus.jsonl", tests / "qrels.tsv")
        read += [Input(part, "a file of the tests") for part in parts]
        read += [Input(part, "a file of the tests") for part in tests.glob("qrels/*.tsv")]
    elif tests is not None:
        read.append(Input(tests, "the file of tests"))
    if qrels is not None:
        read.append(Input(qrels, "the file of judgements"))
    if target is not None and Path(target).is_file():
        read.append(Input(Path(target), "the target file"))
    if baseline is not None:
        read.append(Input(baseline, _BASELINE))
    return read


def _check_not_input(output: _Output, read: Input) -> None:
    # Comparing with a baseline and then replacing it is a valid update.
    is_update = output.option == "--save-baseline" and read.role == _BASELINE
    if not is_update and _is_same(output.path, read.path):
        from surefind.errors import InputError

        raise InputError(
            f"{output.option} {output.path} would overwrite {read.role}, {read.path}; "
            "name another file"
        )


def _check_distinct(one: _Output, other: _Output) -> None:
    from surefind.errors import InputError

    if _is_same(one.path, other.path):
        raise InputError(f"{one.option} and {other.option} both write {other.path}; name two files")
    first, second = one.path.resolve(), other.path.resolve()
    if first in second.parents or second in first.parents:
        raise InputError(
            f"{one.option} {one.path} and {other.option} {other.path}: one is inside "
            "the other; name another file"
        )


def _is_same(one: Path, other: Path) -> bool:
    """Whether both paths are one file, even through links. Pipes and devices can be shared."""
    with suppress(OSError):
        if one.exists() and other.exists():
            return one.is_file() and one.samefile(other)
    return one.resolve() == other.resolve()


def _check_writable(path: Path) -> None:
    if path.is_dir():
        _refuse(path, "it is a folder")
    target = path.resolve() if path.is_symlink() else path
    folder = target.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        _refuse(path, f"{folder} is not a folder")
    try:
        _test_write(target, folder)
    except OSError as error:
        _refuse(path, error.strerror or str(error))


def _test_write(path: Path, folder: Path) -> None:
    """Test by writing: permission bits mean nothing for root, or on special file systems.

    `folder` is the nearest existing parent. Everything created for the test is removed.
    """
    if path.exists():
        if path.is_file():
            path.open("ab").close()
        return
    created = [one for one in path.parents if one != folder and folder in one.parents]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another run has just created it
            path.open("xb").close()
            path.unlink()
    finally:
        for one in created:
            with suppress(OSError):
                one.rmdir()


def _save_tests(path: Path, report: "Report") -> None:
    """Save the run as golden tests that repeat it: shared options first, then each test."""
    from surefind.contracts.implementation_tests import validation_tests_of

    where = {test.test_id: test.where for test in report.tests if test.where}
    tests = [
        test.model_dump(mode="json")
        | ({"where": list(where[test.test_id])} if test.test_id in where else {})
        for test in validation_tests_of(report)
    ]
    subject = report.subject
    shared: dict[str, Any] = {
        "top_k": subject.top_k,
        "mode": subject.mode.value if subject.mode else None,
        "collapse": subject.collapse.value,
    }
    if subject.group_by is not None:
        shared["group_by"] = subject.group_by.value
    if path.suffix.casefold() in _LINES:
        lines = [shared, *tests]
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    else:
        text = json.dumps(shared | {"tests": tests}, ensure_ascii=False, indent=2) + "\n"
    save(path, text)
    if len(tests) < report.totals.total:
        left = report.totals.total - len(tests)
        note(f"{left} of {report.totals.total} tests were not written, because they name no chunk")


def _refuse_stdout(output: _Output) -> None:
    """Stdout is reserved for the terminal report or --json."""
    if str(output.path) == "-":
        from surefind.errors import InputError

        raise InputError(f"{output.option} can't write to stdout (-); name a file, or use --json")


def save(path: Path, text: str) -> None:
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
