"""The vector store endpoints in OpenAI's shape, over real HTTP.

`tests/integrations` calls the same endpoints with OpenAI's own client.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import serving, surefind
from support.homes import copy_home

PAGE = "---\ntags: [{tags}]\nlevel: 3\n{more}---\n# Kettle\n\nIt boils water.\n"
STORE = "/v1/vector_stores/docs"


@pytest.fixture(scope="module")
def client(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Its key is a bearer token, as OpenAI's clients send it."""
    home = tmp_path_factory.mktemp("stores") / "home"
    copy_home(ingested, home)
    more = "".join(f"z_{number}: {number}\n" for number in range(20))
    tags = ", ".join(f"a tag with number {number}" for number in range(100))
    (home / "docs/kettle.md").write_text(PAGE.format(tags=tags, more=more))
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    assert surefind("ingest", "docs/guide", "-c", "guide", cwd=home).returncode == 0
    key = surefind("keys", "create", "--name", "reader", cwd=home).stdout.strip()
    headers = {"Authorization": f"Bearer {key}"}
    patient = {"SUREFIND_REQUEST_TIMEOUT_S": "120"}
    with (
        serving(cwd=home, **patient) as (address, _),
        httpx2.Client(base_url=address, timeout=120, headers=headers) as client,
    ):
        yield client


