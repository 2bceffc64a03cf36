"""`surefind golden`: write golden tests, and see what is wrong with them."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    note,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.validation.picking import ask_which, read_picks
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.golden.expectations import Expectation
    from surefind.evaluation.golden.golden_set import GoldenTest
    from surefind.evaluation.golden.lint import LintFinding
    from surefind.model import SearchResult

DEFAULT_FILE = Path("golden.yaml")
_SLUG_WORDS = 8

app = typer.Typer(help="Write golden tests, and see what is wrong with them.", no_args_is_help=True)


class Expect(StrEnum):
    NONE = "none"


@app.command("init")
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = DEFAULT_FILE,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, max=1000, help="How many tests at most.")
    ] = 20,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Propose tests from the collection's own headings, for you to go on with."""
    from surefind.adapters.files.golden_files import write_golden
    from surefind.errors import InputError
    from surefind.evaluation.golden.writing import new_file

    if file.suffix.casefold() not in {".yaml", ".yml"}:
        raise InputError(f"{file}: golden files that are made for you are YAML; end it in .yaml")
    if file.exists() and not force:
        raise InputError(f"{file} is there already; choose another name, or use --force")

    async def work(application: "Application") -> "list[GoldenTest]":
        golden = await application.validation.golden(None, most=number)
        return list(golden.tests)

    tests = run(work, collection=collection, data_dir=data_dir)
    if not tests:
        raise InputError(
            "the collection has no headings that ask for one section; "
            "`surefind golden add` makes tests of your own questions"
        )
    write_golden(file, new_file(tests, _REMARKS).encode(), is_new=not force)
    show(f"{file}: {len(tests)} tests. Reword the questions as your readers ask them, then run")
    show(f"  surefind validate {file}")


@app.command("add")
def add(
    question: Annotated[str, typer.Argument(help="The question, as a reader would ask it.")],
    file: Annotated[
        Path, typer.Option("--file", "-f", help="The file to add the test to.")
    ] = DEFAULT_FILE,
    pick: Annotated[
        str | None,
        typer.Option(help="The hits that are right, as in 1,3 or 1:2,3 (with grades)."),
    ] = None,
    expect: Annotated[
        Expect | None, typer.Option(help="none: nothing answers this question.")
    ] = None,
    min_similarity: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="What is less similar does not count."),
    ] = None,
    category: Annotated[str, typer.Option(help="A word to group numbers by.")] = "",
    test_id: Annotated[
        str, typer.Option("--id", help="The test's name. [default: from the question]")
    ] = "",
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many hits are shown.")] = 10,
    mode: Annotated[Mode, typer.Option(help="How to search.")] = Mode.HYBRID,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search, choose the hits that are right, and keep that as a golden test."""
    from surefind.errors import InputError, SurefindError
    from surefind.evaluation.golden.writing import new_file

    if pick is not None and expect is not None:
        raise InputError("--pick and --expect none: a test has answers, or it has none")
    wanted = _GoldenSource(question.strip(), pick, expect, min_similarity, category, top_k, mode)
    known = _known(file)
    _check_new(file, known, wanted.question, test_id)
    name = test_id or _name(wanted.question, {test.test_id for test in known})
    test = _picked(wanted, name, collection, data_dir)
    try:
        _append(file, test)
    except SurefindError:
        note("the test that was not added, so that your choice is not lost:")
        note(new_file([test], []).strip())
        raise
    if as_json:
        show_json(_json(file, test))
    else:
        told = ", ".join(map(str, test.expected)) or "no answer"
        show(f"{file}: {test.test_id} expects {told}")


@app.command("lint")
def lint(
    file: Annotated[
        Path, typer.Argument(help="Golden tests, or anything else that validate takes.")
    ] = DEFAULT_FILE,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find tests that are stale, asked twice, contradict each other, or can never pass.

    Exit codes: 0 nothing but warnings, 1 errors, 2 the caller's mistake, 3 no tests,
    4 a store or service is away.
    """
    from surefind.evaluation.golden.lint import errors_of
    from surefind.interfaces.failures import FAILED, INCONCLUSIVE
    from surefind.interfaces.reports.lint import lint_json, lint_text

    async def work(application: "Application") -> "tuple[int, list[LintFinding]]":
        golden = await application.validation.golden(file)
        return len(golden.tests), await application.validation.lint(golden)

    tests, findings = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json(lint_json(str(file), tests, findings))
    else:
        show(lint_text(str(file), tests, findings))
    if errors_of(findings):
        raise typer.Exit(FAILED)
    if not tests:
        raise typer.Exit(INCONCLUSIVE)


# --- init -------------------------------------------------------------------------------------

