"""Plays the assistant: the official client of the protocol, and the messages it receives."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from support.commands import warm


def stdio_server(home: Path, *arguments: str) -> StdioServerParameters:
    """How an assistant starts `surefind mcp`."""
    command, *words = warm()
    return StdioServerParameters(command=command, args=[*words, "mcp", *arguments], cwd=home)


@asynccontextmanager
async def assistant_at(url: str, key: str = "", mode: str = "auto") -> AsyncIterator[Client]:
    """An assistant that reaches the server over HTTP, with its key as a bearer token."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=120) as client:
            yield client


def rpc(method: str, **params: Any) -> dict[str, Any]:
    """The body of a request, as old assistants send it."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def answer_of(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer; it is the same as the text, which other clients read."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    answer: dict[str, Any] = result.structured_content
    assert json.loads(content.text) == answer
    return answer


async def refusal_of(client: Client, tool: str, **arguments: Any) -> str:
    """The message of a call that fails, for the model to read."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text
