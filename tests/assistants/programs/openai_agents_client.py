"""Calls a tool by the MCP client of the OpenAI Agents SDK: ADDRESS KEY TOOL ARGUMENTS."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStreamableHttp


async def call(address: str, key: str, tool: str, arguments: str) -> None:
    parameters = {"url": address, "headers": {"Authorization": f"Bearer {key}"}, "timeout": 60}
    async with MCPServerStreamableHttp(
        parameters,
        client_session_timeout_seconds=60,
    ) as server:
        tools = [one.name for one in await server.list_tools()]
        answer = await server.call_tool(tool, json.loads(arguments))
    plain = answer.model_dump(by_alias=True)
    [text] = plain["content"]
    said = {"structured": plain["structuredContent"], "text": text["text"]}
    print(json.dumps({"tools": tools, "failed": bool(plain["isError"]), **said}))


asyncio.run(call(*sys.argv[1:]))