def found(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem(answer: httpx2.Response) -> tuple[int, str | None, str]:
    """The status, the invalid parameter and the message."""
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert set(answer.json()) == {"error"}
    return answer.status_code, error["param"], error["message"]


def search(client: httpx2.Client, query: object, **more: object) -> httpx2.Response:
    return client.post(f"{STORE}/search", json={"query": query, **more})


def paths(answer: httpx2.Response) -> list[str]:
    return [one["filename"] for one in found(answer)["data"]]


def only(key: str, value: object, kind: str = "eq") -> dict[str, object]:
    return {"type": kind, "key": key, "value": value}


# --- searching ----------------------------------------------------------------------------------


def test_a_search_returns_the_hits_of_retrieve(client: httpx2.Client) -> None:
    page = found(search(client, "What does the error E42 mean?", max_num_results=3))
    assert page["object"] == "vector_store.search_results.page"
    assert page["search_query"] == ["What does the error E42 mean?"]
    assert (page["has_more"], page["next_page"]) == (False, None)
    asked = {"query": "What does the error E42 mean?", "top_k": 3}
    hits = found(client.post("/retrieve", json=asked))["hits"]
    assert [one["score"] for one in page["data"]] == [hit["score"] for hit in hits]
    for one, hit in zip(page["data"], hits, strict=True):
        assert one["filename"] == hit["source_path"]
        assert one["content"] == [{"type": "text", "text": hit["text"]}]
        assert one["attributes"]["chunk_id"] == hit["chunk_id"]
        assert one["attributes"]["url"] == hit["url"]
        assert one["attributes"]["similarity"] == hit["similarity"]


def test_attributes_stay_within_the_limits_of_clients(client: httpx2.Client) -> None:
    [one] = found(search(client, "boils water", max_num_results=1))["data"]
    attributes = one["attributes"]
    assert one["filename"] == "docs/kettle.md"
    assert len(attributes) == 16
    assert all(not isinstance(value, list | dict) for value in attributes.values())
    assert max(len(value) for value in attributes.values() if isinstance(value, str)) <= 512
    assert attributes["source_path"] == "docs/kettle.md"
    [file] = found(client.get(f"{STORE}/files/{one['file_id']}/content"))["data"]
    assert file["type"] == "text"
    [listed] = [
        file for file in found(client.get(f"{STORE}/files"))["data"] if file["id"] == one["file_id"]
    ]
    assert listed["attributes"]["level"] == 3
    assert listed["attributes"]["tags"].startswith("a tag with number 0, a tag")
    assert len(listed["attributes"]["tags"]) == 512


def test_of_several_queries_a_passage_has_its_best_score(client: httpx2.Client) -> None:
    queries = ["What does the error E42 mean?", "the lid is open", "descale with vinegar"]
    page = found(search(client, queries, max_num_results=4, rewrite_query=True))
    assert page["search_query"] == queries
    ids = [one["attributes"]["chunk_id"] for one in page["data"]]
    scores = [one["score"] for one in page["data"]]
    assert len(set(ids)) == len(ids) == 4
    assert scores == sorted(scores, reverse=True)
    single = [found(search(client, query, max_num_results=4))["data"] for query in queries]
    best: dict[str, float] = {}
    for one in (one for data in single for one in data):
        chunk = one["attributes"]["chunk_id"]
        best[chunk] = max(best.get(chunk, 0.0), one["score"])
    assert scores == sorted(best.values(), reverse=True)[:4]


def test_the_threshold_applies_to_the_score(client: httpx2.Client) -> None:
    everything = found(search(client, "vinegar"))["data"]
    least = everything[1]["score"]
    options = {"ranker": "none", "score_threshold": least}
    kept = found(search(client, "vinegar", ranking_options=options))["data"]
    assert kept == [one for one in everything if one["score"] >= least]
    assert 2 <= len(kept) < len(everything)


def test_null_is_the_default(client: httpx2.Client) -> None:
    """As LiteLLM sends it."""
    names = ("filters", "max_num_results", "ranking_options", "rewrite_query")
    assert found(search(client, "tea", **dict.fromkeys(names))) == found(search(client, "tea"))


INSTALL = "docs/guide/install.md"
CLEANING = "docs/guide/cleaning.md"


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        (only("source_path", CLEANING), {CLEANING}),
        (only("source_path", [CLEANING, INSTALL], "in"), {CLEANING, INSTALL}),
        (only("source_path", CLEANING, "in"), {CLEANING}),
        (only("level", 2, "gt"), {"docs/kettle.md"}),
        (only("level", 3, "lt"), set()),
        (
            {
                "type": "and",
                "filters": [
                    only("title", "Teapot", "ne"),
                    only("source_path", ["docs/reference/errors.md", "docs/kettle.md"], "nin"),
                    {"type": "or", "filters": [only("level", 1, "gte")]},
                ],
            },
            set(),
        ),
        (
            {"type": "or", "filters": [only("title", "Cleaning"), only("title", "Installing")]},
            {CLEANING, INSTALL},
        ),
        (
            {
                "type": "or",
                "filters": [
                    only("title", ["Cleaning", "Installing"], "in"),
                    {"type": "or", "filters": [only("title", "Teapot")]},
                ],
            },
            {CLEANING, INSTALL, "docs/index.md"},
        ),
    ],
)
def test_filters_are_mapped(client: httpx2.Client, filters: object, wanted: set[str]) -> None:
    assert set(paths(search(client, "water", filters=filters, max_num_results=50))) == wanted


