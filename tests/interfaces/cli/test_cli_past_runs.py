"""`validate --html` and `--history`: what a run leaves behind for whoever comes later."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from support.homes import copy_home
from surefind.errors import InputError
from surefind.interfaces.cli import app

GOLDEN = """\
tests:
  - test_id: power
    query_text: Which voltage?
    expected_results: [{source_path: docs/guide/install.md, heading: Power}]
"""


@pytest.fixture(scope="module")
def shared(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("runs") / "home"
    copy_home(ingested, target)
    return target


@pytest.fixture
def runs(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where runs are kept, empty; the tests are in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUREFIND_DATA_DIR", str(shared / ".surefind"))
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "golden.yaml").write_text(GOLDEN)
    kept = shared / ".surefind" / "collections" / "docs" / "runs"
    if kept.is_dir():
        shutil.rmtree(kept)
    kept.unlink(missing_ok=True)
    return kept


def validate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments])


def test_runs_are_kept_and_listed_with_their_trend(runs: Path) -> None:
    for _ in range(2):
        assert validate("golden.yaml").exit_code == 0
    assert validate("golden.yaml", "--mode", "dense", "--top-k", "1").exit_code == 0
    assert validate("golden.yaml", "--no-history").exit_code == 0
    assert len(list(runs.iterdir())) == 3
    shown = validate("--history")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].split()[:3] == ["when", "(UTC)", "gen."]
    assert len([line for line in lines if "golden.yaml" in line and "pass" in line]) == 3
    assert lines[-1].startswith("golden.yaml (hybrid, top 5): nDCG@5 ▅▅ 1.0000 -> 1.0000")
    told = json.loads(validate("--history", "--json").stdout)
    assert [run["mode"] for run in told["runs"]] == ["hybrid", "hybrid", "dense"]
    assert [len(trend["runs"]) for trend in told["trends"]] == [2]
    assert len(json.loads(validate("--history", "--json", "-n", "1").stdout)["runs"]) == 1


def test_a_file_asks_for_its_own_runs(runs: Path) -> None:
    assert validate("golden.yaml").exit_code == 0
    Path("other.yaml").write_text(GOLDEN.replace("Which voltage", "How many volts"))
    assert "no runs of other.yaml yet" in validate("other.yaml", "--history").stdout
    validate("other.yaml")
    told = json.loads(validate("other.yaml", "--history", "--json").stdout)
    assert [run["golden"] for run in told["runs"]] == ["other.yaml"]


def test_damaged_runs_are_reported_and_the_others_shown(runs: Path) -> None:
    assert "no runs yet" in validate("--history").stdout
    runs.mkdir()
    (runs / "20260101T000000.000000Z-x.json").write_text("{")
    shown = validate("--history")
    assert (shown.exit_code, shown.stdout) == (0, "no readable runs\n")
    assert "skipped an unreadable record of an earlier run" in shown.stderr
    page = validate("golden.yaml", "--html", "report.html")
    assert page.exit_code == 0
    assert "skipped an unreadable record" in page.stderr
    assert Path("report.html").exists()


def test_a_run_that_can_not_be_kept_has_the_same_result(runs: Path) -> None:
    runs.write_text("a file stands in the way")
    done = validate("golden.yaml")
    assert done.exit_code == 0
    assert "this run was not recorded for --history" in done.stderr


def test_the_page_shows_passages_and_the_trend(runs: Path) -> None:
    for _ in range(2):
        assert validate("golden.yaml", "--html", "out/report.html").exit_code == 0
    page = Path("out/report.html").read_text("utf-8")
    assert "socket of 230 volts" in page
    assert "nDCG@5 in the last 2 runs of these tests" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--history", "--html", "x.html"], "--history runs no tests"),
        (["--history", "--baseline", "x.json"], "--history runs no tests"),
        (["--history", "nothing.yaml"], "nothing.yaml does not exist"),
        (["--history", "--collection", "nope"], "there is no collection 'nope' yet"),
        (["golden.yaml", "--html", "."], "can't be written: it is a folder"),
        (["golden.yaml", "--html", "golden.yaml/x.html"], "golden.yaml is not a folder"),
        (["golden.yaml", "--trec-out", "golden.yaml"], "golden.yaml is not a folder"),
        (["--history", "--tests-out", "x.json"], "--history runs no tests"),
    ],
)
def test_mistakes_are_reported_before_anything_is_asked(
    runs: Path, arguments: list[str], message: str
) -> None:
    done = validate(*arguments)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not runs.exists()
