"""How `surefind mcp` starts and ends."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from support.assistants import answer_of, refusal_of, stdio_server
from support.commands import start, surefind, warm

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def process_in(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*warm(), "mcp"],
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def greet(process: subprocess.Popen[str]) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(HELLO) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_of_any_age_can_connect(home: Path, mode: str) -> None:
    async with Client(stdio_server(home), mode=mode, read_timeout_seconds=120) as client:
        assert client.server_info is not None
        assert client.server_info.name == "surefind"
        assert client.instructions is not None
        assert "cite the urls" in client.instructions
        assert (await answer_of(client, "search_docs", query="E42"))["results"]


def test_it_ends_when_the_assistant_closes_the_input(home: Path) -> None:
    with process_in(home) as process:
        assert greet(process)["result"]["serverInfo"]["name"] == "surefind"
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert (output, errors) == ("", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_on_a_signal_while_the_input_is_open(home: Path, number: signal.Signals) -> None:
    with process_in(home) as process:
        greet(process)
        process.send_signal(number)
        process.wait(timeout=60)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert process.returncode in {130, -signal.SIGTERM, 143}


def test_a_line_that_is_not_a_message_does_not_end_it(home: Path) -> None:
    with process_in(home) as process:
        assert process.stdin is not None
        process.stdin.write("hello?\n\n[]\n\x00\n")
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(1)]
        while answers[-1].get("id") != 1:
            answers.append(json.loads(process.stdout.readline()))
        assert "result" in answers[-1]
        process.communicate(timeout=60)


async def test_an_empty_folder_can_be_served(tmp_path: Path) -> None:
    """An assistant may start before the first ingest; the next call sees its pages."""
    async with Client(stdio_server(tmp_path), read_timeout_seconds=120) as client:
        message = await refusal_of(client, "search_docs", query="teapot")
        assert "there is no collection 'docs' yet" in message
        assert "surefind ingest" in message
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "pot.md").write_text("# Teapot\n\nIt brews tea.")
        assert surefind("ingest", "docs", cwd=tmp_path).returncode == 0
        answer = await answer_of(client, "search_docs", query="teapot")
        assert [hit["title"] for hit in answer["results"]] == ["Teapot"]


async def test_another_collection_can_be_served(home: Path) -> None:
    (home / "wiki").mkdir()
    (home / "wiki" / "cups.md").write_text("# Cups\n\nCups are made of porcelain.")
    done = surefind("ingest", "wiki", "--collection", "wiki", cwd=home)
    assert done.returncode == 0, done.stderr
    async with Client(stdio_server(home, "-c", "wiki"), read_timeout_seconds=120) as client:
        answer = await answer_of(client, "search_docs", query="porcelain")
        assert [hit["title"] for hit in answer["results"]] == ["Cups"]
        other = await answer_of(client, "search_docs", query="porcelain", collection="docs")
        assert "Cups" not in {hit["title"] for hit in other["results"]}
        listed = await answer_of(client, "list_docs")
        assert listed["collections"] == ["docs", "wiki"]
        assert listed["collection"] == "wiki"


def test_wrong_settings_are_reported_before_it_serves(tmp_path: Path) -> None:
    with start("mcp", cwd=tmp_path, SUREFIND_TOP="1") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.startswith("surefind: error:")
