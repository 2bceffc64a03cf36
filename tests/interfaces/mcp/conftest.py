"""Assistants that are connected to a server: by stdio, and over HTTP with a key."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from mcp import Client

from support.assistants import assistant_at, stdio_server
from support.commands import Server, serving, surefind
from support.homes import copy_home


@dataclass(frozen=True)
class Guarded:
    """A server with two keys, in the folder `home`."""

    home: Path
    address: str
    process: Server
    key: str
    admin: str
    client: httpx2.Client
    """Sends the key."""


@pytest.fixture(scope="module")
async def assistant(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Client]:
    home = tmp_path_factory.mktemp("mcp") / "home"
    copy_home(ingested, home)
    async with Client(stdio_server(home), read_timeout_seconds=120) as client:
        yield client


@pytest.fixture(scope="module")
def guarded(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    home = tmp_path_factory.mktemp("guarded") / "home"
    copy_home(ingested, home)
    created = [
        surefind("keys", "create", "--name", name, "--scope", scope, cwd=home)
        for name, scope in (("reader", "read"), ("owner", "admin"))
    ]
    assert [one.returncode for one in created] == [0, 0]
    key, admin = (one.stdout.strip() for one in created)
    patient = {"SUREFIND_REQUEST_TIMEOUT_S": "120"}
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
    with (
        serving(cwd=home, **patient) as (address, process),
        httpx2.Client(base_url=address, headers=headers, timeout=120) as client,
    ):
        yield Guarded(home, address, process, key, admin, client)


@pytest.fixture(scope="module")
async def remote(guarded: Guarded, anyio_backend: str) -> AsyncIterator[Client]:
    """An assistant at `/mcp`."""
    async with assistant_at(f"{guarded.address}/mcp", guarded.key) as client:
        yield client
