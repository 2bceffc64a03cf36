"""Where `surefind validate` writes: never over what it reads, never two reports into one file."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from support.homes import copy_home
from surefind.errors import InputError
from surefind.interfaces.cli import app
from surefind.interfaces.cli.validation.report_files import ReportFiles, files_read

GOLDEN = """\
tests:
  - test_id: power
    query_text: Which voltage?
    expected_results: [{source_path: docs/guide/install.md, heading: Power}]
"""
TOPICS = "1\tDescale the teapot\n"
QRELS = "1 0 cleaning 1\n"
FILE_OPTIONS = ("--html", "--markdown", "--junit", "--save-baseline", "--tests-out")


@pytest.fixture(scope="module")
def shared(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("files") / "home"
    copy_home(ingested, target)
    return target


@pytest.fixture
def work(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tests, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUREFIND_DATA_DIR", str(shared / ".surefind"))
    Path("golden.yaml").write_text(GOLDEN)
    Path("topics.tsv").write_text(TOPICS)
    Path("qrels.txt").write_text(QRELS)
    return tmp_path


def validate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments, "--no-history"])


def refusal(*arguments: str) -> str:
    done = validate(*arguments)
    assert isinstance(done.exception, InputError), done.output
    assert done.stdout == ""
    return str(done.exception)


@pytest.mark.parametrize("option", FILE_OPTIONS)
def test_the_file_of_tests_is_not_written_over(work: Path, option: str) -> None:
    said = refusal("golden.yaml", option, "golden.yaml")
    assert said == (
        f"{option} golden.yaml would overwrite the file of tests, golden.yaml; name another file"
    )
    assert Path("golden.yaml").read_text() == GOLDEN


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_file_by_another_name_is_the_same_file(work: Path, link: object) -> None:
    link(Path("report.html"), work / "golden.yaml")  # type: ignore[operator]
    assert "report.html would overwrite the file of tests, golden.yaml" in refusal(
        "golden.yaml", "--html", "report.html"
    )
    (work / "sub").mkdir()
    assert "the file of tests" in refusal("golden.yaml", "--html", "sub/../golden.yaml")


def test_judgements_and_a_baseline_are_not_written_over(work: Path) -> None:
    topics = ("topics.tsv", "--qrels", "qrels.txt")
    assert "the file of judgements" in refusal(*topics, "--junit", "qrels.txt")
    said = refusal(*topics, "--trec-out", ".")
    assert said.startswith("--trec-out qrels.txt would overwrite the file of judgements, qrels.txt")
    assert Path("qrels.txt").read_text() == QRELS
    assert validate("golden.yaml", "--save-baseline", "base.json").exit_code == 0
    said = refusal("golden.yaml", "--baseline", "base.json", "--html", "base.json")
    assert "would overwrite the baseline" in said


def test_a_beir_folder_keeps_what_beir_put_there(work: Path) -> None:
    beir = work / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "queries.jsonl").write_text('{"_id": "1", "text": "Descale the teapot"}\n')
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tcleaning\t1\n")
    for name in ("queries.jsonl", "qrels/test.tsv"):
        assert "a file of the tests" in refusal("beir", "--html", f"beir/{name}")
    for _ in range(2):
        assert validate("beir", "--html", "beir/report.html").exit_code == 0


def test_a_baseline_that_is_compared_with_may_be_brought_up_to_date(work: Path) -> None:
    assert validate("golden.yaml", "--save-baseline", "base.json").exit_code == 0
    first = json.loads(Path("base.json").read_text("utf-8"))["run_id"]
    both = ("--baseline", "base.json", "--save-baseline", "base.json")
    assert validate("golden.yaml", *both).exit_code == 0
    told = json.loads(Path("base.json").read_text("utf-8"))
    assert told["comparison"]["baseline_run_id"] == first != told["run_id"]


def test_two_reports_are_not_written_into_one_file(work: Path) -> None:
    said = refusal("golden.yaml", "--html", "same", "--markdown", "./same")
    assert said == "--markdown and --html both write same; name two files"
    said = refusal("golden.yaml", "--junit", "out", "--trec-out", "out")
    assert "one is inside the other" in said
    assert not Path("same").exists()


def test_pipes_and_devices_hold_nothing_that_could_be_lost() -> None:
    nowhere = Path(os.devnull)
    ReportFiles(html=nowhere, markdown=nowhere).check(files_read(nowhere, None, None))


@pytest.mark.parametrize("option", [*FILE_OPTIONS, "--trec-out"])
def test_where_nothing_can_be_made_is_reported_before_anything_is_asked(
    work: Path, option: str
) -> None:
    """Root may write anywhere, says the system; only trying tells that /proc takes no files."""
    assert "can't be written: " in refusal("golden.yaml", option, "/proc/x/report")


def test_trying_leaves_nothing_behind_and_changes_nothing(work: Path) -> None:
    Path("old.html").write_text("an earlier report")
    Path("new.md").symlink_to(work / "there.md")
    files = ReportFiles(html=Path("old.html"), markdown=Path("new.md"), junit=Path("a/b/c.xml"))
    files.check()
    assert Path("old.html").read_text() == "an earlier report"
    names = {path.name for path in work.iterdir()}
    assert names == {"golden.yaml", "new.md", "old.html", "qrels.txt", "topics.tsv"}
    os.mkfifo("pipe")
    ReportFiles(html=Path("pipe")).check()


@pytest.mark.parametrize("name", ["tests.json", "tests.jsonl", "tests.ndjson"])
def test_the_tests_of_a_run_can_be_run_again_whatever_their_form(work: Path, name: str) -> None:
    assert validate("golden.yaml", "--tests-out", f"out/{name}").exit_code == 0
    again = json.loads(validate(f"out/{name}", "--json").stdout)
    assert [test["test_id"] for test in again["tests"]] == ["power"]
    assert again["totals"]["passed"] == 1


@pytest.mark.parametrize("name", ["tests.json", "tests.jsonl"])
def test_the_tests_of_a_run_ask_in_the_same_way_again(work: Path, name: str) -> None:
    """Without its filter, its number of results and its mode a test is another test."""
    Path("filtered.yaml").write_text(
        "top_k: 2\nmode: dense\ncollapse: off\ngroup_by: document\ntests:\n"
        "  - {test_id: power, query_text: Which voltage?, where: 'source_path^=docs/guide', "
        "expected_results: [{source_path: docs/guide/install.md}]}\n"
        "  - {test_id: lid, query_text: What is E42?, expected_results: [{text: lid is open}]}\n"
    )
    asked = validate("filtered.yaml", "--json", "--tests-out", name)
    again = json.loads(validate(name, "--json").stdout)
    before = json.loads(asked.stdout)
    for key in ("top_k", "mode", "collapse", "group_by"):
        assert again["subject"][key] == before["subject"][key]
    assert [test["where"] for test in again["tests"]] == [["source_path^=docs/guide"], []]
    found = [[hit["chunk_id"] for hit in test["found"]] for test in before["tests"]]
    assert [[hit["chunk_id"] for hit in test["found"]] for test in again["tests"]] == found


@pytest.mark.parametrize("option", [*FILE_OPTIONS, "--trec-out"])
def test_a_report_is_not_written_to_a_file_called_minus(work: Path, option: str) -> None:
    done = validate("golden.yaml", option, "-")
    assert "can't write to stdout (-)" in str(done.exception)
    assert not (work / "-").exists()
