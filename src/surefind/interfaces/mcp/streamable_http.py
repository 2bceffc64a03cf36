"""Serves assistants over HTTP, by the protocol's streamable HTTP transport."""

import json
from collections.abc import Mapping

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import JSONRPCNotification, JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from surefind.bootstrap import Application
from surefind.interfaces.mcp.assistant_server import AssistantServer
from surefind.interfaces.mcp.tool_profiles import ToolProfile
from surefind.interfaces.mcp.tools.tool import Caller


class StreamableHttp:
    """Answers each request with JSON, and keeps no state between requests.

    The SDK's checks of the Host and Origin headers are off, because the server makes them already.
    """

    def __init__(self, application: Application, profile: ToolProfile) -> None:
        self._server = AssistantServer(application, profile).server

    @staticmethod
    def accepts(headers: Mapping[str, str], body: bytes) -> bool:
        """Whether the body is a single message, or invalid JSON, which the SDK reports.

        For other bodies, the SDK's answer to old protocol versions would quote its own code.
        """
        if headers.get(MCP_PROTOCOL_VERSION_HEADER, "") in MODERN_PROTOCOL_VERSIONS:
            return True
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
        # uvicorn keeps white space around header values, but the SDK compares them with the body.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers, AssistantServer.CALLER: caller}
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)