_REMARKS = (
    "Golden tests: questions, and what each must find. `surefind validate` runs them.",
    "",
    "These were made of the collection's own headings. They show that it works; reword the",
    "questions as your readers ask them, and remove what nobody asks.",
    "",
    "What a question must find, of one or more:",
    "  {url: /guide/install, heading: Power}            a section of a page",
    "  {source_path: docs/install.md, heading: Power}   the same, by the path of its source",
    "  {text: a socket of 230 volts}                    wherever these words stand",
    "and `grade: 2` beside it where one answer is better than another.",
    "",
    "A question that nothing answers says `expect: none` instead of expected_results.",
    "When is the whole good enough? For example:",
    "  fail_if: nDCG@5 < 0.8",
)


# --- add --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _GoldenSource:
    question: str
    pick: str | None
    expect: Expect | None
    min_similarity: float | None
    category: str
    top_k: int
    mode: Mode


def _known(file: Path) -> "tuple[GoldenTest, ...]":
    from surefind.adapters.files.golden_files import read_golden
    from surefind.errors import InputError

    if file.suffix.casefold() not in {".yaml", ".yml", ".json", ".jsonl", ".ndjson"}:
        raise InputError(f"{file}: tests are kept in .yaml, .json or .jsonl")
    return read_golden(file).tests if file.exists() else ()


def _check_new(file: Path, known: "tuple[GoldenTest, ...]", question: str, test_id: str) -> None:
    from surefind.errors import InputError
    from surefind.evaluation.golden.golden_set import GoldenTest
    from surefind.evaluation.golden.lint import question_key

    key = question_key(GoldenTest(test_id, question))
    for test in known:
        if question_key(test) == key:
            raise InputError(f"{file}, line {test.line}: {test.test_id} asks that already")
        if test.test_id == test_id:
            raise InputError(f"{file}, line {test.line}: there is a test {test_id} already")


def _name(question: str, taken: set[str]) -> str:
    """Words of the question, with a number where that is taken."""
    words = re.findall(r"\w+", question.casefold())[:_SLUG_WORDS]
    name = "-".join(words)[:80] or "question"
    number = 2
    while (candidate := name if number == 2 else f"{name}-{number - 1}") in taken:
        number += 1
    return candidate


def _picked(
    wanted: _GoldenSource, name: str, collection: str | None, data_dir: str | None
) -> "GoldenTest":
    """A person is asked while no event loop runs: it would keep Ctrl-C to itself."""
    from surefind.evaluation.golden.golden_set import GoldenTest, SuccessCriteria, TestKind
    from surefind.model import Query

    async def search(application: "Application") -> "SearchResult":
        query = Query(
            wanted.question,
            top_k=wanted.top_k,
            mode=wanted.mode,
            collection=application.settings.collection,
        )
        return await application.searching.search(query)

    result = run(search, collection=collection, data_dir=data_dir)
    picks = _picks(wanted, result)
    criteria = SuccessCriteria(1.0, wanted.min_similarity)
    if picks is None:
        kind = TestKind.NEGATIVE
        return GoldenTest(name, wanted.question, kind, (), criteria, wanted.category)
    chosen = [(result.hits[rank - 1].record, grade) for rank, grade in picks.items()]

    async def expectations(application: "Application") -> "tuple[Expectation, ...]":
        return await application.validation.expectations_for(chosen)

    expected = run(expectations, collection=collection, data_dir=data_dir)
    return GoldenTest(name, wanted.question, TestKind.POSITIVE, expected, criteria, wanted.category)


def _picks(wanted: _GoldenSource, result: "SearchResult") -> dict[int, int] | None:
    """Rank -> grade; None where nothing answers the question."""
    if wanted.expect is Expect.NONE:
        return None
    if wanted.pick is not None:
        return read_picks(wanted.pick, len(result.hits))
    return ask_which(result)


def _append(file: Path, test: "GoldenTest") -> None:
    """To what the file holds now: somebody may have written to it while a person was choosing."""
    from surefind.adapters.files.golden_files import content_of, write_golden
    from surefind.evaluation.golden.writing import new_file, with_test

    if file.exists():
        write_golden(file, with_test(file.name, content_of(file), test), is_new=False)
        return
    if file.suffix.casefold() in {".yaml", ".yml"}:
        remark = "Golden tests: questions, and what each must find. `surefind validate` runs them."
        write_golden(file, new_file([test], [remark]).encode(), is_new=True)
        return
    empty = b"" if file.suffix.casefold() in {".jsonl", ".ndjson"} else b'{"tests": []}\n'
    write_golden(file, with_test(file.name, empty, test), is_new=True)


def _json(file: Path, test: "GoldenTest") -> dict[str, Any]:
    from surefind.evaluation.golden.writing import values_of

    return {"file": str(file), "test": values_of(test)}
