"""The search of another team: an endpoint on loopback that can misbehave, and its four pages."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.fakes import WORDS

SITE = "https://docs.example.com"
PAGES = {
    "/guide/install": ("Installing", "Put the teapot on a stable table, far from the edge."),
    "/guide/power": ("Power", "Plug the cable into a socket of 230 volts, and no other."),
    "/guide/cleaning": ("Cleaning", "Descale the teapot with vinegar every month or so."),
    "/reference/errors": ("Errors", "The error E42 means that the lid of the teapot is open."),
}


def found(question: str, top_k: int) -> list[dict[str, Any]]:
    """The pages by the share of the question's words that they have."""
    asked = set(WORDS.findall(question.lower()))
    scored = [
        (len(asked & set(WORDS.findall(f"{title} {text}".lower()))) / max(1, len(asked)), path)
        for path, (title, text) in PAGES.items()
    ]
    best = sorted((one for one in scored if one[0]), key=lambda one: (-one[0], one[1]))
    return [
        {"url": f"{SITE}{path}.html", "title": PAGES[path][0], "text": PAGES[path][1], "score": s}
        for s, path in best[:top_k]
    ]


@dataclass(frozen=True)
class Trouble:
    """What a request meets instead of its answer."""

    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    silent_s: float = 0.0


class Service:
    """`troubles` are met by the next requests, one each; `always` by all others."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.troubles: list[Trouble] = []
        self.always = Trouble()
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    @contextmanager
    def meeting(self, request: dict[str, Any], headers: dict[str, str]) -> Iterator[Trouble]:
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            trouble = self.troubles.pop(0) if self.troubles else self.always
        try:
            yield trouble
        finally:
            with self._lock:
                self._at_once -= 1


@contextmanager
def search_service() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            values = parse_qs(urlsplit(self.path).query)
            self._answer({name: held[0] for name, held in values.items()})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, request: dict[str, Any]) -> None:
            with service.meeting(request, dict(self.headers)) as trouble:
                time.sleep(trouble.silent_s)
                body = trouble.body
                if body is None:
                    question = request.get("query") or request.get("q") or ""
                    results = found(question, int(request.get("top_k", 10)))
                    body = json.dumps({"took": 1, "results": results})
                content = body.encode()
                self.send_response(trouble.status)
                for name, value in trouble.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                with suppress(ConnectionError):  # the client has given up
                    self.end_headers()
                    self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service = Service(f"http://127.0.0.1:{server.server_port}/search")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
