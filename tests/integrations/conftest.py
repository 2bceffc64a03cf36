"""A handbook, ingested once, and a server of it, for the frameworks in `.venv-integrations`."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import serving, surefind
from support.homes import copy_home
from support.kiln import PAGES, Served
from surefind import Surefind
from surefind import open as open_folder

# Read when the frameworks are imported. No test calls home.
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false"}


def pytest_configure(config: pytest.Config) -> None:
    """LangChain's tests have marks of plugins that these tests do without."""
    for mark in ("benchmark", "vcr"):
        config.addinivalue_line("markers", f"{mark}: used by langchain-tests")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with docs/ and a data folder; tests only read it."""
    home = tmp_path_factory.mktemp("kiln")
    for path, text in PAGES.items():
        (home / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (home / "docs" / path).write_text(text)
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="session")
def data_dir(home: Path) -> Path:
    return home / ".surefind"


@pytest.fixture(scope="session")
def docs(data_dir: Path) -> Iterator[Surefind]:
    with open_folder(data_dir=data_dir) as docs:
        yield docs


@pytest.fixture(scope="session")
def served(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a copy, with a key."""
    copy = tmp_path_factory.mktemp("served") / "home"
    copy_home(home, copy)
    created = surefind("keys", "create", "--name", "reader", cwd=copy)
    assert created.returncode == 0, created.stderr
    with serving(cwd=copy, SUREFIND_REQUEST_TIMEOUT_S="120") as (address, _):
        yield Served(address, created.stdout.strip())
