"""Clients that hang up while their answer is being made: nothing hangs, and nothing is leaked."""

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from support.assistants import rpc
from support.commands import Server, log_of, serving
from support.homes import copy_home

CLIENTS = 12
PLACES = 2
"""How many requests the server handles at once; those of clients that hung up must free them."""

Body = Callable[[str], object]


def tool_call(tool: str, argument: str = "query") -> Body:
    return lambda question: rpc("tools/call", name=tool, arguments={argument: question})


REQUESTS: dict[str, tuple[str, Body]] = {
    "retrieve": ("/retrieve", lambda question: {"query": question}),
    "batch": (
        "/retrieve/batch",
        lambda question: {"queries": [f"{question} {at}" for at in range(20)]},
    ),
    "contract": ("/search", lambda question: {"query": question}),
    "vector store": ("/v1/vector_stores/docs/search", lambda question: {"query": question}),
    "MCP": ("/mcp", tool_call("search_docs")),
    "MCP for ChatGPT": ("/mcp/openai", tool_call("search")),
    "MCP prompt": (
        "/mcp",
        lambda question: rpc(
            "prompts/get", name="answer_from_docs", arguments={"question": question}
        ),
    ),
}


@dataclass(frozen=True)
class Busy:
    process: Server
    client: httpx2.Client

    def hang_up(self, path: str, body: object) -> None:
        """Send the whole request, and reset the connection."""
        url = self.client.base_url
        sent = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {url.host}\r\nAccept: application/json\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        ).encode()
        with socket.create_connection((url.host, int(url.port or 0)), timeout=20) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(head + sent)

    def at_work(self) -> list[str]:
        """The requests that still run or wait."""
        return [
            line
            for line in self.client.get("/metrics").text.splitlines()
            if line.startswith(("surefind_searches_running", "surefind_searches_queued"))
            and not line.endswith(" 0.0")
        ]

    def open_files(self) -> int:
        return len(list(Path("/proc", str(self.process.pid), "fd").iterdir()))


@pytest.fixture(scope="module")
def busy(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    home = tmp_path_factory.mktemp("hangups") / "home"
    copy_home(ingested, home)
    settings = {"SUREFIND_MAX_CONCURRENCY": str(PLACES), "SUREFIND_MAX_QUEUE": "100"}
    with (
        serving(cwd=home, **settings) as (address, process),
        httpx2.Client(base_url=address, timeout=60) as client,
    ):
        yield Busy(process, client)


@pytest.mark.parametrize("name", REQUESTS)
def test_clients_that_hang_up_harm_no_one(busy: Busy, name: str) -> None:
    path, body = REQUESTS[name]
    headers = {"Accept": "application/json"}
    first = busy.client.post(path, json=body("Is there a lid?"), headers=headers)
    assert first.status_code == 200, first.text
    files = busy.open_files()
    for number in range(CLIENTS):
        busy.hang_up(path, body(f"{name} question {number}"))
    again = busy.client.post(path, json=body("Is there a lid?"), headers=headers)
    assert again.status_code == 200
    deadline = time.monotonic() + 60
    while (busy.at_work() or busy.open_files() > files) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not busy.at_work()
    assert busy.open_files() <= files
    assert not [line for line in log_of(busy.process) if "exception" in line]
