"""HTTP/1.1 by uvicorn and httptools, with limits on the head of a request.

uvicorn alone waits forever for the rest of a head, and accepts one of any size.
"""

import json
import logging
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from uuid import uuid4

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_log = logging.getLogger(__name__)
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 200


class GuardedProtocol(HttpToolsProtocol):
    head_timeout_s: float = 10.0

    _head_timer: TimerHandle | None = None
    _head_bytes = 0  # received bytes, perhaps including the start of a body
    _measured = 0
    _oversized = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_received()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head_timer is not None and self._head_bytes > MAX_HEAD_BYTES:
            self._oversized = True
            self.send_400_response("")
        cycle: RequestResponseCycle | None = self.cycle
        idle = cycle is None or cycle.response_complete
        if idle and self.timeout_keep_alive_task is None:
            self._await_head()  # bytes that start no request must not keep the connection

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._measured = 0
        self._await_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._measure(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._measure(len(name) + len(value))
        if len(self.headers) > MAX_HEADERS:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        self._head_received()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - replaces uvicorn's message
        if self._oversized:
            message = f"the request has more than {MAX_HEADERS} headers, or its head is too large"
            self._refuse(431, "validation_error", message)
        else:
            self._refuse(400, "validation_error", "the request is not valid HTTP")

    def _measure(self, size: int) -> None:
        self._measured += size
        if self._measured > MAX_HEAD_BYTES:
            self._refuse_head()

    def _refuse_head(self) -> None:
        """Stop parsing; uvicorn then calls send_400_response."""
        self._oversized = True
        raise ValueError

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_bytes = 0
            self._head_timer = self.loop.call_later(self.head_timeout_s, self._give_up)

    def _head_received(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self._head_bytes:  # a browser preconnected
            self.transport.close()
            return
        message = f"the head of the request was not received within {self.head_timeout_s:g} s"
        self._refuse(408, "request_timeout", message)

    def _refuse(self, status: int, name: str, message: str) -> None:
        if self.transport.is_closing():
            return
        request_id = uuid4().hex
        body = json.dumps({"error": name, "message": message}).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\n"
            "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
        fields = {"request_id": request_id, "status": status, "reason": message}
        _log.warning("rejected connection", extra={"fields": fields})


def guarded(head_timeout_s: float) -> type[GuardedProtocol]:
    """Uvicorn instantiates the protocol class itself, so the limit is a class attribute."""
    return type("Protocol", (GuardedProtocol,), {"head_timeout_s": head_timeout_s})
