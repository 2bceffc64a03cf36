"""Fixtures that every suite may use."""

import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from support.postgres import PostgresService, running
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import locate
from surefind.adapters.files.data_folder import DataFolder
from surefind.settings import load

# CI tries the same examples every time: what is red there is red everywhere. At home each run looks
# at new ones.
hypothesis_settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis_settings.register_profile("home", deadline=None)  # timings never decide a test
hypothesis_settings.register_profile("quick", max_examples=25, deadline=None)
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "home")


# A shell that starts the tests in the background ignores SIGINT, and so would every command that
# the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was collected stays to the end; no collector of garbage has to look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def model_files() -> Path:
    """The real model; `make test` has fetched it, and a machine without it fails here."""
    return locate(None, load().cache_dir, print)


@pytest.fixture(scope="session")
async def bge(model_files: Path, anyio_backend: str) -> AsyncIterator[BgeSmallEmbedder]:
    embedder = BgeSmallEmbedder(model_files)
    yield embedder
    await embedder.close()


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    data = DataFolder(tmp_path / "data")
    data.prepare()
    return data


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the settings of the person who runs it."""
    for name in (
        "PORT",
        "QDRANT_URL",
        "QDRANT_API_KEY",
        "COHERE_API_KEY",
        "OPENAI_API_KEY",
        "DATABASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresService]:
    with running() as service:
        yield service


@pytest.fixture
def schema(postgres: PostgresService) -> Iterator[str]:
    """A name for the catalog's schema; what was made under it is dropped afterwards."""
    with postgres.schema() as name:
        yield name
