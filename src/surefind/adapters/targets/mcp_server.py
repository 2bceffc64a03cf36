"""Tools of MCP servers that search, by the protocol's official SDK."""

import asyncio
import os
import re
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from surefind.adapters.remote_calls import AttemptFailed
from surefind.adapters.targets.templates import expanded, expanded_headers, filled, has_place
from surefind.errors import InputError, SurefindError, TargetError, TargetUnreachable
from surefind.mapping.results import in_brief, parsed
from surefind.model import JsonValue, TargetQuery, TargetSpec, is_address

_SEARCHES = re.compile(r"search|query|retriev|find|lookup|ask", re.IGNORECASE)
_QUESTIONS = ("query", "question", "q", "search_query", "query_text", "text", "prompt", "input")
_LIMITS = (
    "top_k",
    "limit",
    "k",
    "max_results",
    "num_results",
    "n_results",
    "n",
    "count",
    "max_num_results",
    "size",
)
_DISCONNECT_S = 10.0
_FAILURES = (
    MCPError,
    OSError,
    httpx2.HTTPError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


@dataclass(frozen=True, slots=True)
class McpAddress:
    """A command, or a URL; `tool` is empty if it has to be chosen."""

    server: StdioServerParameters | str
    tool: str


def read_address(spec: TargetSpec) -> McpAddress:
    """`mcp:COMMAND#TOOL` or `mcp+https://host/mcp#TOOL`; the tool may also be in the file."""
    place, _, tool = spec.address.partition("#")
    tool = spec.tool or tool
    if place.startswith("mcp+"):
        url = place.removeprefix("mcp+")
        if not is_address(url):
            raise InputError(f"{place} is not a valid URL; write mcp+https://host/mcp")
        return McpAddress(url, tool)
    try:
        words = shlex.split(place.removeprefix("mcp:"))
    except ValueError as error:
        raise InputError(f"{place}: {error}; check the quotes") from error
    if not words:
        raise InputError("mcp: needs a command, such as mcp:uvx docs-server")
    # Servers often read their keys from the environment, as they do when run by hand.
    return McpAddress(
        StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ)), tool
    )


@asynccontextmanager
async def mcp_tool(spec: TargetSpec, environment: Mapping[str, str]) -> AsyncIterator["McpTool"]:
    """Connect, choose the tool and its arguments, and disconnect at the end.

    TargetUnreachable if the server does not start or answer. The connection has a task of its own,
    because the SDK would wrap errors and cancellations of the caller in exception groups.
    """
    ready: asyncio.Future[McpTool] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()
    task = asyncio.create_task(_hold(spec, environment, ready, done))
    try:
        yield await ready
    finally:
        done.set()
        await asyncio.wait([task], timeout=_DISCONNECT_S)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _hold(
    spec: TargetSpec,
    environment: Mapping[str, str],
    ready: "asyncio.Future[McpTool]",
    done: asyncio.Event,
) -> None:
    try:
        async with _connected(spec, environment) as tool:
            ready.set_result(tool)
            await done.wait()
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - handed to the caller
        first = _first(error)
        if ready.done():  # a lost connection fails the calls
            return
        if not isinstance(first, SurefindError):
            reason = str(first) or type(first).__name__
            message = f"{spec.label}: the MCP server can't be reached: {reason}"
            ready.set_exception(TargetUnreachable(message))
        else:
            ready.set_exception(first)


@asynccontextmanager
async def _connected(spec: TargetSpec, environment: Mapping[str, str]) -> AsyncIterator["McpTool"]:
    address = read_address(spec)
    headers = expanded_headers(spec.headers, environment)
    server = address.server
    async with httpx2.AsyncClient(headers=headers, timeout=spec.timeout_s) as http:
        transport = (
            streamable_http_client(server, http_client=http) if isinstance(server, str) else server
        )
        async with Client(transport, read_timeout_seconds=spec.timeout_s) as client:
            tools = (await client.list_tools()).tools
            tool = _tool(spec, address.tool, tools)
            arguments = spec.arguments or _arguments(spec, tool)
            yield McpTool(client, tool.name, expanded(dict(arguments), environment))


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class McpTool:
    is_timed = True

    def __init__(self, client: Client, tool: str, arguments: JsonValue) -> None:
        self.tool = tool
        self._client = client
        self._arguments = arguments
        self.takes_limit = has_place(arguments, "top_k")

    async def ask(self, query: TargetQuery) -> JsonValue:
        arguments = filled(self._arguments, query)
        assert isinstance(arguments, dict)
        try:
            result = await self._client.call_tool(self.tool, arguments)
        except _FAILURES as error:
            raise AttemptFailed(str(error) or type(error).__name__) from error
        return _answer(result)


