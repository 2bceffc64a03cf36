"""The programs of docs/contracts.md run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import surefind

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "contracts.md").read_text()
SCRIPTS = re.findall(r"^```python\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's own pages, made by its own commands, ingested."""
    home = tmp_path_factory.mktemp("handbook")
    tutorial = (DOCS / "tutorial.md").read_text()
    pages = re.findall(r"^cat > (\S+) <<'END'\n(.+?)^END$", tutorial, re.MULTILINE | re.DOTALL)
    for path, text in pages:
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_text(text)
    assert surefind("ingest", "handbook", cwd=home).returncode == 0
    return home


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_program_runs(handbook: Path, script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=handbook,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = "2 1.0\n====" if "to_summary" in script else "384 BAAI/bge-small-en-v1.5-int8\n0."
    assert done.stdout.startswith(expected)
