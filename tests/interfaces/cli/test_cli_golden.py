"""`surefind golden`, as a person at a terminal and as a script meet it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from support.homes import copy_home
from support.terminal import at_a_terminal
from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import GoldenSet, read_golden_yaml
from surefind.interfaces.cli import app
from surefind.interfaces.cli.console import INTERRUPTED

QUESTION = "What does the error E42 mean?"


@pytest.fixture(scope="module")
def shared(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("golden") / "home"
    copy_home(ingested, target)
    return target


@pytest.fixture
def folder(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in; the collection is that of all tests here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUREFIND_DATA_DIR", str(shared / ".surefind"))
    return tmp_path


def golden(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["golden", *arguments], input=typed)


def written(name: str = "golden.yaml") -> GoldenSet:
    return read_golden_yaml(name, Path(name).read_bytes())


def refusal(result: Result) -> str:
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_init_proposes_tests_that_pass(folder: Path) -> None:
    done = golden("init", "--number", "3")
    assert done.exit_code == 0, done.output
    assert "golden.yaml: 3 tests" in done.stdout
    assert Path("golden.yaml").read_text().startswith("# Golden tests: questions")
    assert len(written().tests) == 3
    checked = CliRunner().invoke(app, ["validate", "golden.yaml", "--json", "--no-history"])
    assert json.loads(checked.stdout)["totals"]["passed"] == 3


def test_init_overwrites_a_file_only_on_request(folder: Path) -> None:
    Path("golden.yaml").write_text("mine")
    assert "already exists" in refusal(golden("init"))
    assert Path("golden.yaml").read_text() == "mine"
    assert golden("init", "--force", "-n", "1").exit_code == 0
    assert len(written().tests) == 1
    assert "use a name ending in .yaml" in refusal(golden("init", "tests.txt"))


def test_a_person_picks_by_numbers_and_is_asked_again_where_it_makes_no_sense(
    folder: Path,
) -> None:
    done = golden("add", QUESTION, typed="what?\n99\n\n1:3\n")
    assert done.exit_code == 0, done.output
    assert "is not a hit" in done.stderr
    assert "there is no hit 99" in done.stderr
    assert "E42" in done.stderr
    [test] = written().tests
    assert test.test_id == "what-does-the-error-e42-mean"
    [expected] = test.expected
    assert (str(expected), expected.grade) == ("docs/reference/errors.md under 'E42'", 3)


def test_a_script_picks_and_the_file_keeps_its_comments(folder: Path) -> None:
    Path("golden.yaml").write_text("# mine\ntests: []  # none\n")
    done = golden("add", QUESTION, "--pick", "1", "--json", "--category", "codes", "--id", "e42")
    assert json.loads(done.stdout)["test"]["test_id"] == "e42"
    assert golden("add", "Where do I buy socks?", "--expect", "none").exit_code == 0
    more = golden("add", "Which voltage?", "--pick", "1,2", "--min-similarity", "0.3")
    assert more.exit_code == 0, more.output
    text = Path("golden.yaml").read_text()
    assert text.startswith("# mine\ntests:  # none\n")
    tests = written().tests
    assert [test.kind.value for test in tests] == ["positive", "negative", "positive"]
    assert (tests[0].category, tests[2].criteria.min_similarity_score) == ("codes", 0.3)
    assert len(tests[2].expected) == 2


@pytest.mark.parametrize("name", ["new.yaml", "deep/er/new.json", "new.jsonl"])
def test_a_new_file_of_any_form_is_made(folder: Path, name: str) -> None:
    for question in (QUESTION, "Which voltage?"):
        done = golden("add", question, "--file", name, "--pick", "1")
        assert done.exit_code == 0, done.output
    checked = golden("lint", name, "--json")
    told = json.loads(checked.stdout)
    assert (told["schema"], told["file"], told["tests"]) == ("surefind.lint/1", name, 2)
    assert told["findings"] == []


def test_what_a_run_wrote_takes_one_more(folder: Path) -> None:
    Path("golden.yaml").write_text(f"- test_id: a\n  query_text: {QUESTION}\n")
    assert golden("add", "Which voltage?", "--pick", "1").exit_code == 0
    asked = ["validate", "golden.yaml", "--tests-out", "done.json", "--no-history"]
    CliRunner().invoke(app, asked)
    done = golden("add", "Where do I buy socks?", "--file", "done.json", "--expect", "none")
    assert done.exit_code == 0, done.output
    ids = ["which-voltage", "where-do-i-buy-socks"]  # what expects nothing is no test there
    assert [test.test_id for test in written("done.json").tests] == ids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pick", "0"], "there is no hit 0"),
        (["--pick", "1,1"], "hit 1 is listed twice"),
        (["--pick", "1:0"], "the grade must be from 1 to 100"),
        (["--pick", "first"], "'first' is not a hit"),
        (["--pick", "1", "--expect", "none"], "can't be combined"),
        (["--pick", "1", "--file", "a.txt"], "tests are stored as .yaml, .json or .jsonl"),
        (["--pick", "1", "--file", "broken.yaml"], "broken.yaml, line 2: invalid YAML"),
        (["--pick", "1", "--file", "has.yaml"], "has.yaml, line 1: a already asks this question"),
        (["--pick", "1", "--id", "b", "--file", "has.yaml"], "already asks this question"),
        (["--pick", "1", "--file", "loud.yaml"], "loud.yaml, line 1: a already asks this question"),
        (["--top-k", "0"], "top_k must be a whole number from 1 to 1000, not 0"),
        ([], "there is no terminal to pick hits; use --pick 1,3 or --expect none"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    folder: Path, arguments: list[str], message: str
) -> None:
    Path("broken.yaml").write_text("tests: {")
    Path("has.yaml").write_text(f"tests: [{{test_id: a, query_text: '{QUESTION.upper()}'}}]")
    loud = "  what does the error  e42 - mean "
    Path("loud.yaml").write_text(f"tests: [{{test_id: a, query_text: '{loud}'}}]")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert message in refusal(golden("add", QUESTION, *arguments))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_who_leaves_adds_nothing_and_none_is_a_negative(folder: Path) -> None:
    left = golden("add", QUESTION, typed="q\n")
    assert (left.exit_code, left.stdout) == (0, "")
    assert left.stderr.endswith("Which are correct? surefind: nothing was added\n")
    assert not Path("golden.yaml").exists()
    assert golden("add", QUESTION, typed="n\n").exit_code == 0
    assert written().tests[0].kind.value == "negative"
    taken = golden("add", "Which voltage?", "--pick", "1", "--id", "what-does-the-error-e42-mean")
    assert "a test what-does-the-error-e42-mean already exists" in refusal(taken)


def test_ctrl_c_leaves_at_once_and_adds_nothing(folder: Path) -> None:
    ended, screen = at_a_terminal(
        "golden", "add", QUESTION, question=b"Which are correct?", keys=b"\x03", cwd=folder
    )
    assert ended == INTERRUPTED, screen
    assert screen.count("^C") == 1, "once is enough"
    assert screen.endswith("surefind: stopped; nothing was added\r\n")
    assert list(folder.iterdir()) == []


def test_a_question_that_is_asked_elsewhere_is_another(folder: Path) -> None:
    Path("golden.yaml").write_text(
        f"tests: [{{test_id: a, query_text: '{QUESTION}', where: tokens>3}}]"
    )
    assert golden("add", QUESTION, "--pick", "1").exit_code == 0


def test_a_file_that_can_not_be_written_stays_and_the_choice_is_shown(folder: Path) -> None:
    Path("stands").write_text("in the way")
    done = golden("add", QUESTION, "--file", "stands/golden.yaml", "--pick", "1")
    assert "can't be written" in refusal(done)
    assert "so that your choice is not lost" in done.stderr
    assert "query_text:" in done.stderr


def test_lint_shows_what_is_wrong_and_exits_1(folder: Path) -> None:
    Path("golden.yaml").write_text(
        "tests:\n"
        "  - {test_id: a, query_text: What is E42?, expected_results: [{text: lid is open}]}\n"
        "  - {test_id: b, query_text: what is e42, expect: none}\n"
        "  - {test_id: c, query_text: Which voltage?, expected_results: [gone]}\n"
    )
    done = golden("lint")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "golden.yaml:3: error: contradictory: b: its question equals that of a, but only one "
        "expects an answer",
        "golden.yaml:4: error: stale: c: nothing in the collection matches chunk gone",
        "3 tests, 2 errors, 0 warnings",
    ]
    told = json.loads(golden("lint", "--json").stdout)
    assert [one["problem"] for one in told["findings"]] == ["contradictory", "stale"]


def test_lint_of_no_tests_is_exit_3_and_of_no_file_a_mistake(folder: Path) -> None:
    Path("golden.yaml").write_text("tests: []")
    assert golden("lint").exit_code == 3
    assert "nothing.yaml does not exist" in refusal(golden("lint", "nothing.yaml"))


WRONG_WHERE = """\
tests:
  - test_id: a
    query_text: What is E42?
    expected_results: [{text: lid is open}]
    where:
      - tokens>=1
      - "((("
"""


@pytest.mark.parametrize("command", [["golden", "lint"], ["validate"], ["ingest", ".", "--gate"]])
def test_a_condition_that_can_not_be_read_is_a_mistake_in_the_file(
    folder: Path, command: list[str]
) -> None:
    Path("golden.yaml").write_text(WRONG_WHERE)
    refused = CliRunner().invoke(app, [*command, "golden.yaml"])
    assert refusal(refused).startswith(
        "golden.yaml, line 7: where: '(((' is not a valid condition; write"
    )
    unknown = WRONG_WHERE.replace('"((("', "colour=red")
    Path("golden.yaml").write_text(unknown)
    told = json.loads(golden("lint", "--json").stdout)
    assert [one["problem"] for one in told["findings"]] == ["unanswerable"]
