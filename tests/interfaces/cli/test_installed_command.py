"""The installed command, in a process that has imported nothing before.

Other tests run commands in processes forked from one that has imported everything; here every
command has to find what it needs by itself, and says the same as it does there.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from support.commands import COMMAND, surefind
from surefind.interfaces.cli import app

pytestmark = pytest.mark.thorough

GOLDEN = """
tests:
  - {test_id: a, query_text: Which voltage?, expected_results: [{text: 230 volts}]}
"""

# One of each module of the command line; `serve`, `ingest` and `search` are run so elsewhere too.
LINES = {
    "audit": (0, "no problems found"),
    "catalog migrate": (2, "DATABASE_URL is not set"),
    "chunks count": (0, "6 chunks in the catalog, 6 in the index"),
    "collections list": (0, "docs"),
    "compare golden.yaml": (2, "2 to 8 targets"),
    "connect --collection mine": (2, "QDRANT_URL"),
    "doctor": (0, "docs"),
    "export out.tar": (0, "out.tar"),
    "gaps": (0, "the query log is off"),
    "drift": (0, "no alert"),
    "generations list": (0, "generation"),
    "golden lint golden.yaml": (0, "0 errors"),
    "import nothing.tar": (2, "nothing.tar"),
    "ingest docs --dry-run": (0, "unchanged"),
    "inspect docs/index.md": (0, "Teapot"),
    "keys list": (0, ""),
    "mcp": (0, ""),  # its client has closed the input
    "model fetch": (0, "bge-small"),
    "promote --to qdrant": (2, "QDRANT_URL"),
    "query vinegar --json": (0, "Descale"),
    "search vinegar --mode lexical": (0, "Descale"),
    "serve --port many": (2, "--port"),
    "settings": (0, "SUREFIND_DATA_DIR"),
    "validate golden.yaml": (0, "1 of 1 passed"),
}


def test_every_group_of_commands_is_among_them() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    assert {line.split()[0] for line in LINES} == set(root.commands)


@pytest.mark.parametrize("line", LINES)
def test_a_command_finds_what_it_needs_by_itself(home: Path, line: str) -> None:
    (home / "golden.yaml").write_text(GOLDEN)
    without_coverage = {key: value for key, value in os.environ.items() if "COVERAGE" not in key}
    done = subprocess.run(
        [COMMAND, *line.split()],
        cwd=home,
        env={**without_coverage, "NO_COLOR": "1", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    code, words = LINES[line]
    assert (done.returncode, words in done.stdout + done.stderr) == (code, True), done
    (home / "out.tar").unlink(missing_ok=True)
    forked = surefind(*line.split(), cwd=home)
    assert (forked.returncode, timeless(forked.stdout), timeless(forked.stderr)) == (
        done.returncode, timeless(done.stdout), timeless(done.stderr)
    )  # fmt: skip


def timeless(text: str) -> list[str]:
    """Line by line, without what is measured or drawn by chance, and without how far it is."""
    lines = (re.sub(r"\S*\d\S*", "0", line) for line in text.splitlines())
    progress = re.compile(r"surefind: [a-z ]+( 0 MB)?: 0( of 0)?")
    return [line for line in lines if not progress.fullmatch(line)]
