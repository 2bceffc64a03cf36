"""The protocol's server with the tools, pages and prompts of a profile."""

import logging
from collections.abc import Awaitable, Mapping
from importlib.metadata import version
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from surefind.bootstrap import Application
from surefind.errors import InputError, SurefindError
from surefind.interfaces.mcp.answer_prompt import ANSWER_PROMPT, answer_prompt
from surefind.interfaces.mcp.page_resources import PAGE_TEMPLATE, PageResources
from surefind.interfaces.mcp.tool_profiles import ToolProfile
from surefind.interfaces.mcp.tools.tool import Caller, explained, refused

_log = logging.getLogger(__name__)
_WRONG = "Something went wrong; see the server's log."
# What is listed depends on the caller and on the last ingest; the rest changes with an upgrade.
_FIXED = CacheHint(ttl_ms=3_600_000, scope="public")
_READ = CacheHint(ttl_ms=60_000, scope="private")

Context = ServerRequestContext[Any, Any]
R = TypeVar("R")


class AssistantServer:
    """Handles the protocol's requests. Stateless: a request needs nothing of an earlier one."""

    CALLER = "surefind.caller"
    """Where a request over HTTP has its `Caller`, in its scope."""

    def __init__(self, application: Application, profile: ToolProfile) -> None:
        self._application = application
        self._tools = {tool.name: tool for tool in profile.tools}
        self._described = [tool.described() for tool in profile.tools]
        self._pages = PageResources(application)
        offered: dict[str, Any] = {}
        if profile.has_pages:
            offered = {
                "on_list_resources": self._list_resources,
                "on_list_resource_templates": self._list_templates,
                "on_read_resource": self._read_resource,
                "on_completion": self._complete,
                "on_list_prompts": self._list_prompts,
                "on_get_prompt": self._get_prompt,
            }
        self.server: Server[Any] = Server(
            "surefind",
            version=version("surefind"),
            title="surefind",
            instructions=profile.instructions,
            cache_hints={
                "server/discover": _FIXED,
                "tools/list": _FIXED,
                "prompts/list": _FIXED,
                "resources/templates/list": _FIXED,
                "resources/list": _READ,
                "resources/read": _READ,
            },
            get_tool_input_schema=lambda _tool: None,  # no argument is sent in a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            **offered,
        )

    async def _list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._described)

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            return refused(f"There is no tool {params.name!r}. Use one of: {known}.")
        caller = _caller_of(context)
        try:
            result = await tool.call(self._application, caller, params.arguments or {})
        except Exception:  # noqa: BLE001 - a bug's message may reveal internals
            _log.exception("the tool %s failed", tool.name)
            result = refused(_WRONG)
        caller.called(tool.name, bool(result.is_error))
        return result

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = None if params is None else params.cursor
        return await self._answered(self._pages.listed(cursor), context)

    async def _list_templates(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[PAGE_TEMPLATE])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        read = self._pages.read(params.uri, _caller_of(context))
        return await self._answered(read, context, {"uri": params.uri})

    async def _complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        return await self._answered(self._pages.complete(params), context)

    async def _list_prompts(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[ANSWER_PROMPT])

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        given = params.arguments or {}
        prompt = answer_prompt(self._application, _caller_of(context), params.name, given)
        return await self._answered(prompt, context)

    async def _answered(
        self, answer: Awaitable[R], context: Context, data: Mapping[str, str] | None = None
    ) -> R:
        """Failures become errors of the protocol; a tool's failures are answers to the model."""
        try:
            return await answer
        except SurefindError as error:
            code = INVALID_PARAMS if isinstance(error, InputError) else INTERNAL_ERROR
            message = await explained(error, self._application, _caller_of(context))
            raise MCPError(code, message, data) from error
        except Exception as error:
            _log.exception("%s failed", context.method)
            raise MCPError(INTERNAL_ERROR, _WRONG) from error


def _caller_of(context: Context) -> Caller:
    """A request over HTTP carries its caller; on stdio, the caller started this process."""
    if context.request is None:
        return Caller()
    caller: Caller = context.request.scope[AssistantServer.CALLER]
    return caller
