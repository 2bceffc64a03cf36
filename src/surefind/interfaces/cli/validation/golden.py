"""`surefind golden`: write and check golden tests."""

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
from surefind.interfaces.cli.usage import examples
from surefind.interfaces.cli.validation.label_free import LOGS, named
from surefind.interfaces.cli.validation.picking import ask_which, read_picks
from surefind.interfaces.cli.validation.power import power
from surefind.model import Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.evaluation.golden.expectations import Expectation
    from surefind.evaluation.golden.golden_set import GoldenTest
    from surefind.evaluation.golden.lint import LintFinding
    from surefind.model import SearchResult

DEFAULT_FILE = Path("golden.yaml")
_SLUG_WORDS = 8

app = typer.Typer(
    help="Write and check golden tests.",
    epilog=examples(
        "surefind golden init", "surefind golden add how do I undo", page="commands/golden/"
    ),
)
app.command("power")(power)


class Expect(StrEnum):
    NONE = "none"


@app.command("init")
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = DEFAULT_FILE,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, max=1000, help="Maximum number of tests.")
    ] = 20,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="KINDS",
            help="Some of links,headings,symbols,faq,logs, with at most --number tests of each. "
            "[default: headings of each page]",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    collection: Collection = None,
    data_dir: DataDir = None,
) -> None:
    """Generate starter tests from a collection or its query log."""
    from surefind.adapters.files.golden_files import write_golden
    from surefind.errors import InputError
    from surefind.evaluation.golden.label_free import LabelFreeKind
    from surefind.evaluation.golden.writing import new_file

    if file.suffix.casefold() not in {".yaml", ".yml"}:
        raise InputError(f"{file}: generated tests are written as YAML; use a name ending in .yaml")
    if file.exists() and not force:
        raise InputError(f"{file} already exists; name another file, or use --force")

    kinds = None if source is None else named(source, (*LabelFreeKind, LOGS))

    async def work(application: "Application") -> "list[GoldenTest]":
        if kinds is None:
            golden = await application.validation.golden(None, most=number)
            return list(golden.tests)
        logged = await application.validation.from_log(number) if LOGS in kinds else []
        own = [LabelFreeKind(kind) for kind in kinds if kind != LOGS]
        if not own:
            return logged
        return [*(await application.validation.label_free(own, number)).tests, *logged]

    tests = run(work, collection=collection, data_dir=data_dir)
    if not tests and kinds == [LOGS]:
        raise InputError(
            "the query log has no answered questions; the server keeps one with query_log = true"
        )
    if not tests:
        raise InputError(
            "the collection has no headings that identify a single section; "
            "write tests from your own questions with `surefind golden add`"
        )
    write_golden(file, new_file(tests, _REMARKS).encode(), is_new=not force)
    show(f"{file}: {len(tests)} tests. Reword the questions as your users would ask them, then run")
    show(f"  surefind validate {file}")


