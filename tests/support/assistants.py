"""What stands for an assistant: the official client of the protocol, and what it receives."""

import json
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from support.commands import warm


def stdio_server(home: Path, *arguments: str) -> StdioServerParameters:
    """How an assistant starts `surefind mcp`."""
    command, *words = warm()
    return StdioServerParameters(command=command, args=[*words, "mcp", *arguments], cwd=home)


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
