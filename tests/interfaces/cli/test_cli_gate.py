"""A gate on the command line: what it holds back, what it says, and how to publish it anyway."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from surefind.errors import InputError, UnknownGeneration
from surefind.interfaces.cli import app

GOLDEN = """
top_k: 2
tests:
  - test_id: power
    query_text: Which voltage does the socket need?
    expected_results:
      - {source_path: docs/guide/install.md, heading: Power}
"""


def surefind(*arguments: str) -> Result:
    """In this process: what is printed and the exit code are those of the command."""
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def gated(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose manual no longer says what the golden test asks for."""
    monkeypatch.chdir(home)
    (home / "golden.yaml").write_text(GOLDEN)
    (home / "docs/guide/install.md").write_text("# Installing\n\n## Power\n\nAsk a friend.")
    for number in range(3):
        (home / f"docs/more{number}.md").write_text(
            f"# Sockets {number}\n\nWhich voltage does socket {number} need? Many volts."
        )
    return home


def test_what_fails_is_held_back_and_can_be_inspected_and_published(gated: Path) -> None:
    plan = surefind("ingest", "docs", "--gate", "golden.yaml", "--dry-run")
    assert "would run 1 test from golden.yaml before publishing" in plan.stdout
    done = surefind("ingest", "docs", "--gate", "golden.yaml")
    assert done.exit_code == 1, done.output
    assert "docs: generation 2 held back, generation 1 stays" in done.stdout
    assert "gate     failed: 0 of 1 passed (golden.yaml)" in done.stdout
    assert "failed   power: Which voltage does the socket need?" in done.stdout
    assert "`surefind generations publish 2`" in done.stdout
    listed = surefind("generations", "list").stdout.splitlines()
    assert [line[0] for line in listed[1:]] == ["*", " "]
    assert listed[2].endswith("(held back)")
    shown = surefind("generations", "show", "2").stdout
    assert "held back by a gate" in shown
    assert "outranked" in shown
    tested = surefind("validate", "golden.yaml", "--generation", "2", "--json", "--html", "2.html")
    assert (tested.exit_code, json.loads(tested.stdout)["subject"]["generation"]) == (1, 2)
    assert "need? Many volts." in (gated / "2.html").read_text()
    assert surefind("validate", "golden.yaml").exit_code == 0
    assert "generation 2 is current" in surefind("generations", "publish", "2").stdout
    assert "generation 2, current" in surefind("generations", "show").stdout
    unknown = surefind("generations", "publish", "7")
    assert isinstance(unknown.exception, UnknownGeneration)


def test_the_settings_may_name_it_and_json_shows_its_result(gated: Path) -> None:
    (gated / "surefind.toml").write_text('gate = "golden.yaml"')
    told = json.loads(surefind("ingest", "docs", "--json").stdout)
    assert (told["published"], told["generation"]) == (False, 1)
    gate = told["gate"]
    assert (gate["generation"], gate["verdict"], gate["held"]) == (2, "fail", True)
    assert gate["failed"][0]["test_id"] == "power"
    assert gate["compared_with"] == 1
    shown = json.loads(surefind("generations", "show", "2", "--json").stdout)
    assert (shown["current"], shown["gate"]) == (False, gate)
    open_door = surefind("ingest", "docs", "--no-gate")
    assert (open_door.exit_code, "generation 3 published" in open_door.stdout) == (0, True)


def test_an_inconclusive_gate_is_exit_3_on_request(gated: Path) -> None:
    (gated / "golden.yaml").write_text(GOLDEN.replace("docs/guide/install.md", "docs/gone.md"))
    strict = surefind("ingest", "docs", "--gate", "golden.yaml", "--gate-strict")
    assert (strict.exit_code, "gate     inconclusive" in strict.stdout) == (3, True)
    lenient = surefind("ingest", "docs", "--gate", "golden.yaml")
    assert (lenient.exit_code, "generation 3 published" in lenient.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gate", "nothing.yaml"), "nothing.yaml"),
        (("--gate", "golden.yaml", "--no-gate"), "can't be combined"),
    ],
)
def test_a_callers_mistake_builds_nothing(
    gated: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = surefind("ingest", "docs", *arguments)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not (gated / ".surefind/collections/docs/0002").exists()
