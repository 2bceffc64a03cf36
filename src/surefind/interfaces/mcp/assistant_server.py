"""The protocol's server with the tools of a profile."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from surefind.bootstrap import Application
from surefind.interfaces.mcp.tools.list_docs import LIST_DOCS
from surefind.interfaces.mcp.tools.read_page import READ_PAGE
from surefind.interfaces.mcp.tools.search_docs import SEARCH_DOCS
from surefind.interfaces.mcp.tools.tool import Caller, Tool, refused

INSTRUCTIONS = (
    "Answers questions from the documentation. Search first, cite the urls of the passages you "
    "use, and if the evidence is thin, say that the documentation does not answer the question."
)
DEFAULT_TOOLS: tuple[Tool[Any], ...] = (SEARCH_DOCS, READ_PAGE, LIST_DOCS)

Context = ServerRequestContext[Any, Any]


class AssistantServer:
    """Handles the protocol's requests. Stateless: a request needs nothing of an earlier one."""

    def __init__(
        self, application: Application, tools: Sequence[Tool[Any]] = DEFAULT_TOOLS
    ) -> None:
        self._application = application
        self._tools = {tool.name: tool for tool in tools}
        self._described = [tool.described() for tool in tools]
        self.server: Server[Any] = Server(
            "surefind",
            version=version("surefind"),
            title="surefind",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def _list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._described)

    async def _call_tool(
        self, _context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            return refused(f"There is no tool {params.name!r}. Use one of: {known}.")
        return await tool.call(self._application, Caller(), params.arguments or {})
