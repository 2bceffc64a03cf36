"""`/mcp` on `surefind serve`: the same server over HTTP, behind the same guards as other routes."""

import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from interfaces.mcp.conftest import Guarded
from support.assistants import answer_of, assistant_at, refusal_of, rpc
from support.commands import log_of, serving

SEARCH = rpc("tools/call", name="search_docs", arguments={"query": "vinegar"})


def failure_of(answer: httpx2.Response) -> dict[str, Any]:
    """The error of a response, in JSON-RPC's form."""
    body = answer.json()
    assert set(body) == {"jsonrpc", "id", "error"}
    error: dict[str, Any] = body["error"]
    return error


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_assistants_of_any_age_can_search(guarded: Guarded, mode: str) -> None:
    async with assistant_at(f"{guarded.address}/mcp", guarded.key, mode) as client:
        answer = await answer_of(client, "search_docs", query="Which voltage is needed?")
    first = answer["results"][0]
    assert first["breadcrumb"] == "Installing > Power"
    assert first["url"] == f"{guarded.address}/read/docs/docs/guide/install.md#power"
    link = guarded.client.get(first["url"])
    assert link.status_code == 200


async def test_both_transports_and_retrieve_give_the_same_hits(
    assistant: Client, remote: Client, guarded: Guarded
) -> None:
    answers = [await answer_of(one, "search_docs", query="teapot") for one in (assistant, remote)]
    local, served = [
        [(hit["id"], hit["score"], hit["similarity"]) for hit in answer["results"]]
        for answer in answers
    ]
    route = guarded.client.post("/retrieve", json={"query": "teapot", "max_tokens": 3000})
    retrieved = [(hit["chunk_id"], hit["score"], hit["similarity"]) for hit in route.json()["hits"]]
    assert local == served == retrieved


async def test_each_request_is_independent(guarded: Guarded) -> None:
    """No session, so several servers can share the work."""
    answer = guarded.client.post("/mcp", json=SEARCH)
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers
    assert answer.headers["content-type"] == "application/json"
    result = answer.json()["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/openai", "/mcp/maintainer"])
