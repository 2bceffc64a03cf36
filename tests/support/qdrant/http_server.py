"""The stand-in of a Qdrant server, on loopback by HTTP: encrypted or not, cut, slow or silent.

Suites that need no misbehaviour ask `running()` where to go: to the server that
SUREFIND_TEST_QDRANT_URL names (with SUREFIND_TEST_QDRANT_API_KEY), else to this one.
"""

import json
import socket
import ssl
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from support.qdrant.service import (
    REAL_KEY,
    REAL_URL,
    Address,
    Json,
    Request,
    Service,
    Trouble,
    failed,
)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: Service
    closing: threading.Event
    _counting = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.count(1)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.count(-1)

    def count(self, change: int) -> None:
        with self._counting:
            self.service.lines += change

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        server = cast("_Server", self.server)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        key = self.headers.get("api-key") or bearer
        try:
            body = json.loads(raw or b"null", parse_constant=_refuse_constant)
        except ValueError as error:
            self._send(400, failed(f"Format error in JSON body: {error}"), Trouble())
            return
        target = urlsplit(self.path)
        request = Request(self.command, target.path, body, key, target.query)
        with server.service.meeting(request) as trouble:
            if trouble.silent:
                server.count(-1)  # it will not be answered
                server.closing.wait()
                server.count(1)
                self._hang_up()
            elif trouble.status != 200 and not trouble.late:
                self._send(trouble.status, failed(f"Service internal error: {key}"), trouble)
            else:
                server.closing.wait(trouble.delay_s)
                status, answer = server.service.respond(request)
                self._send(trouble.status if trouble.late else status, answer, trouble)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815 - the library's names

    def _send(self, status: int, answer: Json, trouble: Trouble) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        raw = (text if trouble.body is None else trouble.body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in trouble.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if trouble.cut:
            self.wfile.write(raw[: len(raw) // 2])
            self.wfile.flush()
            self._hang_up()
        else:
            self.wfile.write(raw)

    def _hang_up(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


@contextmanager
def serve(
    key: str | None = None, reading_key: str | None = None, certificate: Path | None = None
) -> Iterator[Service]:
    """With a certificate it speaks https."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.closing = threading.Event()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = url.replace("http:", "https:")
    with tempfile.TemporaryDirectory(prefix="surefind-qdrant-") as folder:
        server.service = Service(url, Path(folder), key, reading_key)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.service
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
            server.server_close()
            server.service.close()


@contextmanager
def running() -> Iterator[Address]:
    """The real server where one is named, else this one; for suites without misbehaviour."""
    if REAL_URL:
        yield Address(REAL_URL, REAL_KEY)
        return
    with serve() as service:
        yield service.address
