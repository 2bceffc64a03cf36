"""Sites of our own, built once per session by the real generators in `.venv-sites`."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
GENERATORS = PROJECT / ".venv-sites" / "bin"


def generate(command: Sequence[str | Path], folder: Path, *, timeout_s: int = 170) -> None:
    """Run a generator of `.venv-sites` in a folder; its output explains a failure."""
    program = GENERATORS / command[0]
    if not program.exists():
        pytest.fail(f"{program} does not exist: run `make sites`, which installs it")
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "NO_UPDATE_NOTIFIER": "1",
        "CI": "true",
    }
    environment["PATH"] = f"{GENERATORS}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    if done.returncode:
        pytest.fail(f"{command[0]} failed in {folder}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
