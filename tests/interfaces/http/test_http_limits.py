"""What one client may take from the others, and what other sites' pages may do."""

import asyncio
import itertools
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.commands import serving
from support.fakes import WatchedEmbedder
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.bootstrap import Application
from surefind.interfaces.http.app import create_app
from surefind.ports import Embedder
from surefind.settings import load

pytestmark = pytest.mark.thorough

QUESTION = {"query": "vinegar"}
SETTINGS = {
    "SUREFIND_RATE_LIMIT_PER_MINUTE": "3",
    "SUREFIND_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8",
    "SUREFIND_BODY_TIMEOUT_S": "0.5",
    "SUREFIND_HEADER_TIMEOUT_S": "0.5",
    "SUREFIND_CORS_ORIGINS": "https://docs.example.com",
    "SUREFIND_CORS_ORIGIN_REGEX": r"https://pr-\d+\.example\.com",
}


@pytest.fixture(scope="module")
def limited(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, httpx2.Client]]:
    """Each test comes from an address of its own, by way of a proxy that is trusted."""
    data = tmp_path_factory.mktemp("limited") / "data"
    with (
        serving("--data-dir", data, cwd=ingested, **SETTINGS) as (address, _),
        httpx2.Client(base_url=address, timeout=30) as client,
    ):
        yield address, client