def test_a_query_string_of_the_client_is_accepted(client: httpx2.Client) -> None:
    """As Azure's clients send it."""
    answer = client.post(f"{STORE}/search?api-version=2024-10-21", json={"query": "water"})
    assert paths(answer)


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"query": ""}, "query", "it cannot be empty"),
        ({"query": " \t"}, "query", "it cannot be empty"),
        ({"query": "x" * 10_000}, "query", "at most 2000 are allowed"),
        ({"query": 5}, "query", "send a text, or a list"),
        ({"query": []}, "query", "send a text, or a list"),
        ({"query": ["a", 5]}, "query", "send a text, or a list"),
        ({"query": ["a"] * 21}, "query", "send a text, or a list"),
        ({}, "query", "it is required"),
        ({"query": "a", "max_num_results": 51}, "max_num_results", "it must be at most 50"),
        ({"query": "a", "max_num_results": "5"}, "max_num_results", "whole number"),
        ({"query": "a", "ranking_options": {"ranker": "x"}}, "ranking_options", "'none'"),
        ({"query": "a", "unknown": 1}, "unknown", "unknown field"),
        ({"query": "a", "filters": only("versoin", "2")}, "filters", "did you mean version?"),
        ({"query": "a", "filters": only("title", {"a": 1})}, "filters", "must be a text"),
        ({"query": "a", "filters": only("title", ["a"])}, "filters", "use in or nin"),
        ({"query": "a", "filters": only("tokens", "many", "gt")}, "filters", "neither a number"),
        ({"query": "a", "filters": only("title", "a", "like")}, "filters", "'like'"),
        (
            {"query": "a", "filters": {"type": "and", "filters": []}},
            "filters",
            "it cannot be empty",
        ),
        (
            {
                "query": "a",
                "filters": {"type": "or", "filters": [only("title", "a"), only("url", "b")]},
            },
            "filters",
            "can only combine",
        ),
        (
            {
                "query": "a",
                "filters": {
                    "type": "or",
                    "filters": [only("title", "a"), only("title", "b", "ne")],
                },
            },
            "filters",
            "can only combine",
        ),
    ],
)
def test_bad_input_names_the_parameter(
    client: httpx2.Client, body: object, param: str, message: str
) -> None:
    status, named, said = problem(client.post(f"{STORE}/search", json=body))
    assert (status, named) == (400, param)
    assert message in said


def test_deeply_nested_filters_are_refused(client: httpx2.Client) -> None:
    filters = only("title", "Teapot")
    for _ in range(7):
        filters = {"type": "and", "filters": [filters]}
    assert set(paths(search(client, "water", filters=filters))) == {"docs/index.md"}
    for depth in (1, 300):
        for _ in range(depth):
            filters = {"type": "and", "filters": [filters]}
        status, named, said = problem(search(client, "water", filters=filters))
        assert (status, named, len(said) < 200) == (400, "filters", True)
    hopeless = b'{"query": "a", "filters": ' + b'{"type":"and","filters":[' * 2000
    answer = client.post(
        f"{STORE}/search", content=hopeless, headers={"Content-Type": "application/json"}
    )
    assert problem(answer)[0] == 400


# --- listing ------------------------------------------------------------------------------------


def test_collections_are_vector_stores(client: httpx2.Client) -> None:
    page = found(client.get("/v1/vector_stores"))
    assert (page["object"], page["has_more"]) == ("list", False)
    assert (page["first_id"], page["last_id"]) == ("docs", "guide")
    [docs, guide] = page["data"]
    assert found(client.get(STORE)) == docs
    assert (docs["object"], docs["status"]) == ("vector_store", "completed")
    assert docs["file_counts"]["total"] == docs["file_counts"]["completed"] == 5
    assert docs["metadata"]["generation"] == "2"
    assert isinstance(docs["created_at"], int)
    first = found(client.get("/v1/vector_stores", params={"limit": 1}))
    assert (first["data"], first["has_more"]) == ([docs], True)
    rest = found(client.get("/v1/vector_stores", params={"after": first["last_id"]}))
    assert (rest["data"], rest["has_more"]) == ([guide], False)
    nothing = found(client.get("/v1/vector_stores", params={"after": "zzz"}))
    assert (nothing["data"], nothing["first_id"], nothing["last_id"]) == ([], None, None)


def test_documents_are_files(client: httpx2.Client) -> None:
    page = found(client.get(f"{STORE}/files", params={"limit": 3, "order": "asc"}))
    assert (len(page["data"]), page["has_more"]) == (3, True)
    rest = found(client.get(f"{STORE}/files", params={"after": page["last_id"]}))
    listed = [*page["data"], *rest["data"]]
    named = [one["attributes"]["source_path"] for one in listed]
    assert named == sorted(named)
    assert len(named) == 5
    file = listed[0]
    assert found(client.get(f"{STORE}/files/{file['id']}")) == file
    assert (file["object"], file["status"], file["vector_store_id"]) == (
        "vector_store.file",
        "completed",
        "docs",
    )
    assert file["attributes"]["url"].startswith(str(client.base_url.join("/read/docs/docs/")))
    assert found(client.get(f"{STORE}/files", params={"filter": "failed"}))["data"] == []


