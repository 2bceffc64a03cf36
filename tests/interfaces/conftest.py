"""One small documentation, ingested once by the real command."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.commands import serving, surefind
from support.homes import copy_home

PAGES = {
    "index.md": "# Teapot\n\nThe teapot brews tea and nothing else. It is no coffee machine.",
    "guide/install.md": (
        "# Installing\n\nPut the teapot on a stable table.\n\n## Power\n\nPlug the cable into a "
        "socket of 230 volts.\n\n## First brew\n\nFill in one litre of fresh water and press start."
    ),
    "guide/cleaning.md": "# Cleaning\n\nDescale the teapot with vinegar every month.",
    "reference/errors.md": (
        "# Errors\n\n## E42\n\nThe error E42 means that the lid is open.\n\n"
        "```\nteapot --status\n```"
    ),
}


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with docs/ and a data folder; tests only read it."""
    home = tmp_path_factory.mktemp("teapot")
    for path, text in PAGES.items():
        (home / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (home / "docs" / path).write_text(text)
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def home(ingested: Path, tmp_path: Path) -> Path:
    """A copy of it, to do anything with."""
    target = tmp_path / "home"
    copy_home(ingested, target)
    return target


@pytest.fixture(scope="session")
def contracts(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A client of a real server on loopback, for tests that only ask."""
    home = tmp_path_factory.mktemp("contracts") / "home"
    copy_home(ingested, home)
    patient = {"SUREFIND_REQUEST_TIMEOUT_S": "120"}  # a hundred long questions, on a busy machine
    with (
        serving(cwd=home, **patient) as (address, _),
        httpx2.Client(base_url=address, timeout=120) as client,
    ):
        yield client