def raw(address: str, *pieces: bytes) -> tuple[int, dict[str, str], dict[str, str]]:
    """Status, headers and body of what comes back; the server hangs up by itself."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has hung up already, and may
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
        except ConnectionResetError:
            pass
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines}
    return int(first.split()[1]), headers, json.loads(body)


def test_too_many_requests_are_refused_with_the_time_to_wait(
    limited: tuple[str, httpx2.Client],
) -> None:
    _, client = limited
    mine = {"X-Forwarded-For": "203.0.113.1"}
    answers = [client.get("/openapi.json", headers=mine) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert set(answers[-1].json()) == {"error", "message"}
    assert answers[-1].json()["error"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
    assert answers[-1].headers["x-request-id"]
    other = {"X-Forwarded-For": "203.0.113.2"}
    assert client.get("/openapi.json", headers=other).status_code == 200
    for path in ("/", "/health", "/live", "/static/styles/style.css"):
        assert client.get(path, headers=mine).status_code != 429


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/retrieve/batch", {"queries": ["one", "two"]}),
        (
            "/api/v1/validate",
            {"test_queries": [{"query_text": "is it there?", "expected_chunks": ["x"]}] * 2},
        ),
    ],
)
def test_many_searches_in_one_request_count_as_many(
    limited: tuple[str, httpx2.Client], path: str, body: dict[str, object]
) -> None:
    _, client = limited
    mine = {"X-Forwarded-For": f"203.0.113.{20 + len(path)}"}
    answers = [client.post(path, json=body, headers=mine) for _ in range(2)]
    assert answers[0].status_code in {404, 503}, "there is nothing to search"
    assert answers[1].status_code == 429
    assert answers[1].json()["error"] == "rate_limited"
    assert "these 2 again" in answers[1].json()["message"]
    assert 1 <= int(answers[1].headers["retry-after"]) <= 20


def test_the_addresses_of_one_ipv6_network_are_one_client(
    limited: tuple[str, httpx2.Client],
) -> None:
    _, client = limited
    statuses = [
        client.get("/openapi.json", headers={"X-Forwarded-For": f"2001:db8:1:2::{n}"}).status_code
        for n in range(1, 5)
    ]
    assert statuses == [200, 200, 200, 429]


def test_only_the_last_address_that_no_proxy_of_ours_has_counts(
    limited: tuple[str, httpx2.Client],
) -> None:
    _, client = limited
    forged = [f"198.51.100.{n}, 203.0.113.7, 10.1.2.3" for n in range(4)]
    statuses = [
        client.get("/openapi.json", headers={"X-Forwarded-For": value}).status_code
        for value in forged
    ]
    assert statuses == [200, 200, 200, 429]


async def test_without_trusted_proxies_no_one_is_believed(ingested: Path) -> None:
    settings = {"SUREFIND_RATE_LIMIT_PER_MINUTE": "2"}
    with serving("--data-dir", "none", cwd=ingested, **settings) as (address, _):
        statuses = [
            httpx2.get(
                f"{address}/openapi.json", headers={"X-Forwarded-For": f"203.0.113.{n}"}
            ).status_code
            for n in range(3)
        ]
    assert statuses == [200, 200, 429]


def test_a_body_that_never_ends_is_cut(limited: tuple[str, httpx2.Client]) -> None:
    address, client = limited
    head = (
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.10\r\n"
        b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n"
    )
    status, headers, body = raw(address, head, b'{"query"')
    assert (status, body["error"]) == (408, "request_timeout")
    assert headers["connection"] == "close"
    assert headers["x-request-id"]
    assert client.get("/live").status_code != 500


@pytest.mark.parametrize(
    "sent", [b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A", b"\r\n\r\n"]
)
def test_a_head_that_never_ends_is_cut(limited: tuple[str, httpx2.Client], sent: bytes) -> None:
    status, headers, body = raw(limited[0], sent)
    assert (status, body["error"]) == (408, "request_timeout")
    assert len(headers["x-request-id"]) == 32


def test_who_connects_and_says_nothing_is_let_go(limited: tuple[str, httpx2.Client]) -> None:
    host, port = limited[0].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        assert connection.recv(100) == b""


@pytest.mark.parametrize(
    "head",
    [
        b"".join(b"X-Header-%d: value\r\n" % number for number in range(10_000)),
        b"X-Long: " + b"x" * 100_000 + b"\r\n",
        b"X-Endless: " + b"x" * 3_000_000,
    ],
    ids=["10,000 headers", "a long one", "an endless one"],
)
def test_a_head_that_is_too_large_is_refused(
    limited: tuple[str, httpx2.Client], head: bytes
) -> None:
    address, client = limited
    start = b"GET /live HTTP/1.1\r\nHost: localhost\r\n"
    status, _, body = raw(address, start, head, b"\r\n")
    assert (status, body["error"]) == (431, "validation_error")
    assert client.get("/live").status_code in (200, 404)


def test_a_long_address_is_refused(limited: tuple[str, httpx2.Client]) -> None:
    status, _, body = raw(
        limited[0], b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert (status, body["error"]) == (431, "validation_error")


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01 hello\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA b: c\r\n\r\n"]
)
def test_what_is_not_http_is_a_400_of_the_same_form(
    limited: tuple[str, httpx2.Client], sent: bytes
) -> None:
    status, _, body = raw(limited[0], sent)
    assert (status, body["error"]) == (400, "validation_error")
    assert set(body) == {"error", "message"}


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://docs.example.com", True),
        ("https://pr-17.example.com", True),
        ("https://pr-17.example.com.evil.net", False),
        ("http://docs.example.com", False),
        ("https://evil.net", False),
        ("null", False),
    ],
)
def test_only_the_pages_of_known_sites_may_call(
    limited: tuple[str, httpx2.Client], origin: str, allowed: bool
) -> None:
    _, client = limited
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    preflight = client.options("/search", headers=asked)
    assert (preflight.status_code == 200) is allowed
    if not allowed:
        assert set(preflight.json()) == {"error", "message"}
    answer = client.get("/health", headers={"Origin": origin})
    assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
    assert "access-control-allow-credentials" not in answer.headers


# --- more than a server can answer --------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow(ingested: Path) -> Iterator[str]:
    """A server that answers one at a time, while one waits."""
    one = {"SUREFIND_MAX_CONCURRENCY": "1", "SUREFIND_MAX_QUEUE": "1"}
    with serving(cwd=ingested, **one) as (address, _):
        yield address


@pytest.mark.parametrize(
    "asked",
    [
        {"mode": "lexical"},
        {"mode": "lexical", "query": "always the same, so its answer is remembered"},
        {"mode": "dense", "query": "its vector is remembered, the answer is not"},
        {"mode": "hybrid"},
        None,
    ],
    ids=["lexical", "answers", "vectors", "hybrid", "documents"],
)
async def test_a_crowd_is_answered_or_refused_at_once_whatever_it_asks(
    narrow: str, asked: dict[str, str] | None
) -> None:
    limits = httpx2.Limits(max_connections=60)
    numbers = itertools.count(1)

    async def ask(client: httpx2.AsyncClient) -> httpx2.Response:
        if asked is None:
            return await client.get("/documents")
        number = next(numbers)
        threshold = number * 1e-9 if asked["mode"] == "dense" else 0
        body = {"query": f"vinegar {number}", "threshold": threshold, **asked}
        return await client.post("/retrieve", json=body)

    statuses = set()
    async with httpx2.AsyncClient(base_url=narrow, timeout=60, limits=limits) as client:
        for _ in range(20):
            answers = await asyncio.gather(*(ask(client) for _ in range(60)))
            statuses |= {answer.status_code for answer in answers}
            for refused in (one for one in answers if one.status_code == 503):
                assert int(refused.headers["retry-after"]) >= 1
            if len(statuses) > 1:
                break
        assert statuses == {200, 503}
        assert (await client.get("/metrics")).status_code == 200


# --- inside one process, where a search can be held ---------------------------------------------


class HeldEmbedder(WatchedEmbedder):
    """Queries wait until `gate` is set."""

    def __init__(self, inner: Embedder) -> None:
        self.gate = asyncio.Event()
        super().__init__(inner, self._wait)

    async def _wait(self, _query: str) -> None:
        await self.gate.wait()


@pytest.fixture
def held(bge: BgeSmallEmbedder) -> HeldEmbedder:
    return HeldEmbedder(bge)


def client_of(
    ingested: Path, embedder: Embedder, **settings: object
) -> tuple[Application, httpx2.AsyncClient]:
    application = Application(load(data_dir=ingested / ".surefind", **settings), embedder=embedder)
    transport = httpx2.ASGITransport(create_app(application))
    return application, httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def test_a_full_queue_says_so_at_once_and_the_others_are_answered(
    ingested: Path, held: HeldEmbedder
) -> None:
    application, client = client_of(ingested, held, max_concurrency=1, max_queue=2)
    async with client:
        asked = [asyncio.create_task(client.post("/search", json=QUESTION)) for _ in range(5)]
        done, _ = await asyncio.wait(asked, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 2:
            more, _ = await asyncio.wait(
                set(asked) - done, timeout=30, return_when=asyncio.FIRST_COMPLETED
            )
            done |= more
        for refused in (task.result() for task in done):
            assert refused.status_code == 503
            assert refused.json()["error"] == "service_unavailable"
            assert refused.headers["retry-after"] == "1"
        assert (await client.get("/health")).status_code == 200
        held.gate.set()
        statuses = [answer.status_code for answer in await asyncio.gather(*asked)]
    await application.close()
    assert sorted(statuses) == [200, 200, 200, 503, 503]


async def test_an_answer_that_takes_too_long_is_a_503(ingested: Path, held: HeldEmbedder) -> None:
    application, client = client_of(ingested, held, request_timeout_s=0.1, max_concurrency=1)
    async with client:
        answer = await client.post("/search", json=QUESTION)
        assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
        assert answer.headers["retry-after"] == "1"
        held.gate.set()
    await application.close()
    patient, client = client_of(ingested, held)
    async with client:
        assert (await client.post("/search", json=QUESTION)).status_code == 200
    await patient.close()


async def test_the_description_for_people_is_served_to_this_machine_or_when_asked(
    ingested: Path,
) -> None:
    for public, docs, status in (
        (False, None, 200),
        (True, None, 404),
        (True, True, 200),
        (False, False, 404),
    ):
        application = Application(load(data_dir=ingested / ".surefind", docs=docs))
        transport = httpx2.ASGITransport(create_app(application, public=public))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            page = await client.get("/docs")
        assert page.status_code == status
        if status == 200:
            assert "POST /api/v1/search" in page.text
            scripts = re.findall("<script[^>]*>[^<]*", page.text)
            assert scripts, "the forms need one"
            assert all(
                re.fullmatch(r'<script src="/static/[\w/]+\.js"[^>]*>', one) for one in scripts
            )
            assert "https://" not in page.text.replace("https://docs.example.com", "")
