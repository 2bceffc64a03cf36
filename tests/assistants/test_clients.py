"""Clients of other projects search: the hits are those of `POST /retrieve`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .conftest import Served, program

QUESTION = "which voltage?"
CLIENTS = sorted(path.stem for path in (Path(__file__).parent / "programs").glob("*.py"))


def called(client: str, served: Served, tool: str, **arguments: object) -> dict[str, Any]:
    path = Path(__file__).parent / "programs" / f"{client}.py"
    address = f"{served.address}/mcp"
    done = subprocess.run(
        [program("python"), path, address, served.key, tool, json.dumps(arguments)],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def hits(served: Served) -> list[tuple[str, float]]:
    answer = httpx2.post(
        f"{served.address}/retrieve",
        json={"query": QUESTION},
        headers={"Authorization": f"Bearer {served.key}"},
        timeout=60,
    )
    return [(hit["chunk_id"], hit["score"]) for hit in answer.json()["hits"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_searches(client: str, served: Served) -> None:
    said = called(client, served, "search_docs", query=QUESTION)
    assert sorted(said["tools"]) == ["list_docs", "read_page", "search_docs"]
    assert not said["failed"]
    answer = said["structured"] or json.loads(said["text"])
    assert [(one["id"], one["score"]) for one in answer["results"]] == hits(served)
    assert "230 volts" in answer["results"][0]["text"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_shows_the_model_why_a_call_failed(client: str, served: Served) -> None:
    said = called(client, served, "search_docs", query="tea", collection="attic")
    assert said["failed"]
    assert "there is no collection 'attic'" in said["text"]
    assert "Use one of: docs." in said["text"]


def test_there_is_a_client_of_each_project() -> None:
    assert CLIENTS == ["fastmcp_client", "openai_agents_client", "pydantic_ai_agent"]
