"""Every benchmark of the Makefile starts, and one measures surefind's own stores."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(set(re.findall(r"-m (bench\.[\w.]+)", (ROOT / "Makefile").read_text())))


def run(module: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("module", MODULES)
def test_it_starts_and_describes_its_options(module: str) -> None:
    assert module.rpartition(".")[2] in run(module, "--help")


def test_surefind_answers_beside_bare_engine_calls() -> None:
    shown = run("bench.speed.engine_calls", "--sizes", "1000", "--questions", "20")
    assert "| 1000 | hybrid |" in shown
