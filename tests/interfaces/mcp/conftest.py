"""An assistant that is connected to `surefind mcp`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client

from support.assistants import stdio_server
from support.homes import copy_home


@pytest.fixture(scope="module")
async def assistant(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Client]:
    home = tmp_path_factory.mktemp("mcp") / "home"
    copy_home(ingested, home)
    async with Client(stdio_server(home), read_timeout_seconds=120) as client:
        yield client