@pytest.mark.parametrize(
    ("authorization", "problem"),
    [
        ("", "an API key is required: send Authorization: Bearer KEY"),
        ("Bearer surefind_0_nope", "the API key is unknown or revoked"),
        ("Basic c3VyZWZpbmQ6a2V5", "an API key is required"),
    ],
)
def test_a_key_is_required(guarded: Guarded, path: str, authorization: str, problem: str) -> None:
    headers = {"Authorization": authorization}
    answer = guarded.client.post(path, json=SEARCH, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert problem in failure_of(answer)["message"]


async def test_assistants_see_why_they_are_refused(guarded: Guarded) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with assistant_at(f"{guarded.address}/mcp", "surefind_0_nope") as client:
            await client.list_tools()
    assert caught.group_contains(MCPError, match="the API key is unknown or revoked", depth=None)


def test_pages_of_other_sites_are_refused(guarded: Guarded) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example"):
        answer = guarded.client.post("/mcp", json=SEARCH, headers={"Origin": origin})
        assert answer.status_code == 403, origin
        assert "cors_origins" in failure_of(answer)["message"]
    for origin in ("http://localhost:6274", "http://127.0.0.1", guarded.address):
        answer = guarded.client.post("/mcp", json=SEARCH, headers={"Origin": origin})
        assert answer.status_code == 200, origin


def test_other_host_names_are_refused(guarded: Guarded) -> None:
    answer = guarded.client.post("/mcp", json=SEARCH, headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "allowed_hosts" in failure_of(answer)["message"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/openai"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_requests_are_served(guarded: Guarded, path: str, method: str) -> None:
    answer = guarded.client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST" or "POST" in answer.headers["allow"]
    assert failure_of(answer)["data"] == {"error": "method_not_allowed"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"[" * 20_000, -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]', -32600),
        (b'"tools/list"', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/drop"}', -32601),
        (b'{"a": "' + b"x" * 70_000 + b'"}', -32600),
    ],
)
def test_broken_requests_are_refused(guarded: Guarded, content: bytes, code: int) -> None:
    headers = {"Content-Type": "application/json"}
    answer = guarded.client.post("/mcp", content=content, headers=headers)
    assert answer.json()["error"]["code"] == code
    assert not {"Traceback", "pydantic"} & set(re.split(r"\W+", answer.text))


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("content", [b"[]", b'"tools/list"', b'{"jsonrpc": "2.0", "id": {}}'])
def test_a_body_must_be_one_message_in_every_version(
    guarded: Guarded, version: str, content: bytes
) -> None:
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": version}
    answer = guarded.client.post("/mcp", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    assert "JSON-RPC request" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/mcp/", "/mcp/attic"])
def test_another_address_names_those_that_exist(guarded: Guarded, path: str) -> None:
    answer = guarded.client.post(path, json=SEARCH)
    assert answer.status_code == 404
    assert "use /mcp, /mcp/openai or /mcp/maintainer" in failure_of(answer)["message"]


def test_other_content_types_are_refused(guarded: Guarded) -> None:
    """A page of another site can send such a request without asking first."""
    answer = guarded.client.post("/mcp", content=b"{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 400
    assert failure_of(answer)["message"] == "Content-Type: send application/json"


async def test_calls_are_logged_and_counted(guarded: Guarded, remote: Client) -> None:
    before = number(guarded, 'surefind_tool_calls_total{outcome="ok",tool="search_docs"}')
    await answer_of(remote, "search_docs", query="How often is it descaled?")
    await refusal_of(remote, "search_docs", query="")
    after = number(guarded, 'surefind_tool_calls_total{outcome="ok",tool="search_docs"}')
    assert after == before + 1
    assert number(guarded, 'surefind_tool_calls_total{outcome="error",tool="search_docs"}') >= 1
    assert number(guarded, 'surefind_requests_total{method="POST",route="/mcp",status="200"}') >= 2
    calls = [line for line in log_of(guarded.process) if line.get("tool") == "search_docs"]
    *_, searched, refused = calls
    assert searched["route"] == refused["route"] == "/mcp"
    assert (searched["searches"], searched["tool_failed"]) == (1, False)
    assert refused["tool_failed"] is True
    assert searched["key"]
    assert guarded.key not in json.dumps(calls)


def number(guarded: Guarded, sample: str) -> float:
    lines = guarded.client.get("/metrics").text.splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(sample)), 0.0)


def test_calls_count_against_the_rate_limit(home: Path) -> None:
    with (
        serving(cwd=home, SUREFIND_RATE_LIMIT_PER_MINUTE="2") as (address, _),
        httpx2.Client(base_url=address, timeout=120) as client,
    ):
        headers = {"Accept": "application/json"}
        answers = [client.post("/mcp", json=SEARCH, headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["retry-after"]
    assert "too many requests; try again in" in failure_of(answers[-1])["message"]


async def test_a_damaged_store_reveals_nothing(home: Path) -> None:
    """The assistant learns that it is not its fault; the log has the reason."""
    with serving(cwd=home) as (address, process):
        [catalog] = (home / ".surefind" / "collections" / "docs").glob("*/catalog.sqlite")
        catalog.write_bytes(b"nothing")
        async with assistant_at(f"{address}/mcp") as client:
            message = await refusal_of(client, "read_page", id_or_url="docs/index.md")
            with pytest.raises(MCPError, match="a store is unavailable") as caught:
                await client.read_resource("surefind://docs/docs/index.md")
        assert message.startswith("a store is unavailable; see the server log")
        assert str(home) not in message + str(caught.value)
        assert any("an assistant's request failed" in line["message"] for line in log_of(process))


def test_without_the_extra_the_error_names_it(home: Path) -> None:
    """`make run` works without it."""
    without = (
        "import sys; sys.modules['mcp'] = None; from surefind.interfaces.cli import main; main()"
    )
    with (
        serving(cwd=home, command=(sys.executable, "-c", without)) as (address, _),
        httpx2.Client(base_url=address, timeout=120) as client,
    ):
        assert client.post("/retrieve", json={"query": "vinegar"}).status_code == 200
        answer = client.post("/mcp", json=SEARCH)
    assert answer.status_code == 501
    assert "pip install 'surefind[mcp]'" in failure_of(answer)["message"]


def test_a_client_that_hangs_up_while_sending_harms_no_one(guarded: Guarded) -> None:
    host, port = guarded.address.removeprefix("http://").split(":")
    body = json.dumps(SEARCH).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {guarded.key}\r\n"
        "Accept: application/json\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    for sent in (head, head + body[:10]):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
    assert guarded.client.post("/mcp", json=SEARCH).status_code == 200
    assert not [line for line in log_of(guarded.process) if "exception" in line]
