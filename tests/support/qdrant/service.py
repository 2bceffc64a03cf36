"""What a Qdrant server answers by its REST interface, by the real engine; it can misbehave.

See qdrant_http.py for the server around it.
"""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from support.qdrant.engine import Collection
from support.qdrant.filters import BadRequest

REAL_URL = os.environ.get("SUREFIND_TEST_QDRANT_URL")
REAL_KEY = os.environ.get("SUREFIND_TEST_QDRANT_API_KEY")
REAL_GRPC_PORT = os.environ.get("SUREFIND_TEST_QDRANT_GRPC_PORT")
VERSION = "1.18.0"
Json = Any
_OPEN_TO_ALL = {"/", "/healthz", "/livez", "/readyz"}


@dataclass(frozen=True)
class Address:
    """Where a server is, and the key that it requires; None where it requires none."""

    url: str
    key: str | None = None


@dataclass(frozen=True)
class Trouble:
    """What a request meets instead of its answer, or what is done to the answer.

    `on` is a pattern of `METHOD /path`; `delay_s` is waited before the answer, `silent` is a
    connection on which no answer ever comes. `late` does what is asked, and then answers so.
    As `always`, it leaves the first `after` requests alone.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    on: str = ""
    cut: bool = False
    silent: bool = False
    delay_s: float = 0.0
    body: str | None = None
    late: bool = False
    after: int = 0


TOO_MANY = Trouble(429, {"Retry-After": "1"})
BROKEN = Trouble(500)
CUT = Trouble(cut=True)
SILENT = Trouble(silent=True)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Json
    key: str
    parameters: str = ""

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


class Failure(Exception):  # noqa: N818 - reads as the answer it is
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Service:
    """`troubles` are met by the next requests they are for, one each; `always` by all others.

    `key` opens everything, `reading_key` what changes nothing; with neither, all is open.
    """

    def __init__(self, url: str, folder: Path, key: str | None, reading_key: str | None) -> None:
        self.url = url
        self.key = key
        self.reading_key = reading_key
        self.version = VERSION
        self.collections: dict[str, Collection] = {}
        self.aliases: dict[str, str] = {}
        self.peers: dict[int, str] = {}
        """The states of the replicas on each node of a cluster; none of them without one."""
        self.requests: list[Request] = []
        self.troubles: list[Trouble] = []
        self.always: Trouble | None = None
        self.most_at_once = 0
        self.lines = 0
        """Connections that are open now, but for those that were met with silence."""
        self._folder = folder
        self._at_once = 0
        self._lock = threading.Lock()

    @property
    def address(self) -> Address:
        return Address(self.url, self.key)

    def forget(self) -> None:
        """As it was when it began, for the next test."""
        self.troubles.clear()
        self.always = None
        self.version = VERSION
        self.peers.clear()
        for name in list(self.collections):
            self.delete(name)
        self.requests.clear()

    def asked(self, pattern: str) -> int:
        """How many requests had a line, such as `PUT /collections/a/points`, of this pattern."""
        return sum(bool(re.search(pattern, request.line)) for request in self.requests)

    def delete(self, name: str) -> bool:
        """Under everybody's feet; whether it was there."""
        with self._lock:
            held = self.collections.pop(name, None)
            for alias in [alias for alias, target in self.aliases.items() if target == name]:
                del self.aliases[alias]
        if held is not None:
            held.close()
        return held is not None

    @contextmanager
    def meeting(self, request: Request) -> Iterator[Trouble]:
        with self._lock:
            self.requests.append(request)
            trouble = self._next_trouble(request.line)
            counted = 0 if trouble.silent else 1  # that one never ends
            self._at_once += counted
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield trouble
        finally:
            with self._lock:
                self._at_once -= counted

    def _next_trouble(self, line: str) -> Trouble:
        for number, trouble in enumerate(self.troubles):
            if re.search(trouble.on, line):
                return self.troubles.pop(number)
        always = self.always
        if always is not None and re.search(always.on, line):
            return always if self.asked(always.on) > always.after else Trouble()
        return Trouble()

    def respond(self, request: Request) -> tuple[int, Json]:
        if request.path == "/":
            title = "qdrant - vector search engine"
            return 200, {"title": title, "version": self.version, "commit": "0"}
        if request.path in _OPEN_TO_ALL:
            return 200, "healthz check passed"
        try:
            return 200, {"result": self.answer(request), "status": "ok", "time": 0.0}
        except Failure as failure:
            return failure.status, failed(str(failure))
        except BadRequest as error:
            return 400, failed(str(error))
        except Exception as error:  # noqa: BLE001 - the engine's own are nothing more special
            return 400, failed(f"Wrong input: {error}")

    def answer(self, request: Request) -> Json:
        self._check_key(request)
        for method, pattern, handle in _ROUTES:
            found = re.fullmatch(pattern, request.path)
            if found and method == request.method:
                names = [unquote(part) for part in found.groups()]
                return handle(self, request.body, *names)
        raise Failure(404, "")

    def _check_key(self, request: Request) -> None:
        if self.key is None or request.path in _OPEN_TO_ALL or request.key == self.key:
            return
        if not request.key:
            raise Failure(401, "Must provide an API key or an Authorization bearer token")
        if self.reading_key is None or request.key != self.reading_key:
            raise Failure(401, "Invalid API key or JWT")
        reads = re.search(r"/points(/scroll|/count|/query(/batch)?)?$", request.path)
        if request.method != "GET" and not (reads and request.method == "POST"):
            raise Failure(403, "Forbidden: Global manage access is required")

    # --- collections --------------------------------------------------------------------------

    def named(self, name: str) -> Collection:
        held = self.collections.get(self.aliases.get(name, name))
        if held is None:
            raise Failure(404, f"Not found: Collection `{name}` doesn't exist!")
        return held

    def create(self, body: Json, name: str) -> Json:
        with self._lock:
            if name in self.collections or name in self.aliases:
                raise Failure(409, f"Wrong input: Collection `{name}` already exists!")
            if not re.fullmatch(r"[^<>:\"/\\|?*\0\x1f]{1,255}", name):
                raise Failure(422, "Validation error in path: collection name is invalid")
            if self._is_older_than(16):
                body = {key: value for key, value in body.items() if key != "metadata"}
            self.collections[name] = Collection(self._folder / uuid4().hex, body)
        return True

    def _is_older_than(self, minor: int) -> bool:
        return int(self.version.split(".")[1]) < minor

    def cluster(self) -> Json:
        if not self.peers:
            return {"status": "disabled"}
        return {
            "status": "enabled",
            "peer_id": min(self.peers),
            "peers": {str(peer): {"uri": f"http://node{peer}:6335/"} for peer in self.peers},
            "raft_info": {
                "term": 1,
                "commit": 10,
                "pending_operations": 0,
                "leader": min(self.peers),
                "role": "Leader",
                "is_voter": True,
            },
            "consensus_thread_status": {
                "consensus_thread_status": "working",
                "last_update": "2026-01-01T00:00:00Z",
            },
            "message_send_failures": {},
        }

    def cluster_of(self, name: str) -> Json:
        """Shards and their replicas, spread over the nodes in turn, as the first node sees it."""
        params = self.named(name).config["params"]
        peers = sorted(self.peers) or [1]
        replicas = [
            (shard, peers[(shard + copy) % len(peers)])
            for shard in range(params["shard_number"])
            for copy in range(min(params["replication_factor"], len(peers)))
        ]
        told = [
            {"shard_id": shard, "peer_id": peer, "state": self.peers.get(peer, "Active")}
            for shard, peer in replicas
        ]
        return {
            "peer_id": peers[0],
            "shard_count": params["shard_number"],
            "local_shards": [
                {"shard_id": one["shard_id"], "points_count": 0, "state": one["state"]}
                for one in told
                if one["peer_id"] == peers[0]
            ],
            "remote_shards": [one for one in told if one["peer_id"] != peers[0]],
            "shard_transfers": [],
        }

    def change_aliases(self, body: Json) -> Json:
        with self._lock:
            changed = dict(self.aliases)
            for action in body["actions"]:
                self._change_alias(changed, action)
            self.aliases = changed
        return True

    def _change_alias(self, aliases: dict[str, str], action: Json) -> None:
        if "create_alias" in action:
            wanted = action["create_alias"]
            if wanted["collection_name"] not in self.collections:
                missing = wanted["collection_name"]
                raise Failure(404, f"Not found: Collection `{missing}` doesn't exist!")
            if wanted["alias_name"] in self.collections:
                taken = wanted["alias_name"]
                raise Failure(409, f"Wrong input: Collection `{taken}` already exists!")
            aliases[wanted["alias_name"]] = wanted["collection_name"]
        elif "delete_alias" in action:
            aliases.pop(action["delete_alias"]["alias_name"], None)
        else:
            wanted = action["rename_alias"]
            aliases[wanted["new_alias_name"]] = aliases.pop(wanted["old_alias_name"])

    def aliases_of(self, name: str | None = None) -> Json:
        return {
            "aliases": [
                {"alias_name": alias, "collection_name": target}
                for alias, target in self.aliases.items()
                if name in {None, target}
            ]
        }

    def close(self) -> None:
        for held in self.collections.values():
            held.close()


