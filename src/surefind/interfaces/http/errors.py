"""Sends every error as `{error, message}`, with the contract's names and statuses."""

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from surefind.contracts.request import explain
from surefind.errors import SurefindError
from surefind.interfaces.failures import failure_of, public_message
from surefind.interfaces.json_output.typed import ERROR_HEADER

_log = logging.getLogger(__name__)
_NAMES = {403: "forbidden", 404: "not_found", 405: "method_not_allowed", 429: "rate_limited"}
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603  # of JSON-RPC
STOPPING = (503, "service_unavailable", "the server is shutting down; try again later")
INTERNAL_ERROR = (500, "internal_error", "Something went wrong; see the server log")


class _ErrorResponse(JSONResponse):
    """An error as `{error, message}`; at the MCP endpoints as JSON-RPC, which clients show."""

    def __init__(
        self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        # A message may quote a lone surrogate from the request, which UTF-8 can't encode.
        message = message.encode("utf-8", "backslashreplace").decode()
        super().__init__({"error": name, "message": message}, status, headers)
        code = _INVALID_REQUEST if status < 500 else _INTERNAL_ERROR
        error = {"code": code, "message": message, "data": {"error": name}}
        self._as_rpc = {"jsonrpc": "2.0", "id": None, "error": error}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_mcp(scope["path"]):
            self.body = self.render(self._as_rpc)
            self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def is_mcp(path: str) -> bool:
    return path == "/mcp" or path.startswith("/mcp/")


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
    async def _http(_request: Request, error: HTTPException) -> JSONResponse:
        name = _NAMES.get(error.status_code, "validation_error")
        response = error_response(error.status_code, name, str(error.detail))
        response.headers.update(error.headers or {})
        return response


def _explain(error: RequestValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return "The body is not valid JSON"
    _, *place = first["loc"]  # drop "body", "path" or "query"; the field name is enough
    return explain(tuple(place), first["msg"], first["type"])
