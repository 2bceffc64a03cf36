"""A server for assistants that others wrote; their programs are in `.venv-assistants`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.commands import serving, surefind
from support.homes import copy_home

PROJECT = Path(__file__).parents[2]
PROGRAMS = PROJECT / ".venv-assistants" / "bin"
PAGES = {
    "index.md": "# Teapot\n\nThe teapot brews tea.",
    "install.md": "# Installing\n\n## Power\n\nPlug the cable into a socket of 230 volts.",
    "cleaning.md": "# Cleaning\n\nDescale the teapot with vinegar every month.",
}


@dataclass(frozen=True)
class Served:
    address: str
    key: str


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with docs/ and a data folder."""
    home = tmp_path_factory.mktemp("assistants") / "home"
    (home / "docs").mkdir(parents=True)
    for name, text in PAGES.items():
        (home / "docs" / name).write_text(text)
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="session")
def open_server(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Without keys, which the conformance tests can't send."""
    target = tmp_path_factory.mktemp("open") / "home"
    copy_home(home, target)
    with serving(cwd=target) as (address, _):
        yield address


@pytest.fixture(scope="session")
def served(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    target = tmp_path_factory.mktemp("guarded") / "home"
    copy_home(home, target)
    created = surefind("keys", "create", "--name", "assistant", cwd=target)
    assert created.returncode == 0, created.stderr
    with serving(cwd=target) as (address, _):
        yield Served(address, created.stdout.strip())


def program(name: str) -> Path:
    """A program of `.venv-assistants`."""
    path = PROGRAMS / name
    if not path.exists():
        pytest.fail(f"{path} does not exist: run `make assistants`, which installs it")
    return path
