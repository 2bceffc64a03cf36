"""What clients send that no client should: every answer is a documented one, and never a 500."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import Server, log_of, serving, surefind
from support.homes import copy_home

pytestmark = pytest.mark.thorough

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def served(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Server]]:
    home = tmp_path_factory.mktemp("hostile") / "home"
    copy_home(ingested, home)
    with serving(cwd=home) as server:
        yield server
    statuses = {line["status"] for line in log_of(server[1]) if line["message"] == "request"}
    assert statuses
    assert 500 not in statuses


@pytest.fixture
def client(served: tuple[str, Server]) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served[0], timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def schema(served: tuple[str, Server]) -> Any:
    return httpx2.get(f"{served[0]}/openapi.json").json()


def raw(address: str, request: bytes) -> tuple[int, bytes]:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(request)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def asked(path: bytes, more: bytes = b"") -> bytes:
    return (
        b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + more + b"\r\n"
    )


@pytest.mark.parametrize(
    "path",
    [
        b"/static/../../../settings.py",
        b"/static/%2e%2e/%2e%2e/settings.py",
        b"/static/..%2f..%2fsettings.py",
        b"/static/..%5c..%5csettings.py",
        b"/static//etc/passwd",
        b"/static/%00",
        b"/static/" + b"a" * 5000,
        b"//search",
        b"/./search",
        b"/search/",
        b"/search;x=1",
        b"/%73earch%00",
        b"/read/docs/../../../../etc/passwd",
        b"/read/docs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        b"/read/docs//etc/passwd",
        b"/read/%00/%00",
        b"/read/..%2f..%2f/x",
        b"/chunks/%ff%fe",
        b"/chunks/%ed%a0%80",
        b"/documents/%ff/chunks",
        b"/documents/..%2f..%2f/chunks",
        b"/%",
        b"/%zz",
    ],
)
def test_no_path_leads_where_it_should_not(served: tuple[str, Server], path: bytes) -> None:
    status, body = raw(served[0], asked(path))
    assert status in {400, 404, 405}
    assert set(json.loads(body)) == {"error", "message"}
    assert b"root:" not in body


@pytest.mark.parametrize("path", [b"*", b"http://evil.example/live", b"/\xff", b"evil:80"])
def test_an_unknown_address_is_refused_or_not_found(
    served: tuple[str, Server], path: bytes
) -> None:
    status, _ = raw(served[0], asked(path))
    assert status in {200, 400, 404}


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe\x00",
        b'{"query": "\xff\xfe"}',
        b'{"query": "\\ud800"}',
        b'{"query": "\\u0000"}',
        b'{"query": "x", "query": 5}',
        b'{"query": NaN}',
        b'{"query": "x", "top_k": 1e400}',
        b'{"query": "x", "top_k": ' + b"9" * 5000 + b"}",
        b"[" * 20_000,
        b'{"a":' * 10_000,
        b"",
        b"null",
        b"\xef\xbb\xbf{}",
        b"{",
    ],
)
@pytest.mark.parametrize("path", ["/search", "/retrieve", "/query", "/api/v1/search"])
def test_a_body_that_makes_no_sense_is_a_400(client: httpx2.Client, path: str, body: bytes) -> None:
    answer = client.post(path, content=body, headers=JSON)
    if b"0000" in body and answer.status_code == 200:
        return  # a text may hold that character
    assert answer.status_code == 400, answer.text
    assert set(answer.json()) == {"error", "message"}


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "multipart/form-data",
        "",
        "application/x-www-form-urlencoded",
    ],
)
def test_only_json_is_read(client: httpx2.Client, kind: str) -> None:
    answer = client.post(
        "/search", content=b'{"query": "tea"}', headers={"content-type": kind} if kind else {}
    )
    assert answer.status_code == 400
    assert "Content-Type: application/json" in answer.json()["message"]


def test_lies_about_the_length_harm_no_one(served: tuple[str, Server]) -> None:
    start = b"POST /search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for headers in (
        b"Content-Length: -1\r\n",
        b"Content-Length: 1e3\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Content-Length: 99999999999999999999\r\n",
    ):
        status, body = raw(served[0], start + headers + b"\r\nhello")
        assert status == 400
        assert set(json.loads(body)) == {"error", "message"}
    assert httpx2.get(f"{served[0]}/live").status_code == 200


REQUESTS: list[tuple[str, str, Any, int]] = [
    ("post", "/search", {"query": "tea"}, 200),
    ("post", "/search", {"query": ""}, 400),
    ("post", "/query", {"query_text": "tea"}, 200),
    ("post", "/query", {"query_text": 1}, 400),
    ("post", "/api/v1/search", {"query_text": "where is the tea"}, 200),
    ("post", "/api/v1/search", {"query_text": "tea"}, 400),
    ("post", "/api/v1/validate", {"test_queries": []}, 400),
    ("post", "/retrieve", {"query": "tea"}, 200),
    ("post", "/retrieve", {"query": "tea", "collections": ["none"]}, 404),
    ("post", "/retrieve", {"query": "tea", "collections": ["../.."]}, 400),
    ("post", "/retrieve/batch", {"queries": ["tea", "pot"]}, 200),
    ("post", "/retrieve/batch", {"queries": ["tea", "pot"], "collections": ["none"]}, 404),
    ("post", "/retrieve/batch", {"queries": ["tea"], "where": {"nosuch": 1}}, 400),
    ("post", "/retrieve/why-not", {"query": "tea", "wanted": "docs/none.md"}, 200),
    ("post", "/generations/rollback", {}, 403),
    ("get", "/gaps", None, 403),
    ("get", "/health", None, 200),
    ("get", "/api/v1/health", None, 200),
    ("get", "/live", None, 200),
    ("get", "/ready", None, 200),
    ("get", "/metrics", None, 200),
    ("get", "/collections", None, 200),
    ("get", "/documents", None, 200),
    ("get", "/documents?limit=0", None, 400),
    ("get", "/documents/docs/index.md/chunks", None, 200),
    ("get", "/documents/none/chunks", None, 404),
    ("get", "/chunks/none", None, 404),
    ("get", "/chunks/none/neighbours", None, 404),
    ("get", "/chunks/none/section", None, 404),
    ("get", "/fields", None, 200),
    ("get", "/generations", None, 200),
    ("get", "/generations?collection=..", None, 400),
    ("get", "/generations/1/changes", None, 200),
    ("get", "/generations/99/changes", None, 404),
    ("get", "/generations/x/changes", None, 400),
    ("get", "/v1/vector_stores", None, 200),
    ("get", "/v1/vector_stores/none", None, 404),
    ("post", "/v1/vector_stores/none/search", {"query": "tea"}, 404),
    ("get", "/v1/vector_stores/none/files", None, 404),
    ("get", "/v1/vector_stores/none/files/none", None, 400),
    ("get", "/v1/vector_stores/none/files/none/content", None, 400),
]


def assert_is_an_error(body: Any, template: str) -> None:
    if template.startswith("/v1/"):  # in OpenAI's shape
        assert set(body) == {"error"}
        assert {"message", "type", "code"} <= set(body["error"])
    else:
        assert set(body) == {"error", "message"}


@pytest.mark.parametrize(("method", "path", "body", "status"), REQUESTS)
def test_each_route_answers_as_it_is_documented(
    client: httpx2.Client, schema: Any, method: str, path: str, body: Any, status: int
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    [template] = [name for name in schema["paths"] if matches(name, path.partition("?")[0])]
    documented = schema["paths"][template][method]["responses"]
    assert str(status) in documented
    if status >= 400:
        assert_is_an_error(answer.json(), template)


def matches(template: str, path: str) -> bool:
    if template == "/documents/{source_path}/chunks":
        return path.startswith("/documents/") and path.endswith("/chunks")
    parts, given = template.split("/"), path.split("/")
    return len(parts) == len(given) and all(
        part == value or part.startswith("{") for part, value in zip(parts, given, strict=True)
    )


def test_every_documented_route_is_in_the_table_with_its_errors(schema: Any) -> None:
    tried = {(method, path.partition("?")[0]) for method, path, _, _ in REQUESTS}
    for template, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert any(one == method and matches(template, path) for one, path in tried), template
            answers = operation["responses"]
            assert "422" not in answers
            for status, answer in answers.items():
                if int(status) >= 400 and "health" not in template:
                    example = answer["content"]["application/json"]["example"]
                    assert_is_an_error(example, template)
            if template not in {"/live", "/ready", "/health", "/api/v1/health"}:
                assert {"401", "429", "503"} <= set(answers)


def test_html_in_a_document_stays_text(home: Path) -> None:
    (home / "docs" / "evil.md").write_text(
        "# <script>alert(1)</script>\n\n<img src=x onerror=alert(2)> \"quoted\" 'text' zebra"
    )
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    with serving(cwd=home) as (address, _):
        page = httpx2.get(f"{address}/read/docs/docs/evil.md")
        found = httpx2.post(f"{address}/retrieve", json={"query": "zebra <script>"}, timeout=30)
    assert set(re.findall("<script[^>]*>[^<]*", page.text)) == {
        '<script src="/static/theme.js">',
        '<script src="/static/reader.js" type="module">',
    }
    assert "&lt;script" in page.text
    assert "<img" not in page.text
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-content-type-options"] == "nosniff"
