"""Serves assistants over HTTP, by the protocol's streamable HTTP transport."""

import json

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCNotification, JSONRPCRequest
from pydantic import ValidationError
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

    @staticmethod
    def accepts(body: bytes) -> bool:
        """Whether it is one message; of old versions, the SDK quotes its own code otherwise.

        The SDK reports invalid JSON itself.
        """
        try:
            decoded = json.loads(body)
        except (ValueError, RecursionError):
            return True
        if not isinstance(decoded, dict):
            return False
        kind = JSONRPCRequest if "id" in decoded else JSONRPCNotification
        try:
            kind.model_validate(decoded)
        except ValidationError:
            return False
        return True

    async def answer(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        # uvicorn leaves white space around values, which the SDK compares with the body's.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers, AssistantServer.CALLER: caller}
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)
