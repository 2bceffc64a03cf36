"""An MCP server of another team, made with the official SDK: the search of `search_service`.

Run as a program, it serves on stdio. Its argument names the shape of its answers.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.search_service import found


def server_of(shape: str) -> MCPServer:
    server = MCPServer("teapot docs")

    def structured(query: str, limit: int = 5) -> dict[str, Any]:
        """Search the documentation."""
        return {"results": found(query, limit)}

    def json_text(query: str, limit: int = 5) -> str:
        """Search the documentation."""
        return json.dumps(found(query, limit))

    def prose(query: str, limit: int = 5) -> str:
        """Search the documentation."""
        lines = [
            f"## {one['title']}\nSource: {one['url']}\n\n{one['text']}"
            for one in found(query, limit)
        ]
        return "\n\n".join(lines) or "No results found."

    def of_library(library: str, query: str) -> str:
        """Search the documentation of a library."""
        return prose(query) if library == "teapot" else f"no such library: {library}"

    def failing(query: str) -> str:
        """Search the documentation."""
        if "E42" in query:
            raise ValueError("the index is being rebuilt")
        return prose(query)

    chosen: dict[str, Callable[..., Any]] = {
        "structured": structured,
        "json": json_text,
        "prose": prose,
        "library": of_library,
        "failing": failing,
    }
    server.add_tool(chosen[shape], name="search_docs")

    def list_versions() -> list[str]:
        """List the versions."""
        return ["1", "2"]

    server.add_tool(list_versions, name="list_versions")
    return server


if __name__ == "__main__":
    server_of(sys.argv[1]).run()
