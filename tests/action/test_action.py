"""The GitHub Action: its steps' script, on two commits of a repository."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.commands import COMMAND

PROJECT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((PROJECT / "action.yml").read_text())
STEP = ACTION["runs"]["steps"][-1]
BASE = {
    "docs/power.md": "# Power\n\nIt is electric.",
    "docs/sockets.md": "# Sockets\n\nWhich voltage does the teapot need? See the label.",
    "docs/cleaning.md": "# Cleaning\n\nDescale the kettle with vinegar.\n\n[old](gone.md)",
    "docs/errors.md": "# Errors\n\n## E42\n\nThe lid is open.",
}
HEAD = {
    "docs/power.md": "# Power\n\nWhich voltage does the teapot need? It needs 230 volts.",
    "docs/sockets.md": "# Sockets\n\nThere are many kinds.",
    "docs/cleaning.md": "# Cleaning\n\nKeep it tidy.\n\n[old](gone.md) [new](lost.md)",
    "docs/kettle.md": "# Kettle\n\nHow do I descale the kettle? With vinegar.",
    "docs/errors.md": "# Errors\n\nThere are none.",
}
GOLDEN = """
top_k: 1
tests:
  - test_id: voltage
    query_text: Which voltage does the teapot need?
    expected_results: [{source_path: docs/power.md}]
  - test_id: descale
    query_text: "@ann: how do I descale the <b>kettle</b>?"
    expected_results: [{source_path: docs/cleaning.md}]
  - test_id: lid
    query_text: What does E42 mean?
    expected_results: [{source_path: docs/errors.md, heading: E42}]
  - test_id: sockets
    query_text: many kinds of sockets
    expected_results: [{source_path: docs/sockets.md}]
"""


@dataclass(frozen=True)
class Run:
    status: int
    said: str
    outputs: dict[str, str]
    summary: str

    @property
    def comment(self) -> str:
        return Path(self.outputs["comment"]).read_text()


def git(*arguments: str, cwd: Path) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=cwd, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(repository: Path, pages: dict[str, str]) -> str:
    shutil.rmtree(repository / "docs", ignore_errors=True)
    for name, text in pages.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    git("add", "--all", cwd=repository)
    git("commit", "--quiet", "--allow-empty", "--message", "docs", cwd=repository)
    return git("rev-parse", "HEAD", cwd=repository)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Its folder, and the commits without and with documentation before the last one."""
    folder = tmp_path_factory.mktemp("repository")
    git("init", "--quiet", cwd=folder)
    empty = commit(folder, {"golden.yaml": GOLDEN, "README.md": "Teapot"})
    base = commit(folder, BASE)
    commit(folder, HEAD)
    return folder, empty, base


def run(checkout: Path, tmp_path: Path, **inputs: str) -> Run:
    """The last step, as a runner starts it."""
    tools = tmp_path / "surefind-venv" / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for name, program in (("python", sys.executable), ("surefind", COMMAND)):
        if not (tools / name).exists():
            (tools / name).symlink_to(program)
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_text("")
    given = {"DOCS": "docs\n", "GOLDEN": "golden.yaml", "FAIL_ON": "lost", **inputs}
    assert set(given) == set(STEP["env"])
    environment = {
        **os.environ,
        **given,
        **{name: str(path) for name, path in files.items()},
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ACTION_PATH": str(PROJECT),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEP["run"]],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    said = done.stdout + done.stderr
    return Run(done.returncode, said, outputs, files["GITHUB_STEP_SUMMARY"].read_text())


def test_it_names_the_questions_that_changed(
    repository: tuple[Path, str, str], tmp_path: Path
) -> None:
    folder, _, base = repository
    done = run(folder, tmp_path, BASE=base)
    assert done.status == 1, done.said
    numbers = {name: done.outputs[name] for name in ("better", "worse", "lost", "broken-links")}
    assert numbers == {"better": "1", "worse": "1", "lost": "1", "broken-links": "1"}
    assert "❌ 1 lost, 1 worse, 1 broken links, 1 better (1 the same)" in done.comment
    lost, worse, better, links = done.comment.split("### ")[1:5]
    assert lost.startswith("Lost their answers\n\n- What does E42 mean? (lid: passed → stale")
    assert "descale: passed → failed" in worse
    assert r"&#64;ann: how do I descale the \<b\>kettle\</b\>?" in worse
    assert "voltage: failed → passed" in better
    assert "`docs/cleaning.md`: `lost.md`" in links
    assert "gone.md" not in links
    assert "## Retrieval validation" in done.comment
    assert done.summary.startswith("<!-- surefind -->\n## Documentation search")
    assert "## Retrieval validation" in done.summary
    assert "surefind" not in git("worktree", "list", cwd=folder)
    assert git("status", "--short", cwd=folder) == ""


def test_a_shallow_clone_fetches_the_base(
    repository: tuple[Path, str, str], tmp_path: Path
) -> None:
    folder, _, base = repository
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=folder)
    checkout = tmp_path / "checkout"
    git("clone", "--quiet", "--depth=1", f"file://{folder}", str(checkout), cwd=tmp_path)
    done = run(checkout, tmp_path, BASE=base, FAIL_ON="never")
    assert (done.status, done.outputs["better"]) == (0, "1"), done.said


def test_the_first_documentation_is_only_validated(
    repository: tuple[Path, str, str], tmp_path: Path
) -> None:
    folder, empty, _ = repository
    done = run(folder, tmp_path, BASE=empty)
    assert done.status == 0, done.said
    assert "The base has no documentation to compare with." in done.comment
    assert "## Retrieval validation" in done.comment


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"BASE": ""}, "base is empty; run this on pull requests"),
        ({"BASE": "--upload-pack=x"}, "is not a commit"),
        ({"BASE": "0" * 40}, "set fetch-depth: 0 in actions/checkout"),
        ({"DOCS": " \n"}, "docs is empty"),
        ({"DOCS": "docs\nnone"}, "none does not exist"),
        ({"GOLDEN": "none.yaml"}, "none.yaml does not exist"),
        ({"FAIL_ON": "always"}, "fail-on must be one of lost, worse, never"),
        ({"GOLDEN": "README.md"}, "surefind validate failed in base (2)"),
    ],
)
def test_what_is_wrong_is_an_annotation(
    repository: tuple[Path, str, str], tmp_path: Path, inputs: dict[str, str], reason: str
) -> None:
    folder, _, base = repository
    done = run(folder, tmp_path, **{"BASE": base, **inputs})
    assert done.status == 1
    assert done.outputs == {}
    [line] = [line for line in done.said.splitlines() if line.startswith("::error")]
    assert line.startswith("::error title=surefind::")
    assert reason in line


def test_inputs_and_outputs_are_documented_and_reach_the_script() -> None:
    page = (PROJECT / "docs/github-action.md").read_text()
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"| `{name}` |" in page
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.compare.outputs.{name} }}}}"
    assert not any("${{" in step.get("run", "") for step in ACTION["runs"]["steps"])


def test_actionlint_finds_nothing() -> None:
    """It checks the workflows, and the action as the workflow `docs` uses it."""
    program = PROJECT / ".venv-action/bin/actionlint"
    assert program.exists(), f"{program} does not exist: run `make action`, which installs it"
    done = subprocess.run([program], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
