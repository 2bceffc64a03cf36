"""Request ids and the log: what an answer and its line in the log have in common."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import Server, log_of, serving
from support.homes import copy_home
from surefind.bootstrap import Application
from surefind.interfaces.http.app import create_app
from surefind.model import SearchResult
from surefind.settings import load


@pytest.fixture(scope="module")
def served(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx2.Client, Server]]:
    home = tmp_path_factory.mktemp("logged") / "home"
    copy_home(ingested, home)
    with (
        serving(cwd=home) as (address, process),
        httpx2.Client(base_url=address, timeout=30) as client,
    ):
        yield client, process


def line_of(process: Server, request_id: str) -> dict[str, Any]:
    """The request's line, which is written after its answer was sent."""
    for _ in range(200):
        for line in log_of(process):
            if line.get("request_id") == request_id and line["message"] == "request":
                return line
        time.sleep(0.05)
    raise AssertionError(f"the log has no request {request_id}: {process.said}")


@pytest.mark.parametrize("given", ["abc", "0", "x" * 128, "Root=1-67.a:b/c+d_e"])
def test_a_request_id_comes_back(served: tuple[httpx2.Client, Server], given: str) -> None:
    client, process = served
    answer = client.get("/health", headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == given
    assert line_of(process, given)["status"] == 200


@pytest.mark.parametrize(
    "given", ["", "x" * 129, "two words", "a,b", "ä", 'a"b', "<script>", "a\tb"]
)
def test_an_id_that_is_not_safe_is_replaced(
    served: tuple[httpx2.Client, Server], given: str
) -> None:
    client, _ = served
    answer = client.get("/health", headers=[(b"X-Request-ID", given.encode())])
    assert len(answer.headers["x-request-id"]) == 32


def test_of_two_ids_neither_is_used(served: tuple[httpx2.Client, Server]) -> None:
    client, _ = served
    answer = client.get("/health", headers=[("X-Request-ID", "a"), ("X-Request-ID", "b")])
    assert len(answer.headers["x-request-id"]) == 32


@pytest.mark.parametrize("ending", [b"\r\n", b"\n", b"\r"])
def test_no_header_can_be_smuggled_in_by_a_request_id(
    served: tuple[httpx2.Client, Server], ending: bytes
) -> None:
    client, _ = served
    injected = b"a" + ending.replace(b"\r\n", b"%0d%0a") + b"X-Evil: 1"
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
        raw.settimeout(10)
        raw.sendall(
            b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Request-ID: "
            + injected
            + b"\r\n\r\n"
        )
        answer = b""
        while piece := raw.recv(4096):
            answer += piece
    assert b"x-evil" not in answer.lower()


def test_every_answer_has_an_id_also_an_error(served: tuple[httpx2.Client, Server]) -> None:
    client, process = served
    answers = [
        client.get("/"),
        client.get("/static/styles/style.css"),
        client.get("/nothing"),
        client.get("/search"),
        client.post("/search", json={"query": ""}),
        client.post("/search", content=b"x" * 100_000),
    ]
    lines = [line_of(process, answer.headers["x-request-id"]) for answer in answers]
    assert [line["status"] for line in lines] == [200, 200, 404, 405, 400, 400]
    assert [line["route"] for line in lines] == [
        "/",
        "/static",
        "(none)",
        "/search",
        "/search",
        "(none)",
    ]


def test_the_line_of_a_search_shows_its_stages_and_not_what_was_asked(
    served: tuple[httpx2.Client, Server],
) -> None:
    client, process = served
    answer = client.post(
        "/search",
        json={"query": "descale with vinegar"},
        headers={"Authorization": "Bearer very-secret"},
    )
    line = line_of(process, answer.headers["x-request-id"])
    assert set(line) == {
        "time", "level", "message", "request_id", "method", "route", "status", "ms", "client",
        "searches", "remembered", "stages_ms", "hits", "top_score",
    }  # fmt: skip
    assert (line["method"], line["route"], line["status"]) == ("POST", "/search", 200)
    assert (line["searches"], line["remembered"], line["hits"]) == (1, 0, 5)
    assert set(line["stages_ms"]) == {"embedded", "searched", "filtered", "formatted"}
    assert line["top_score"] == pytest.approx(answer.json()["results"][0]["score"], abs=1e-6)
    assert line["ms"] >= sum(line["stages_ms"].values()) > 0
    written = "".join(process.said)
    assert "vinegar" not in written
    assert "very-secret" not in written


def test_queries_are_logged_on_request(home: Path) -> None:
    with serving("--log-queries", cwd=home) as (address, process):
        asked = httpx2.post(f"{address}/search", json={"query": "ünïcode\nvinegar"}, timeout=30)
        assert asked.status_code == 200
        line = line_of(process, asked.headers["x-request-id"])
        assert line["queries"] == ["ünïcode\nvinegar"]


@pytest.fixture
def application(ingested: Path) -> Application:
    return Application(load(data_dir=ingested / ".surefind"))


async def test_a_bug_is_in_the_log_with_the_id_of_its_answer(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_result: SearchResult) -> None:
        raise RuntimeError("the secret inside")

    application.parts.observers.append(fail)
    transport = httpx2.ASGITransport(create_app(application))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post(
            "/search", json={"query": "tea"}, headers={"X-Request-ID": "mine"}
        )
    assert answer.status_code == 500
    assert set(answer.json()) == {"error", "message"}
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "the secret inside" in caplog.text


@pytest.mark.parametrize("path", ["/search", "/read/docs/docs/index.md"])
async def test_no_failure_of_a_store_shows_where_its_files_are(
    home: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    data = home / ".surefind"
    (data / "collections/docs/CURRENT").write_text("damaged")
    application = Application(load(data_dir=data))
    transport = httpx2.ASGITransport(create_app(application))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        asked = {"query": "tea"}
        answers = [
            await client.post(path, json=asked) if path == "/search" else await client.get(path),
            await client.get("/read/docs/x.md", headers={"accept": "text/html"}),
        ]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert str(home) not in answers[0].text + answers[1].text
    if path == "/search":
        assert answers[0].json()["error"] == "service_unavailable"
        assert f"{data}/collections/docs/CURRENT" in caplog.text
