"""What a user installs: light, complete, and quick to start."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[3]


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """The output of a command, which has to succeed. Coverage of a copy would have no source."""
    unmeasured = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        command,
        cwd=folder,
        env=unmeasured | environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def build(target: str, folder: Path) -> Path:
    run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder], PROJECT)
    [built] = folder.glob("surefind-*")
    return built


def test_the_wheel_holds_everything_that_is_needed_at_run_time(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path)) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("surefind/")}
    source = PROJECT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "surefind").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == wanted
    assert {"surefind/adapters/sqlite/catalog.sql", "surefind/interfaces/web/index.html"} <= packed


def test_links_of_the_readme_work_on_an_index_page(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path)) as wheel:
        [metadata] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        fields, _, readme = wheel.read(metadata).decode().partition("\n\n")
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    repository = re.search(r"^Project-URL: Repository, (\S+)$", fields, re.MULTILINE)
    assert repository
    assert f"{repository[1]}/blob/main/docs/tutorial.md" in targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path / "dist")
    venv.create(tmp_path / "env", with_pip=True)
    python, surefind = (tmp_path / "env" / "bin" / name for name in ("python", "surefind"))
    pip: list[str | Path] = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-compile",
    ]
    run([*pip, "--require-hashes", "-r", PROJECT / "requirements" / "base.txt"], tmp_path)
    run([*pip, "--no-deps", wheel], tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "undo.md").write_text("# Undo\n\nPress Ctrl Z to undo an edit.\n")
    assert run([surefind, "--version"], tmp_path).startswith("surefind ")
    run([surefind, "ingest", "pages"], tmp_path)
    assert "Press Ctrl Z" in run([surefind, "search", "undo"], tmp_path)


@pytest.mark.thorough
def test_the_source_distribution_runs_its_own_tests(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path / "dist")) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.glob("surefind-*")
    wanted = {"Makefile", "requirements", "tests", "docs", "bench", ".ci"}
    assert wanted <= {entry.name for entry in source.iterdir()}
    tests = ["tests/unit/test_urls.py", "tests/interfaces/project/test_documentation.py"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    assert " passed" in run(command, source, PYTHONPATH=str(source / "src"))


def test_a_base_install_is_light() -> None:
    locked = (PROJECT / "requirements" / "base.txt").read_text()
    names = {line.split("==")[0] for line in locked.splitlines() if "==" in line}
    assert "qdrant-edge-py" in names
    assert not names & {"torch", "transformers", "langchain", "langchain-core", "scipy", "pandas"}


def test_every_requirement_is_pinned_and_hashed_and_names_no_index() -> None:
    for path in (PROJECT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        assert "--index" not in text
        for requirement in text.replace("\\\n", " ").splitlines():
            assert "==" in requirement, requirement
            assert "--hash=sha256:" in requirement, requirement


def test_help_waits_for_nothing_heavy() -> None:
    """A second of imports before a line of help is a second too many."""
    heavy = ("numpy", "onnxruntime", "tokenizers", "qdrant_edge", "fastapi", "pydantic")
    program = (
        "import sys, surefind.interfaces.cli\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_every_supported_python_is_tested() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    workflow = yaml.safe_load((PROJECT / ".github/workflows/check.yml").read_text())
    assert workflow["jobs"]["check"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"
