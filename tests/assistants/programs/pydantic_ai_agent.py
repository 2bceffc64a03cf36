"""An agent of Pydantic AI whose model calls a tool once: ADDRESS KEY TOOL ARGUMENTS."""

import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

address, key, tool, arguments = sys.argv[1:]
seen: dict[str, object] = {"failed": False}


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    seen["tools"] = [one.name for one in info.function_tools]
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart(tool, json.loads(arguments))])
    part = messages[-1].parts[0]
    seen["failed"] = part.part_kind == "retry-prompt" or part.outcome != "success"
    seen["text"] = json.dumps(part.content) if not isinstance(part.content, str) else part.content
    seen["structured"] = part.content if isinstance(part.content, dict) else None
    return ModelResponse(parts=[TextPart("done")])


async def main() -> None:
    toolset = MCPToolset(address, headers={"Authorization": f"Bearer {key}"})
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        await agent.run("What should I do?")
    print(json.dumps(seen))


asyncio.run(main())
