"""Cross-origin requests: which sites may call the API from a browser; by default, no site."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from surefind.interfaces.http.errors import error_response
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
            allow_headers=("Authorization", "Content-Type", "X-API-Key", "X-Request-ID"),
            expose_headers=("Retry-After", "X-Request-ID"),
            max_age=_KEPT_S,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code < 400:
            return response
        refusal = error_response(400, "validation_error", bytes(response.body).decode())
        refusal.headers["Vary"] = "Origin"
        return refusal
