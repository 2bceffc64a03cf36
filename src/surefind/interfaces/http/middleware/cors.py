"""Cross-origin requests: which sites may call the API from a browser; by default, no site."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from surefind.interfaces.http.errors import error_response, is_mcp
from surefind.interfaces.http.middleware.hosts import is_own_machine
from surefind.settings import Settings

_KEPT_S = 600


class Cors(CORSMiddleware):
    """CORS without credentials, because pages send keys in headers."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(
            app,
            allow_origins=settings.cors_origins,
            allow_origin_regex=settings.cors_origin_regex,
            allow_methods=("GET", "POST"),
            allow_headers=(
                "Authorization",
                "Content-Type",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "X-API-Key",
                "X-Request-ID",
            ),
            expose_headers=("Retry-After", "X-Request-ID"),
            max_age=_KEPT_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_mcp(scope["path"]) and self._is_foreign(scope):
            message = (
                "Origin: pages of that site may not call this server; if it is yours, add it to "
                "the cors_origins setting"
            )
            await error_response(403, "forbidden", message)(scope, receive, send)
            return
        await super().__call__(scope, receive, send)

    def _is_foreign(self, scope: Scope) -> bool:
        """Whether another site's page sends the request, which MCP servers must refuse."""
        headers = Headers(scope=scope)
        origins = headers.getlist("origin")
        return not all(
            self.is_allowed_origin(origin)
            or is_own_machine(origin.partition("://")[2])
            or origin.partition("://")[2] == headers.get("host")
            for origin in origins
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code < 400:
            return response
        refusal = error_response(400, "validation_error", bytes(response.body).decode())
        refusal.headers["Vary"] = "Origin"
        return refusal
