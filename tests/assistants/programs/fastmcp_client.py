"""Calls a tool by FastMCP's client: ADDRESS KEY TOOL ARGUMENTS."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def call(address: str, key: str, tool: str, arguments: str) -> None:
    transport = StreamableHttpTransport(address, headers={"Authorization": f"Bearer {key}"})
    async with Client(transport) as client:
        tools = [one.name for one in await client.list_tools()]
        answer = await client.call_tool(tool, json.loads(arguments), raise_on_error=False)
    [text] = answer.content
    said = {"structured": answer.structured_content, "text": text.text}
    print(json.dumps({"tools": tools, "failed": answer.is_error, **said}))


asyncio.run(call(*sys.argv[1:]))
