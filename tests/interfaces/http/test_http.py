"""The HTTP API, over real HTTP on loopback."""

import http.client
import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from support.commands import serving, surefind
from support.homes import copy_home


@pytest.fixture(scope="module")
def server(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("served") / "home"
    copy_home(ingested, home)
    with serving(cwd=home) as (address, _):
        yield address


@pytest.fixture
def client(server: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server, timeout=30) as client:
        yield client


def error_of(response: httpx2.Response) -> tuple[int, str, str]:
    body = response.json()
    assert set(body) == {"error", "message"}
    return response.status_code, body["error"], body["message"]


def test_search_answers_in_the_contracts_shape(client: httpx2.Client) -> None:
    answer = client.post("/search", json={"query": "Which voltage is needed?", "top_k": 3})
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"query", "results"}
    assert body["query"] == "Which voltage is needed?"
    assert len(body["results"]) == 3
    first = body["results"][0]
    assert set(first) == {"chunk_id", "snippet", "source_path", "slug", "title", "score"}
    assert first["source_path"] == "docs/guide/install.md"
    assert first["slug"] == "guide-install"
    assert first["title"] == "Installing"
    assert "230 volts" in first["snippet"]
    scores = [hit["score"] for hit in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_the_defaults_are_five_results_in_the_order_of_the_cosine(client: httpx2.Client) -> None:
    question = {"query": "descale with vinegar"}
    default = client.post("/search", json=question).json()["results"]
    dense = client.post("/retrieve", json={**question, "mode": "dense"}).json()["hits"]
    assert len(default) == 5
    assert [hit["chunk_id"] for hit in default] == [hit["chunk_id"] for hit in dense]
    assert [hit["score"] for hit in default] == pytest.approx([hit["similarity"] for hit in dense])
    hybrid = client.post("/search", json={**question, "mode": "hybrid"}).json()["results"]
    assert hybrid[0]["score"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": "x" * 501}, "query"),
        ({"query": None}, "query"),
        ({"query": 5}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "top_k": 21}, "top_k"),
        ({"query": "x", "top_k": "5"}, "top_k"),
        ({"query": "x", "top_k": 2.5}, "top_k"),
        ({"query": "x", "top_k": None}, "top_k"),
        ({"query": "x", "top_k": True}, "top_k"),
        ({"query": "x", "mode": "magic"}, "mode"),
        ({"query": "x", "unknown": 1}, "unknown"),
        ([], "body"),
        ("text", "body"),
    ],
)
def test_a_bad_request_is_a_400_that_names_the_field(
    client: httpx2.Client, body: object, field: str
) -> None:
    status, name, message = error_of(client.post("/search", json=body))
    assert (status, name) == (400, "validation_error")
    assert message.startswith(f"{field}:")


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_the_published_message_of_a_blank_query_is_word_for_word(
    client: httpx2.Client, query: str
) -> None:
    answer = client.post("/search", json={"query": query})
    assert answer.status_code == 400
    assert answer.json() == {"error": "validation_error", "message": "Query cannot be empty"}


def test_the_limits_themselves_are_fine(client: httpx2.Client) -> None:
    assert client.post("/search", json={"query": "x" * 500, "top_k": 20}).status_code == 200
    assert client.post("/search", json={"query": "x", "top_k": 1}).status_code == 200


def test_what_is_not_json_is_a_400_too(client: httpx2.Client) -> None:
    headers = {"content-type": "application/json"}
    for content in (b'{"query": ', b"", b"\xff\xfe", b"null"):
        status, name, _ = error_of(client.post("/search", content=content, headers=headers))
        assert (status, name) == (400, "validation_error")
    text = client.post("/search", content=b'{"query": "x"}', headers={"content-type": "text/plain"})
    assert "Content-Type: application/json" in error_of(text)[2]


def test_a_body_that_is_too_large_is_refused_declared_or_not(client: httpx2.Client) -> None:
    large = json.dumps({"query": "x" * 2_000_000}).encode()
    status, name, message = error_of(client.post("/search", content=large))
    assert (status, name) == (400, "validation_error")
    assert "65536 bytes" in message

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(large), 50_000):
            yield large[start : start + 50_000]

    try:
        assert client.post("/search", content=pieces()).status_code == 400
    except httpx2.WriteError:  # the server has hung up on the rest, as it may
        assert client.get("/health").status_code == 200


def test_an_unknown_path_and_method_have_the_same_form(client: httpx2.Client) -> None:
    assert error_of(client.get("/nothing"))[:2] == (404, "not_found")
    assert error_of(client.get("/search"))[:2] == (405, "method_not_allowed")
    assert error_of(client.get("/static/../../../settings.py"))[:2] == (404, "not_found")
    assert error_of(client.get("/read/docs/docs/none.md"))[:2] == (404, "not_found")
    assert error_of(client.get("/read/other/docs/index.md"))[:2] == (404, "not_found")


def test_health_is_exactly_the_contracts(client: httpx2.Client) -> None:
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "qdrant": True, "postgres": True}
    assert client.head("/health").status_code == client.head("/").status_code == 200


def test_retrieve_gives_everything_known(client: httpx2.Client) -> None:
    answer = client.post("/retrieve", json={"query": "error E42", "top_k": 2}).json()
    hit = answer["hits"][0]
    assert hit["breadcrumb"] == "Errors > E42"
    assert hit["read_path"] == "/read/docs/docs/reference/errors.md#e42"
    assert hit["url"] == str(client.base_url.join(hit["read_path"]))
    assert client.get(hit["url"]).status_code == 200
    assert hit["legs"]["lexical"]["rank"] == 1
    assert answer["generation"] == 1
    status, _, message = error_of(
        client.post("/retrieve", json={"query": "x", "mode": "lexical", "threshold": 0.5})
    )
    assert (status, message.split(":")[0]) == (
        400,
        "threshold applies to hybrid and dense mode only; remove it, or use one of these modes",
    )
    assert error_of(client.post("/retrieve", json={"query": " "}))[0] == 400
    assert error_of(client.post("/retrieve", json={"query": "x", "threshold": 1.5}))[0] == 400