Handle = Callable[..., Json]
_NAME = "/collections/([^/]+)"


def _point(service: Service, _body: Json, name: str, point: str) -> Json:
    wanted = int(point) if point.isdecimal() else point
    found = service.named(name).retrieve({"ids": [wanted], "with_vector": True})
    if not found:
        raise Failure(404, f"Not found: Point with id {point} does not exists!")
    return found[0]


def _patched(service: Service, body: Json, name: str) -> Json:
    service.named(name).change(body)
    return True


_ROUTES: list[tuple[str, str, Handle]] = [
    ("GET", "/collections", lambda s, _: {"collections": [{"name": n} for n in s.collections]}),
    ("GET", "/aliases", lambda s, _: s.aliases_of()),
    ("GET", "/cluster", lambda s, _: s.cluster()),
    ("GET", f"{_NAME}/cluster", lambda s, _, n: s.cluster_of(n)),
    ("POST", "/collections/aliases", Service.change_aliases),
    ("GET", f"{_NAME}/exists", lambda s, _, n: {"exists": s.aliases.get(n, n) in s.collections}),
    ("GET", f"{_NAME}/aliases", lambda s, _, n: s.aliases_of(n)),
    ("GET", _NAME, lambda s, _, n: s.named(n).info()),
    ("PUT", _NAME, Service.create),
    ("PATCH", _NAME, _patched),
    ("DELETE", _NAME, lambda s, _, n: s.delete(n)),
    ("PUT", f"{_NAME}/index", lambda s, b, n: s.named(n).create_index(b)),
    ("DELETE", f"{_NAME}/index/([^/]+)", lambda s, _, n, key: s.named(n).delete_index(key)),
    ("PUT", f"{_NAME}/points", lambda s, b, n: s.named(n).upsert(b)),
    ("POST", f"{_NAME}/points", lambda s, b, n: s.named(n).retrieve(b)),
    ("GET", f"{_NAME}/points/([^/]+)", _point),
    ("POST", f"{_NAME}/points/delete", lambda s, b, n: s.named(n).delete(b)),
    ("POST", f"{_NAME}/points/payload", lambda s, b, n: s.named(n).set_payload(b)),
    ("POST", f"{_NAME}/points/scroll", lambda s, b, n: s.named(n).scroll(b)),
    ("POST", f"{_NAME}/points/count", lambda s, b, n: s.named(n).count(b)),
    ("POST", f"{_NAME}/points/query", lambda s, b, n: s.named(n).query(b)),
    (
        "POST",
        f"{_NAME}/points/query/batch",
        lambda s, b, n: [s.named(n).query(one) for one in b["searches"]],
    ),
]


def failed(reason: str) -> Json:
    return {"status": {"error": reason}, "time": 0.0}


def unique(name: str) -> str:
    """A unique name, so that suites can share a server."""
    return f"surefind-test-{name}-{uuid4().hex[:12]}"
