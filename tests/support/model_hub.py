"""The Hugging Face hub on loopback, with one model; it can misbehave."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

ID = "acme/tiny"
COMMIT = "0123456789abcdef"


class FakeHub(ThreadingHTTPServer):
    """Serves a folder with the addresses of the hub. `broken` replaces answers by path."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.asked: list[str] = []
        self.broken: dict[str, tuple[int, bytes]] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> tuple[int, bytes]:
        if path in self.broken:
            return self.broken[path]
        if path == f"/api/models/{ID}/revision/main":
            return 200, json.dumps({"sha": COMMIT}).encode()
        if path == f"/api/models/{ID}/tree/{COMMIT}?recursive=true":
            return 200, json.dumps(self.listing()).encode()
        prefix = f"/{ID}/resolve/{COMMIT}/"
        file = self.root / path.removeprefix(prefix)
        if path.startswith(prefix) and file.is_file():
            return 200, file.read_bytes()
        return 404, b"{}"

    def listing(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = [
            {"type": "directory", "path": "onnx", "size": 0},
            {"type": "file", "path": "../../.bashrc", "size": 5},
        ]
        for file in sorted(self.root.rglob("*")):
            if file.is_file():
                content = file.read_bytes()
                entry = {
                    "type": "file",
                    "path": file.relative_to(self.root).as_posix(),
                    "size": len(content),
                }
                if file.suffix in {".onnx", ".safetensors"}:
                    oid = hashlib.sha256(content).hexdigest()
                    entry["lfs"] = {"oid": oid, "size": len(content)}
                entries.append(entry)
        return entries


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = cast("FakeHub", self.server)
        server.asked.append(self.path)
        status, content = server.answer(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@contextmanager
def serving(root: Path) -> Iterator[FakeHub]:
    server = FakeHub(root)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
