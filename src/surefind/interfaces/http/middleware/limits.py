"""Limits of a request: body size, time and concurrency."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surefind.errors import Overloaded
from surefind.interfaces.http.errors import error_response, known_response
from surefind.interfaces.http.middleware.access import is_open
from surefind.services.serving.concurrency_limiter import ConcurrencyLimiter

MAX_BODY_BYTES = 64 * 1024
LARGER_BODIES = {"/api/v1/validate": 1024 * 1024, "/retrieve/batch": 1024 * 1024}
_CLOSING = {
    "Connection": "close"
}  # otherwise the rest of the body would be read as another request
_SOON_S = "1"
# These read no store, and monitoring needs them even while the server is busy.
_UNLIMITED = frozenset({"/metrics", "/openapi.json", "/docs"})


class BodyLimit:
    """Reads the body first, and rejects one that is too large or too slow."""

    def __init__(self, app: ASGIApp, timeout_s: float) -> None:
        self._app = app
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        max_bytes = LARGER_BODIES.get(scope["path"], MAX_BODY_BYTES)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > max_bytes:
            await _too_large(max_bytes)(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                messages = await _read(receive, max_bytes)
        except TimeoutError:
            response = error_response(
                408,
                "request_timeout",
                f"body: not received within {self._timeout_s:g} s",
                _CLOSING,
            )
            await response(scope, receive, send)
            return
        if messages is None:
            await _too_large(max_bytes)(scope, receive, send)
        elif messages[-1]["type"] != "http.disconnect":

            async def replay() -> Message:
                return messages.pop(0) if messages else await receive()

            await self._app(scope, replay, send)


async def _read(receive: Receive, max_bytes: int) -> list[Message] | None:
    """The whole body, up to a disconnect; None if it is too large."""
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > max_bytes:
            return None
        if not message.get("more_body"):
            return messages


def _too_large(max_bytes: int) -> ASGIApp:
    message = f"body: larger than the limit of {max_bytes} bytes"
    return error_response(400, "validation_error", message, _CLOSING)


def _is_limited(path: str) -> bool:
    return not is_open(path) and path not in _UNLIMITED


class Deadline:
    """Limits how many requests read a store at once, and the time of each, queueing included."""

    def __init__(self, app: ASGIApp, limiter: ConcurrencyLimiter, timeout_s: float) -> None:
        self._app = app
        self._limiter = limiter
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False
        limit = asyncio.timeout(self._timeout_s)

        async def answer(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            async with limit:
                if _is_limited(scope["path"]):
                    async with self._limiter.admitted():
                        await self._app(scope, receive, answer)
                else:
                    await self._app(scope, receive, answer)
        except Overloaded as error:
            await known_response(error)(scope, receive, send)
        except TimeoutError:
            if started or not limit.expired():
                raise
            message = f"no response within {self._timeout_s:g} s; try again later"
            headers = {"Retry-After": _SOON_S}
            response = error_response(503, "service_unavailable", message, headers)
            await response(scope, receive, send)