def test_a_page_can_be_read_at_its_heading(client: httpx2.Client) -> None:
    page = client.get("/read/docs/docs/guide/install.md")
    assert page.status_code == 200
    assert '<section id="power"><h2>Power</h2>' in page.text
    assert "<title>Installing · surefind</title>" in page.text


def test_a_person_who_follows_a_dead_link_gets_a_page(client: httpx2.Client) -> None:
    page = client.get("/read/docs/docs/<b>none.md", headers={"accept": "text/html,*/*"})
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "&lt;b&gt;none.md" in page.text
    assert "<b>none" not in page.text


def test_the_page_and_its_parts_are_served_with_a_strict_policy(client: httpx2.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    style = client.get("/static/styles/style.css")
    assert (style.status_code, style.headers["cache-control"]) == (200, "no-cache")


def test_openapi_says_what_the_contract_says(client: httpx2.Client) -> None:
    schema = client.get("/openapi.json").json()
    request = schema["components"]["schemas"]["SearchRequest"]["properties"]
    assert (request["query"]["minLength"], request["query"]["maxLength"]) == (1, 500)
    assert (request["top_k"]["minimum"], request["top_k"]["maximum"]) == (1, 20)
    assert request["top_k"]["default"] == 5
    answers = schema["paths"]["/search"]["post"]["responses"]
    assert {"200", "400", "500", "502", "503"} <= set(answers)
    assert "422" not in json.dumps(schema)
    assert "HTTPValidationError" not in json.dumps(schema)


def test_openapi_names_every_operation_for_generated_clients(client: httpx2.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    names = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(set(names)) == len(names)
    assert {"search", "search_v1", "health", "health_v1", "retrieve", "why_not"} <= set(names)
    assert {"vector_stores", "vector_store", "vector_store_search"} <= set(names)
    assert not [name for name in names if name.endswith(("_get", "_post"))]


def test_many_at_once_are_all_answered(server: str) -> None:
    questions = [f"question number {number} about tea" for number in range(60)]

    def ask(question: str) -> int:
        return httpx2.post(f"{server}/search", json={"query": question}, timeout=60).status_code

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, questions)) == [200] * 60


def test_an_ingest_beside_the_server_is_picked_up_without_a_restart(home: Path) -> None:
    with serving(cwd=home) as (address, _):
        question = {"query": "how do I reach support by telephone", "mode": "hybrid"}
        before = httpx2.post(f"{address}/search", json=question, timeout=30).json()["results"]
        (home / "docs" / "support.md").write_text(
            "# Support\n\nCall our telephone number 555-0100."
        )
        assert surefind("ingest", "docs", cwd=home).returncode == 0
        after = httpx2.post(f"{address}/search", json=question, timeout=30).json()["results"]
        assert "docs/support.md" not in [hit["source_path"] for hit in before]
        assert after[0]["source_path"] == "docs/support.md"
        assert surefind("generations", "rollback", cwd=home).returncode == 0
        back = httpx2.post(f"{address}/search", json=question, timeout=30).json()["results"]
        assert back == before


def test_a_server_may_start_before_anything_is_ingested(home: Path) -> None:
    with serving("--data-dir", "empty", cwd=home) as (address, _):
        status, name, message = error_of(httpx2.post(f"{address}/search", json={"query": "tea"}))
        assert (status, name) == (503, "service_unavailable")
        assert "surefind ingest" in message
        health = httpx2.get(f"{address}/health")
        assert health.status_code == 503
        assert health.json() == {"status": "error", "qdrant": False, "postgres": True}
        assert error_of(httpx2.post(f"{address}/retrieve", json={"query": "tea"}))[0] == 404
        assert surefind("ingest", "docs", "--data-dir", "empty", cwd=home).returncode == 0
        assert httpx2.post(f"{address}/search", json={"query": "tea"}).status_code == 200
        assert httpx2.get(f"{address}/health").status_code == 200


def test_a_lost_catalog_is_degraded_and_search_still_answers(home: Path) -> None:
    (home / ".surefind/collections/docs/0001/catalog.sqlite").write_bytes(b"lost" * 500)
    with serving(cwd=home) as (address, _):
        health = httpx2.get(f"{address}/health")
        assert health.status_code == 200
        assert health.json() == {"status": "degraded", "qdrant": True, "postgres": False}
        found = httpx2.post(f"{address}/search", json={"query": "vinegar"}, timeout=30).json()
        assert found["results"][0]["source_path"] == "docs/guide/cleaning.md"
        assert error_of(httpx2.get(f"{address}/read/docs/docs/index.md"))[0] == 503


def test_sigterm_lets_a_running_request_finish_and_gives_everything_back(home: Path) -> None:
    """Half of the request is sent before the signal, the rest after it."""
    body = json.dumps({"query": "vinegar"}).encode()
    with serving(cwd=home) as (address, process):
        host, port = address.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.putrequest("POST", "/search")
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body[:5])
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        connection.send(body[5:])
        answer = connection.getresponse()
        assert answer.status == 200
        assert json.loads(answer.read())["results"]
        assert process.wait(timeout=20) == 0
    assert not list((home / ".surefind" / "views").iterdir())
    assert not (home / ".surefind" / "serve.holder").exists()
