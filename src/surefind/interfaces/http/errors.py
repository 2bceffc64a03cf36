"""Every error leaves as `{error, message}`, with the contract's names and statuses."""

import json
import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surefind.contracts.request import explain
from surefind.errors import EmbeddingError, NothingIngested, StoreError, SurefindError
from surefind.interfaces.failures import failure_of

_log = logging.getLogger(__name__)
MAX_BODY_BYTES = 64 * 1024
LARGER_BODIES = {"/api/v1/validate": 1024 * 1024}
_NAMES = {403: "forbidden", 404: "not_found", 405: "method_not_allowed"}
INTERNAL_ERROR = (500, "internal_error", "Something went wrong; the log says more")


def error_response(status: int, name: str, message: str) -> JSONResponse:
    return JSONResponse({"error": name, "message": message}, status_code=status)


def public_message(error: SurefindError) -> str:
    """What a client may read: what stores and services say of themselves may name files and hosts.

    The whole of it is in the log, under the request's id.
    """
    if isinstance(error, NothingIngested):
        return str(error)
    if isinstance(error, EmbeddingError):
        return "the embedding service failed; the log says more, try again later"
    if isinstance(error, StoreError):
        return "a store failed or is away; the log says more, try again later"
    return str(error)


def known_response(error: SurefindError) -> JSONResponse:
    failure = failure_of(error)
    message = public_message(error)
    if message != str(error):
        _log.warning("%s: %s", failure.name, error)
    return error_response(failure.http_status, failure.name, message)


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
    return explain(first["loc"], first["msg"])


class BodyLimit:
    """Refuses a body that is too large for its path before it is read into memory."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        max_bytes = LARGER_BODIES.get(scope["path"], MAX_BODY_BYTES)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > max_bytes:
            await _refuse(send, max_bytes)
            return
        messages, size = [], 0
        while True:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            if size > max_bytes:
                await _refuse(send, max_bytes)
                return
            if message["type"] == "http.disconnect":
                return
            if not message.get("more_body"):
                break

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, replay, send)


async def _refuse(send: Send, max_bytes: int) -> None:
    message = f"body: it is larger than {max_bytes} bytes"
    body = json.dumps({"error": "validation_error", "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})
