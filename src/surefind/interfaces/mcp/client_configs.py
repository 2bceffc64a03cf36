"""The configuration of assistants that use surefind as an MCP server."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surefind.errors import InputError


@dataclass(frozen=True, slots=True)
class ServerLocation:
    """How an assistant reaches the server: by a command that it starts, or by a URL."""

    command: Sequence[str] = ()
    url: str | None = None


def client_config(client: str, server: ServerLocation) -> str:
    """What to run, or to put into the client's configuration file."""
    write = _CLIENTS.get(client)
    if write is None:
        raise InputError(f"unknown client {client!r}; use one of {', '.join(_CLIENTS)}")
    return write(server)


def _claude_code(server: ServerLocation) -> str:
    if server.url is not None:
        return shlex.join(["claude", "mcp", "add", "--transport", "http", "surefind", server.url])
    return shlex.join(["claude", "mcp", "add", "surefind", "--", *server.command])


def _claude_desktop(server: ServerLocation) -> str:
    if server.url is not None:
        raise InputError(
            "Claude Desktop reaches servers by URL as connectors, not by its configuration file; "
            f"add {server.url} under Settings > Connectors"
        )
    return _json("mcpServers", _started(server))


def _cursor(server: ServerLocation) -> str:
    return _json("mcpServers", {"url": server.url} if server.url else _started(server))


def _vscode(server: ServerLocation) -> str:
    if server.url is not None:
        return _json("servers", {"type": "http", "url": server.url})
    return _json("servers", {"type": "stdio", **_started(server)})


def _chatgpt(server: ServerLocation) -> str:
    if server.url is None:
        raise InputError(
            "ChatGPT can't start a command; serve the documentation with `surefind serve` at a "
            "public address and add --url https://docs.example.com/mcp/openai"
        )
    return server.url


def _started(server: ServerLocation) -> dict[str, Any]:
    command, *arguments = server.command
    return {"command": command, "args": arguments}


def _json(name: str, server: dict[str, Any]) -> str:
    return json.dumps({name: {"surefind": server}}, indent=2)


_CLIENTS: dict[str, Callable[[ServerLocation], str]] = {
    "claude-code": _claude_code,
    "claude-desktop": _claude_desktop,
    "cursor": _cursor,
    "vscode": _vscode,
    "chatgpt": _chatgpt,
}
