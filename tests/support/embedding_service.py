"""An embedding and reranking service on loopback that can misbehave in every way.

It speaks Cohere's v2, OpenAI's wire, that of the example in the documentation, and both formats of
`POST /rerank`: `texts` as Text Embeddings Inference takes them, `documents` with a model as others.
"""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from support.fakes import WORDS, WordEmbedder

# The real service, for the contract suites.
REAL_COHERE_URL = os.environ.get("SUREFIND_TEST_COHERE_URL")
REAL_COHERE_KEY = os.environ.get("SUREFIND_TEST_COHERE_KEY")

KEY = "a-secret-key-that-no-log-may-show"
_COHERE_SIZES = {
    "embed-english-v3.0": 1024,
    "embed-english-light-v3.0": 384,
    "embed-v4.0": 1536,
}
OPENAI_SIZE = 48
Answer = dict[str, Any]


@dataclass(frozen=True)
class Trouble:
    """What one request meets instead of its answer, or what is done to the answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    silent_s: float = 0.0
    body: str | None = None
    change: Callable[[list[list[float]]], object] | None = None


TOO_MANY = Trouble(429, {"Retry-After": "1"})
BROKEN = Trouble(500)
CUT = Trouble(cut=True)


@dataclass(frozen=True)
class Request:
    path: str
    authorization: str
    body: Answer

    @property
    def texts(self) -> list[str]:
        return list(self.body.get("texts") or self.body.get("input") or [])


class Service:
    """`troubles` are met by the next requests, one each; `always` by all that come after."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key
        self.requests: list[Request] = []
        self.answered: list[str] = []
        self.troubles: list[Trouble] = []
        self.always: Trouble | None = None
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    @contextmanager
    def meeting(self, request: Request) -> Iterator[Trouble]:
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            trouble = self.troubles.pop(0) if self.troubles else self.always or Trouble()
        try:
            yield trouble
        finally:
            with self._lock:
                self._at_once -= 1

    def answer(self, request: Request, trouble: Trouble) -> Any:
        if request.path.endswith("/rerank"):
            return _reranked(request.body, trouble)
        if request.path == "/v2/embed":
            size = request.body.get("output_dimension") or _COHERE_SIZES[request.body["model"]]
            rows = self._rows(request.texts, size, trouble)
            return {
                "id": "1",
                "embeddings": {"float": rows},
                "texts": request.texts,
                "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 1}},
                "response_type": "embeddings_by_type",
            }
        rows = self._rows(request.texts, request.body.get("dimensions", OPENAI_SIZE), trouble)
        if request.path == "/embed":
            return {"vectors": rows}
        if not isinstance(rows, list):
            return {"data": rows}
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        return {"object": "list", "data": data[::-1], "model": request.body["model"]}

    def _rows(self, texts: list[str], size: int, trouble: Trouble) -> object:
        rows = [WordEmbedder(size).embed(text).tolist() for text in texts]
        self.answered += texts
        return trouble.change(rows) if trouble.change else rows


def _reranked(body: Answer, trouble: Trouble) -> Any:
    """By the share of the question's words that a passage has, best first."""
    asked = set(WORDS.findall(body["query"].lower()))
    texts = body["texts"] if "texts" in body else body["documents"]
    shares = [len(asked & set(WORDS.findall(text.lower()))) / len(asked) for text in texts]
    if body.get("raw_scores"):
        shares = [share * 20 - 10 for share in shares]
    order = sorted(range(len(shares)), key=lambda number: -shares[number])
    if "texts" in body:
        scored: Any = [{"index": number, "score": shares[number]} for number in order]
        return trouble.change(scored) if trouble.change else scored
    results: Any = [{"index": number, "relevance_score": shares[number]} for number in order]
    return {"id": "1", "results": trouble.change(results) if trouble.change else results}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: Service
    closing: threading.Event

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = cast("_Server", self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        request = Request(self.path, key, body)
        with server.service.meeting(request) as trouble:
            if trouble.silent_s:
                server.closing.wait(trouble.silent_s)
            if trouble.cut:
                self._hang_up()
            elif trouble.status != 200:
                self._send(trouble.status, {"message": f"no, {key}"}, trouble)
            elif key != server.service.key:  # the worst case: the message repeats the key
                self._send(401, {"message": f"invalid api token {key}"}, trouble)
            else:
                self._send(200, server.service.answer(request, trouble), trouble)

    def _send(self, status: int, answer: object, trouble: Trouble) -> None:
        raw = (json.dumps(answer) if trouble.body is None else trouble.body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in trouble.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _hang_up(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@contextmanager
def serve(key: str = KEY) -> Iterator[Service]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.closing = threading.Event()
    server.service = Service(f"http://127.0.0.1:{server.server_address[1]}", key)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.service
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