# --- the tool and its arguments ---------------------------------------------------------------


def _tool(spec: TargetSpec, name: str, tools: list[Tool]) -> Tool:
    names = ", ".join(tool.name for tool in tools) or "none"
    if name:
        found = next((tool for tool in tools if tool.name == name), None)
        if found is None:
            raise InputError(f"{spec.label}: there is no tool {name!r}; the server has {names}")
        return found
    fitting = [tool for tool in tools if _question_of(tool)]
    searching = [tool for tool in fitting if _SEARCHES.search(tool.name)]
    for choice in (searching, fitting):
        if len(choice) == 1:
            return choice[0]
    raise InputError(
        f"{spec.label}: name the tool that searches, as in {spec.address}#TOOL; the server has "
        f"{names}"
    )


def _properties(tool: Tool) -> Mapping[str, Any]:
    found = tool.input_schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(tool: Tool) -> list[str]:
    found = tool.input_schema.get("required")
    return [str(name) for name in found] if isinstance(found, list) else []


def _question_of(tool: Tool) -> str:
    """The argument for the question; empty if there is none."""
    texts = [name for name, one in _properties(tool).items() if _is_of(one, "string")]
    named = [name for name in _QUESTIONS if name in texts]
    if named:
        return named[0]
    needed = [name for name in _required(tool) if name in texts]
    return needed[0] if len(needed) == 1 else ""


def _is_of(schema: object, kind: str) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    either = [kinds, *(one.get("type") for one in schema.get("anyOf", ()) if isinstance(one, dict))]
    return any(kind == one or (isinstance(one, list) and kind in one) for one in either)


def _arguments(spec: TargetSpec, tool: Tool) -> dict[str, JsonValue]:
    question = _question_of(tool)
    missing = [name for name in _required(tool) if name != question]
    limit = next((name for name in _LIMITS if _is_of(_properties(tool).get(name), "integer")), "")
    missing = [name for name in missing if name != limit]
    if not question or missing:
        needs = ", ".join(missing) or "the question"
        raise InputError(
            f"{spec.label}: the tool {tool.name} needs values for {needs}; write a target file "
            'with `arguments`, such as {query: "{query}"}'
        )
    arguments: dict[str, JsonValue] = {question: "{query}"}
    if limit:
        arguments[limit] = "{top_k}"
    return arguments


# --- the result -------------------------------------------------------------------------------


def _answer(result: CallToolResult) -> JsonValue:
    """The structured content, or the JSON or the text of the blocks."""
    blocks = [_block(block) for block in result.content]
    texts = [block for block in blocks if isinstance(block, str)]
    if result.is_error:
        raise TargetError(f"the tool failed: {in_brief(' '.join(texts))}")
    structured: JsonValue = result.structured_content
    if isinstance(structured, dict) and not _is_only_text(structured):
        return structured
    held = [block for block in blocks if block is not None]
    if len(held) == 1:
        return parsed(held[0])
    decoded = [parsed(block) for block in held]
    if decoded and all(isinstance(one, dict) for one in decoded):
        return decoded
    return "\n\n".join(texts)


def _is_only_text(structured: dict[str, JsonValue]) -> bool:
    """Servers wrap a plain string, which the text blocks also have."""
    return all(isinstance(value, str) for value in structured.values())


def _block(block: object) -> JsonValue:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return {"uri": str(block.uri), "name": block.name, "text": block.description or ""}
    if isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
        return {"uri": str(block.resource.uri), "text": block.resource.text}
    return None
