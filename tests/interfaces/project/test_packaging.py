"""What a user installs: light, complete, and quick to start."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import yaml

PROJECT = Path(__file__).parents[3]


def test_the_wheel_holds_everything_that_is_needed_at_run_time(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, timeout=60)
    with zipfile.ZipFile(next(tmp_path.glob("surefind-*.whl"))) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("surefind/")}
    source = PROJECT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "surefind").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == wanted
    assert {"surefind/adapters/sqlite/catalog.sql", "surefind/interfaces/web/index.html"} <= packed


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
