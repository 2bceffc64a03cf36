"""Sends every error as `{error, message}`, with the contract's names and statuses.

The endpoints of other protocols send it in their own form, which their clients show.
"""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from surefind.contracts.request import explain
from surefind.errors import SurefindError
from surefind.interfaces.failures import failure_of, public_message
from surefind.interfaces.json_output import Json
from surefind.interfaces.json_output.typed import ERROR_HEADER

_log = logging.getLogger(__name__)
_NAMES = {403: "forbidden", 404: "not_found", 405: "method_not_allowed", 429: "rate_limited"}
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603  # of JSON-RPC
_OPENAI_TYPES = {429: "rate_limit_error"}
_OPENAI_CODES = {"unauthorized": "invalid_api_key", "rate_limited": "rate_limit_exceeded"}
_NO_SUCH_ENDPOINT = (
    "surefind has no such endpoint: below /v1 it only lists and searches vector stores; "
    "use `surefind ingest` to change a collection"
)
_NO_MCP_SERVER = "there is no MCP server here; use /mcp, /mcp/openai or /mcp/maintainer"
_PARAMETER = re.compile(r"([a-z_]+)[.\w]*: ")
STOPPING = (503, "service_unavailable", "the server is shutting down; try again later")
INTERNAL_ERROR = (500, "internal_error", "Something went wrong; see the server log")


class _ErrorResponse(JSONResponse):
    """An error as `{error, message}`; as JSON-RPC at the MCP endpoints, as OpenAI's below /v1."""

    def __init__(
        self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        # A message may quote a lone surrogate from the request, which UTF-8 can't encode.
        message = message.encode("utf-8", "backslashreplace").decode()
        super().__init__({"error": name, "message": message}, status, headers)
        code = _INVALID_REQUEST if status < 500 else _INTERNAL_ERROR
        error = {"code": code, "message": message, "data": {"error": name}}
        self._as_rpc = {"jsonrpc": "2.0", "id": None, "error": error}
        self._as_openai = openai_error(status, name, message)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_mcp(scope["path"]):
            self._say(self._as_rpc)
        elif is_openai(scope["path"]):
            self._say(self._as_openai)
        await super().__call__(scope, receive, send)

    def _say(self, error: Mapping[str, object]) -> None:
        self.body = self.render(error)
        self.headers["Content-Length"] = str(len(self.body))


def is_mcp(path: str) -> bool:
    return path == "/mcp" or path.startswith("/mcp/")


def is_openai(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")


def openai_error(status: int, name: str, message: str) -> Json:
    """`param` names the invalid parameter, with which our messages begin."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    parameter = _PARAMETER.match(message) if status == 400 else None
    return {
        "error": {
            "message": message,
            "type": _OPENAI_TYPES.get(status, kind),
            "param": parameter and parameter[1],
            "code": _OPENAI_CODES.get(name, name),
        }
    }


def error_response(
    status: int, name: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return _ErrorResponse(status, name, message, headers)


def known_response(error: SurefindError) -> JSONResponse:
    failure = failure_of(error)
    message = public_message(error)
    if message != str(error):
        _log.warning("%s: %s", failure.name, error)
    wait_s = error.retry_after_s
    headers = {ERROR_HEADER: type(error).__name__}
    if wait_s is not None:
        headers["Retry-After"] = str(wait_s)
    return error_response(failure.http_status, failure.name, message, headers)


def add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(SurefindError)
    async def _known(_request: Request, error: SurefindError) -> JSONResponse:
        return known_response(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        message = _explain(error)
        if message.startswith("body:") and "json" not in request.headers.get("content-type", ""):
            message = "body: send JSON, with the header Content-Type: application/json"
        return error_response(400, "validation_error", message)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        name, message = _NAMES.get(error.status_code, "validation_error"), str(error.detail)
        if message == HTTPStatus(error.status_code).phrase:
            message = _unrouted(request.url.path, error.status_code) or message
        response = error_response(error.status_code, name, message)
        response.headers.update(error.headers or {})
        return response


def _unrouted(path: str, status: int) -> str | None:
    """What to do about a path or method of another protocol that is not served."""
    if is_openai(path):
        return _NO_SUCH_ENDPOINT
    return _NO_MCP_SERVER if is_mcp(path) and status == 404 else None


def _explain(error: RequestValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return "The body is not valid JSON"
    _, *place = first["loc"]  # drop "body", "path" or "query"; the field name is enough
    return explain({**first, "loc": place})