def test_the_content_of_a_file_is_its_text(client: httpx2.Client) -> None:
    files = found(client.get(f"{STORE}/files"))["data"]
    [install] = [one for one in files if one["attributes"]["source_path"] == INSTALL]
    page = found(client.get(f"{STORE}/files/{install['id']}/content"))
    assert page["object"] == "vector_store.file_content.page"
    text = "\n".join(one["text"] for one in page["data"])
    assert text.startswith("# Installing")
    assert "230 volts" in text


# --- refusing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("POST", "/v1/vector_stores/nope/search", 404, "no collection 'nope'"),
        ("GET", "/v1/vector_stores/No%20name", 400, "invalid collection name"),
        ("GET", "/v1/vector_stores/nope", 404, "no collection 'nope'"),
        ("GET", "/v1/vector_stores/nope/files", 404, "no collection 'nope'"),
        ("GET", f"{STORE}/files/file-!!", 400, "file_id"),
        ("GET", f"{STORE}/files/ZG9jcy9ub25l", 400, "file_id"),
        ("GET", f"{STORE}/files/file-A", 404, "no file 'file-A'"),
        ("GET", f"{STORE}/files/file-ZG9jcy9ub25l", 404, "no file"),
        ("GET", f"{STORE}/files/file-_w", 404, "no file"),
        ("GET", f"{STORE}/files/file-ZG9jcy9ub25l/content", 404, "no document 'docs/none'"),
        ("GET", f"{STORE}/files?after=x", 400, "after"),
        ("GET", f"{STORE}/files?limit=0", 400, "limit"),
        ("GET", f"{STORE}/files?filter=done", 400, "filter"),
        ("POST", "/v1/vector_stores", 405, "surefind ingest"),
        ("DELETE", STORE, 405, "surefind ingest"),
        ("GET", "/v1/models", 404, "no such endpoint"),
    ],
)
def test_refusals_have_the_shape_of_openai(
    client: httpx2.Client, method: str, path: str, status: int, message: str
) -> None:
    body = {"json": {"query": "a"}} if method == "POST" else {}
    answer = client.request(method, path, **body)  # type: ignore[arg-type]
    assert problem(answer)[0] == status
    assert message in problem(answer)[2]
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_a_wrong_or_missing_key_is_refused(client: httpx2.Client) -> None:
    for headers in ({"Authorization": "Bearer sk-wrong"}, {"Authorization": ""}):
        answer = client.get("/v1/vector_stores", headers=headers)
        assert problem(answer)[0] == 401
        assert answer.json()["error"]["code"] == "invalid_api_key"


def test_a_server_without_documents_says_so(tmp_path: Path) -> None:
    with (
        serving(cwd=tmp_path) as (address, _),
        httpx2.Client(base_url=address, timeout=60) as client,
    ):
        assert found(client.get("/v1/vector_stores"))["data"] == []
        answer = search(client, "a")
        assert problem(answer)[0] == 404
        assert "surefind ingest" in problem(answer)[2]


def test_too_many_searches_are_refused(ingested: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    copy_home(ingested, home)
    with (
        serving(cwd=home, SUREFIND_RATE_LIMIT_PER_MINUTE="3") as (address, _),
        httpx2.Client(base_url=address, timeout=60) as client,
    ):
        assert search(client, ["a", "b"]).status_code == 200
        answer = search(client, ["a", "b"])
        assert problem(answer)[0] == 429
        assert answer.json()["error"]["type"] == "rate_limit_error"
        assert answer.json()["error"]["code"] == "rate_limit_exceeded"
        assert int(answer.headers["Retry-After"]) >= 1
