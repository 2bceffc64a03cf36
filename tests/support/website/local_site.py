"""A website on loopback that can misbehave."""

import gzip
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """`cut` promises more bytes than it sends; `delay_s` is waited before the body."""

    body: bytes = b""
    status: int = 200
    content_type: str | None = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: bool = False

    def packed(self) -> "Reply":
        return replace(
            self,
            body=gzip.compress(self.body),
            headers={**self.headers, "Content-Encoding": "gzip"},
        )


def page(text: str, links: Iterable[str] = (), head: str = "") -> Reply:
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    html = f"<!doctype html><html><head><title>{text}</title>{head}</head><body>{text}{anchors}"
    return Reply(f"{html}</body></html>".encode())


def moved(target: str, status: int = 301) -> Reply:
    return Reply(status=status, headers={"Location": target})


def sitemap(*urls: str, kind: str = "url") -> Reply:
    entries = "".join(f"<{kind}><loc>{url}</loc></{kind}>" for url in urls)
    root = "urlset" if kind == "url" else "sitemapindex"
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    xml = f'<?xml version="1.0"?><{root} xmlns="{namespace}">{entries}</{root}>'
    return Reply(xml.encode(), content_type="application/xml")


def plain(text: str) -> Reply:
    return Reply(text.encode(), content_type="text/plain")


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    at: float


class Site:
    """Answers by path: a reply, several in turn, or whatever a function of the request says."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.host = url.removeprefix("http://")
        self.replies: dict[str, Reply | list[Reply] | Callable[[Request], Reply]] = {}
        self.otherwise: Callable[[str], Reply] = lambda _: Reply(status=404)
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Condition()

    def __setitem__(
        self, path: str, reply: Reply | list[Reply] | Callable[[Request], Reply]
    ) -> None:
        self.replies[path] = reply

    def asked(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    def wait_for(self, path: str, timeout_s: float = 5.0) -> None:
        """Until a request for it is here, so that a test need not guess how long that takes."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.asked(path), timeout_s)

    @contextmanager
    def answering(self, request: Request) -> Iterator[Reply]:
        with self._lock:
            self.requests.append(request)
            self._lock.notify_all()
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            reply = self.replies.get(request.path)
            if isinstance(reply, list):
                reply = reply.pop(0) if len(reply) > 1 else reply[0]
        try:
            if reply is None:
                reply = self.otherwise(request.path)
            yield reply if isinstance(reply, Reply) else reply(request)
        finally:
            with self._lock:
                self._at_once -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: Site
    closing = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = cast("_Server", self.server)
        request = Request(self.path, dict(self.headers), time.monotonic())
        with server.site.answering(request) as reply:
            self._send(reply, server.closing)

    def _send(self, reply: Reply, closing: threading.Event) -> None:
        self.send_response(reply.status)
        if reply.content_type is not None:
            self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body) + (1000 if reply.cut else 0)))
        self.end_headers()
        self.wfile.flush()
        if reply.delay_s:
            closing.wait(reply.delay_s)
        self.wfile.write(reply.body)
        if reply.cut:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@contextmanager
def serve() -> Iterator[Site]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.closing = threading.Event()
    server.site = Site(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.site
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
