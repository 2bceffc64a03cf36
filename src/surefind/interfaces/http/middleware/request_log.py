"""Request IDs, the request log, and the record of a running request.

Wraps everything that can fail, so every response carries an ID that is also in the log.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surefind.interfaces.http.errors import INTERNAL_ERROR, STOPPING, error_response
from surefind.model import SearchResult

_log = logging.getLogger(__name__)
# Safe in a header, and easy to paste into a log search.
_SAFE_ID = re.compile(rb"[A-Za-z0-9._:=+/-]{1,128}")
_CLIENT_CLOSED = 499  # the client disconnected before the response; nginx's code
NO_ROUTE = "(none)"


@dataclass(slots=True)
class RequestRecord:
    id: str
    method: str
    client: str
    key_id: str | None = None
    route: str = NO_ROUTE
    status: int = _CLIENT_CLOSED
    seconds: float = 0.0
    searches: list[SearchResult] = field(default_factory=list)
    tool: str | None = None
    tool_failed: bool = False


Observe = Callable[[RequestRecord], None]
_current: ContextVar[RequestRecord | None] = ContextVar("surefind_request", default=None)


def current_request() -> RequestRecord | None:
    return _current.get()


def note_search(result: SearchResult) -> None:
    """Add a search to the record of the current request, if there is one."""
    record = _current.get()
    if record is not None:
        record.searches.append(result)


def note_tool_call(tool: str, failed: bool) -> None:  # noqa: FBT001 - a callback
    """Add an assistant's call to the record of the current request."""
    record = _current.get()
    if record is not None:
        record.tool, record.tool_failed = tool, failed


class RequestLog:
    """Assigns request IDs, turns bugs into a 500 without internals, and logs a line per request."""

    def __init__(self, app: ASGIApp, observe: Observe, *, log_queries: bool = False) -> None:
        self._app = app
        self._observe = observe
        self._log_queries = log_queries

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        record = RequestRecord(_request_id(scope), scope["method"], client[0] if client else "")
        token = _current.set(record)
        began = time.perf_counter()
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                record.status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = record.id
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:  # the shutdown timeout has passed
            if started:
                raise
            await error_response(*STOPPING)(scope, receive, answer)
        except Exception:
            _log.exception("%s failed", record.method)
            if started:
                raise
            await error_response(*INTERNAL_ERROR)(scope, receive, answer)
        finally:
            record.route = _route(scope)
            record.seconds = time.perf_counter() - began
            self._observe(record)
            _log.info("request", extra={"fields": self._fields(record)})
            _current.reset(token)

    def _fields(self, record: RequestRecord) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "method": record.method,
            "route": record.route,
            "status": record.status,
            "ms": round(record.seconds * 1000, 3),
            "client": record.client,
        }
        if record.key_id is not None:
            fields["key"] = record.key_id
        if record.tool is not None:
            fields |= {"tool": record.tool, "tool_failed": record.tool_failed}
        if record.searches:
            fields |= _search_fields(record.searches)
            if self._log_queries:
                fields["queries"] = [result.query.text for result in record.searches]
        return fields


def _search_fields(searches: list[SearchResult]) -> dict[str, Any]:
    stages = ("embedded", "searched", "filtered", "formatted")
    scores = [result.hits[0].score for result in searches if result.hits]
    return {
        "searches": len(searches),
        "remembered": sum(result.remembered for result in searches),
        "stages_ms": {
            stage: round(sum(getattr(result.timings, f"{stage}_ms") for result in searches), 3)
            for stage in stages
        },
        "hits": sum(len(result.hits) for result in searches),
        "top_score": round(max(scores), 6) if scores else None,
    }


def _route(scope: Scope) -> str:
    """The route template, so that metrics don't grow with every document path."""
    static = "/static" if scope["path"].startswith("/static/") else NO_ROUTE
    return getattr(scope.get("route"), "path", static)


def _request_id(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name == b"x-request-id"]
    if len(given) == 1 and _SAFE_ID.fullmatch(given[0]):
        return str(given[0], "ascii")
    return uuid4().hex
