"""The MCP endpoints: assistants call the tools of a profile over streamable HTTP."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from surefind.bootstrap import Application
from surefind.errors import Overloaded
from surefind.interfaces.http.errors import error_response
from surefind.interfaces.http.middleware.access import AdminOnly, count_searches
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.http.middleware.request_log import note_tool_call

if TYPE_CHECKING:
    from surefind.interfaces.mcp.streamable_http import StreamableHttp

_NO_PAGE = (
    "this is the address of an MCP server, which assistants call by POST; `surefind mcp "
    "--print-config CLIENT --url ADDRESS` prints how to connect one"
)
_NOT_A_MESSAGE = "body: send one JSON-RPC request or notification; batches are not supported"
_MISSING = "the MCP server needs another package; run pip install 'surefind[mcp]' and restart"


def add_assistants(app: FastAPI, application: Application) -> None:
    """Only POST: without sessions, there is no stream to GET and nothing to DELETE."""
    readers = _Endpoint(application, "default")
    openai = _Endpoint(application, "openai")
    maintainers = _Endpoint(application, "maintainer")

    @app.post("/mcp", include_in_schema=False)
    async def mcp(http: Request) -> Response:
        return await readers.answer(http)

    @app.post("/mcp/openai", include_in_schema=False)
    async def mcp_openai(http: Request) -> Response:
        return await openai.answer(http)

    @app.post("/mcp/maintainer", include_in_schema=False)
    async def mcp_maintainer(http: Request, _admin: AdminOnly) -> Response:
        return await maintainers.answer(http)

    @app.get("/mcp", include_in_schema=False)
    @app.get("/mcp/openai", include_in_schema=False)
    @app.get("/mcp/maintainer", include_in_schema=False)
    async def opened_in_a_browser() -> Response:
        return error_response(405, "method_not_allowed", _NO_PAGE, {"Allow": "POST"})


class _Endpoint:
    """Imports the protocol's SDK for the first request: that takes a second, and few need it."""

    def __init__(self, application: Application, profile: str) -> None:
        self._application = application
        self._profile = profile
        self._loading = asyncio.Lock()
        self._server: StreamableHttp | None = None

    async def answer(self, http: Request) -> Response:
        if find_spec("mcp") is None:
            return error_response(501, "not_installed", _MISSING)
        if not http.headers.get("content-type", "").lower().startswith("application/json"):
            return error_response(400, "validation_error", "Content-Type: send application/json")
        async with self._loading:
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
        if not self._server.accepts(http.headers, await http.body()):
            return error_response(400, "validation_error", _NOT_A_MESSAGE)
        return _Answer(self._server, http)

    def _load(self) -> StreamableHttp:
        from surefind.interfaces.mcp.streamable_http import StreamableHttp  # noqa: PLC0415
        from surefind.interfaces.mcp.tool_profiles import profile_named  # noqa: PLC0415

        return StreamableHttp(self._application, profile_named(self._profile))


class _Answer(Response):
    """The SDK sends the response itself."""

    def __init__(self, server: StreamableHttp, http: Request) -> None:
        super().__init__()
        self._server = server
        self._http = http

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from surefind.interfaces.mcp.tools.tool import Caller  # noqa: PLC0415

        caller = Caller(
            address_of(self._http),
            local=False,
            charge=partial(_charge, self._http),
            called=note_tool_call,
        )
        read: list[Message] = [{"type": "http.request", "body": await self._http.body()}]

        async def replay() -> Message:
            return read.pop() if read else await receive()

        await self._server.answer(caller, scope, replay, send)


def _charge(http: Request, searches: int) -> None:
    try:
        count_searches(http, searches)
    except HTTPException as error:
        raise Overloaded(error.detail) from error
