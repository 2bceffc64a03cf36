"""Serves assistants over HTTP, by the protocol's streamable HTTP transport."""

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from surefind.bootstrap import Application
from surefind.interfaces.mcp.assistant_server import AssistantServer
from surefind.interfaces.mcp.tool_profiles import ToolProfile
from surefind.interfaces.mcp.tools.tool import Caller


class StreamableHttp:
    """Answers each request by itself, with JSON. Nothing of a request outlives it.

    The SDK's own checks of the Host and Origin headers are off: the server has them already.
    """

    def __init__(self, application: Application, profile: ToolProfile) -> None:
        self._server = AssistantServer(application, profile).server

    async def answer(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        # uvicorn leaves white space around values, which the SDK compares with the body's.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers, AssistantServer.CALLER: caller}
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)