@app.command("add")
def add(
    question: Annotated[
        list[str],
        typer.Argument(help="The question, as a user would ask it; quotes are not needed."),
    ],
    file: Annotated[
        Path, typer.Option("--file", "-f", help="The file to add the test to.")
    ] = DEFAULT_FILE,
    pick: Annotated[
        str | None,
        typer.Option(help="The correct hits, such as 1,3, or 1:2,3 with grades."),
    ] = None,
    expect: Annotated[
        Expect | None, typer.Option(help="none: the collection has no answer to this question.")
    ] = None,
    min_similarity: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Hits below this similarity don't count."),
    ] = None,
    category: Annotated[str, typer.Option(help="A category to group results by.")] = "",
    test_id: Annotated[
        str, typer.Option("--id", help="The test's ID. [default: derived from the question]")
    ] = "",
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", metavar="1..1000", help="Number of hits to choose from.")
    ] = 10,
    mode: Annotated[Mode, typer.Option(help="The search mode.")] = Mode.HYBRID,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search, pick the correct hits, and save them as a golden test."""
    from surefind.errors import InputError, SurefindError
    from surefind.evaluation.golden.writing import new_file

    if pick is not None and expect is not None:
        raise InputError("--pick and --expect none can't be combined; use one of them")
    source = _GoldenSource(
        " ".join(question).strip(), pick, expect, min_similarity, category, top_k, mode
    )
    existing = _existing_tests(file)
    _check_new(file, existing, source.question, test_id)
    name = test_id or _unused_id(source.question, {test.test_id for test in existing})
    test = _test_from_hits(source, name, collection, data_dir)
    try:
        _append(file, test)
    except SurefindError:
        note("the test could not be saved; here it is, so that your choice is not lost:")
        note(new_file([test], []).strip())
        raise
    if as_json:
        show_json(_json(file, test))
    else:
        expected = ", ".join(map(str, test.expected)) or "no answer"
        show(f"{file}: {test.test_id} expects {expected}")


@app.command("lint")
def lint(
    file: Annotated[
        Path, typer.Argument(help="Golden tests, in any format that validate accepts.")
    ] = DEFAULT_FILE,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find stale, duplicate, contradictory and impossible tests.

    Exit codes: 0 no errors, 1 errors found, 2 invalid input, 3 no tests, 4 a store or service is
    unavailable.
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
    "Golden tests: questions and their expected results. Run them with `surefind validate`.",
    "",
    "These tests were generated. Reword the questions as your users would ask them, check what",
    "they expect, and delete unlikely ones.",
    "",
    "An expected result takes one of these forms:",
    "  {url: /guide/install, heading: Power}            a section of a page",
    "  {source_path: docs/install.md, heading: Power}   the same, by source path",
    "  {text: a socket of 230 volts}                    any passage with these words",
    "Add `grade: 2` to results that are better than the others.",
    "",
    "A question without an answer has `expect: none` instead of expected_results.",
    "The run fails if a limit such as this one is not met:",
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


def _existing_tests(file: Path) -> "tuple[GoldenTest, ...]":
    from surefind.adapters.files.golden_files import read_golden
    from surefind.errors import InputError

    if file.suffix.casefold() not in {".yaml", ".yml", ".json", ".jsonl", ".ndjson"}:
        raise InputError(f"{file}: tests are stored as .yaml, .json or .jsonl; use one of these")
    return read_golden(file).tests if file.exists() else ()


def _check_new(file: Path, existing: "tuple[GoldenTest, ...]", question: str, test_id: str) -> None:
    from surefind.errors import InputError
    from surefind.evaluation.golden.golden_set import GoldenTest
    from surefind.evaluation.golden.lint import question_key

    key = question_key(GoldenTest(test_id, question))
    for test in existing:
        if question_key(test) == key:
            raise InputError(
                f"{file}, line {test.line}: {test.test_id} already asks this question; "
                "edit that test"
            )
        if test.test_id == test_id:
            raise InputError(
                f"{file}, line {test.line}: a test {test_id} already exists; choose another --id"
            )


def _unused_id(question: str, taken: set[str]) -> str:
    """The first words of the question, with a number if that ID is taken."""
    words = re.findall(r"\w+", question.casefold())[:_SLUG_WORDS]
    name = "-".join(words)[:80] or "question"
    number = 2
    while (candidate := name if number == 2 else f"{name}-{number - 1}") in taken:
        number += 1
    return candidate


def _test_from_hits(
    source: _GoldenSource, name: str, collection: str | None, data_dir: str | None
) -> "GoldenTest":
    """Asks the user outside the event loop, which would swallow Ctrl-C."""
    from surefind.evaluation.golden.golden_set import GoldenTest, SuccessCriteria, TestKind
    from surefind.model import Query

    async def search(application: "Application") -> "SearchResult":
        query = Query(
            source.question,
            top_k=source.top_k,
            mode=source.mode,
            collection=application.settings.collection,
        )
        return await application.searching.search(query)

    result = run(search, collection=collection, data_dir=data_dir)
    picks = _picks(source, result)
    criteria = SuccessCriteria(1.0, source.min_similarity)
    if picks is None:
        kind = TestKind.NEGATIVE
        return GoldenTest(name, source.question, kind, (), criteria, source.category)
    chosen = [(result.hits[rank - 1].record, grade) for rank, grade in picks.items()]

    async def expectations(application: "Application") -> "tuple[Expectation, ...]":
        return await application.validation.expectations_for(chosen)

    expected = run(expectations, collection=collection, data_dir=data_dir)
    return GoldenTest(name, source.question, TestKind.POSITIVE, expected, criteria, source.category)


def _picks(source: _GoldenSource, result: "SearchResult") -> dict[int, int] | None:
    """Rank -> grade; None if nothing answers the question."""
    if source.expect is Expect.NONE:
        return None
    if source.pick is not None:
        return read_picks(source.pick, len(result.hits))
    return ask_which(result)


def _append(file: Path, test: "GoldenTest") -> None:
    """Rereads the file first: it may have changed while the user was choosing."""
    from surefind.adapters.files.golden_files import content_of, write_golden
    from surefind.evaluation.golden.writing import new_file, with_test

    if file.exists():
        write_golden(file, with_test(file.name, content_of(file), test), is_new=False)
        return
    if file.suffix.casefold() in {".yaml", ".yml"}:
        remark = _REMARKS[0]
        write_golden(file, new_file([test], [remark]).encode(), is_new=True)
        return
    empty = b"" if file.suffix.casefold() in {".jsonl", ".ndjson"} else b'{"tests": []}\n'
    write_golden(file, with_test(file.name, empty, test), is_new=True)


def _json(file: Path, test: "GoldenTest") -> dict[str, Any]:
    from surefind.evaluation.golden.writing import values_of

    return {"file": str(file), "test": values_of(test)}
