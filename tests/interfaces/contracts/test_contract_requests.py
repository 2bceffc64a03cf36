"""Every HTTP contract from a table of its fields: what is taken, what is refused, what is told."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from interfaces.contracts.field_tables import (
    REQUIRED,
    Field,
    Table,
    Values,
    bad_cases,
    defaults,
    good_cases,
    named,
)

MADE = object()
"""Where the default is made anew for every request."""

TABLES: dict[str, tuple[Table, Values]] = {
    "/search": (
        (Field("query", str, low=1, high=500), Field("top_k", int, 5, low=1, high=20)),
        {"query": "which voltage", "top_k": 3},
    ),
    "/query": (
        (
            Field("query_text", str, low=1, high=2000),
            Field("top_k", int, 5, low=1, high=20),
            Field("threshold", float, 0.0, low=0.0, high=1.0),
            Field("include_metadata", bool, True),
        ),
        {"query_text": "which voltage", "top_k": 3, "threshold": 0.1, "include_metadata": True},
    ),
    "/api/v1/search": (
        (
            Field("query_text", str, low=10, high=500),
            Field("top_k", int, 5, low=1, high=100),
            Field("similarity_threshold", float, 0.5, low=0.0, high=1.0),
            Field("query_id", str, MADE, low=1, high=200),
        ),
        {
            "query_text": "which voltage",
            "top_k": 3,
            "similarity_threshold": 0.1,
            "query_id": "mine",
            "created_at": "2026-01-02T03:04:05Z",
        },
    ),
}
TEST = (
    Field("query_text", str, low=10, high=500),
    Field("min_similarity", float, 0.0, low=0.0, high=1.0),
    Field("test_id", str, MADE, low=1, high=200),
)
CRITERIA = (Field("min_similarity_score", float, 0.0, low=0.0, high=1.0),)
PARAMS = (
    Field("accuracy_threshold", float, 1.0, low=0.0, high=1.0),
    Field("top_k", int, 5, low=1, high=100),
)
A_TEST: Values = {"query_text": "which voltage", "expected_results": ["a"], "min_similarity": 0.1}
PUBLISHED_TEST: Values = {
    "test_id": "t-1",
    "query_text": "which voltage",
    "expected_results": ["a"],
    "success_criteria": {"min_accuracy": 0.8, "min_similarity_score": 0.5},
    "test_category": "factual",
    "executed_at": "2026-01-02T03:04:05Z",
    "result_accuracy": 0.5,
}
SOME_PARAMS: Values = {"accuracy_threshold": 0.5, "top_k": 3}
PUBLISHED = "Query cannot be empty"
NO_OBJECTS: tuple[object, ...] = ([], "text", 5, None, True)
VALIDATE = "/api/v1/validate"
SCHEMAS = {"/search": "SearchRequest", "/query": "QueryRequest", "/api/v1/search": "SearchQuery"}


def validating(test: object = A_TEST, params: object = SOME_PARAMS) -> Values:
    return {"test_queries": [test], "validation_params": params}


def good_requests() -> Iterator[tuple[str, Values]]:
    for path, (table, base) in TABLES.items():
        for values in good_cases(table, base):
            yield path, values
        for mode in ("dense", "hybrid"):
            yield path, {**base, "mode": mode}
    yield "/api/v1/search", {"query": "which voltage"}
    for test in good_cases(TEST, A_TEST):
        yield VALIDATE, validating(test)
    for params in good_cases(PARAMS, SOME_PARAMS):
        yield VALIDATE, validating(params=params)
    yield VALIDATE, {"test_queries": [A_TEST] * 100}
    yield VALIDATE, validating({**A_TEST, "expected_results": [f"chunk {n}" for n in range(100)]})
    yield VALIDATE, validating({"query_text": "which voltage", "expected_chunks": ["a"]})
    yield VALIDATE, validating(PUBLISHED_TEST)
    run_by_nobody = {"executed_at": None, "result_accuracy": None, "test_category": None}
    yield VALIDATE, validating({**PUBLISHED_TEST, **run_by_nobody})
    for criteria in good_cases(CRITERIA, {"min_accuracy": 0.8, "min_similarity_score": 0.5}):
        yield VALIDATE, validating({**PUBLISHED_TEST, "success_criteria": criteria})


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """(path, body, how the message begins)"""
    for path, (table, base) in TABLES.items():
        for values, field in bad_cases(table, base):
            query = values.get("query")
            blank = isinstance(query, str) and not query.strip()
            yield path, values, PUBLISHED if blank else f"{field}:"
        for extra in ({"mode": "magic"}, {"mode": None}, {"unknown": 1}, {"collection": "docs"}):
            yield path, {**base, **extra}, f"{next(iter(extra))}:"
        yield from ((path, body, "body:") for body in NO_OBJECTS)
        yield path, {}, f"{table[0].name}:"
    both = {"query_text": "which voltage", "query": "which voltage"}
    yield "/api/v1/search", both, "query:"
    no_moments: tuple[object, ...] = ("yesterday", "5", 5, 1.5, True, [], "2026-13-01T00:00:00Z")
    for moment in no_moments:
        asked = {**TABLES["/api/v1/search"][1], "created_at": moment}
        yield "/api/v1/search", asked, "created_at:"
    lexical = {**TABLES["/api/v1/search"][1], "mode": "lexical"}
    yield "/api/v1/search", lexical, "similarity_threshold:"
    yield "/query", {**TABLES["/query"][1], "mode": "lexical"}, "threshold "
    yield from bad_validations()


def bad_validations() -> Iterator[tuple[str, Any, str]]:
    for test, field in bad_cases(TEST, A_TEST):
        yield VALIDATE, validating(test), f"test_queries.0.{field}:"
    wrong: tuple[Any, ...] = ([], None, "a", {}, ["a"] * 101)
    wrong_ids: tuple[Any, ...] = ("", " ", 5, None, "x" * 201, "\ud800")
    for expected in (*wrong, *([chunk_id] for chunk_id in wrong_ids)):
        test = {**A_TEST, "expected_results": expected}
        yield VALIDATE, validating(test), "test_queries.0.expected_results"
    without = {name: value for name, value in A_TEST.items() if name != "expected_results"}
    yield VALIDATE, validating(without), "test_queries.0.expected_results:"
    for criteria, field in bad_cases(CRITERIA, {"min_accuracy": 0.8, "min_similarity_score": 0.5}):
        told = f"test_queries.0.success_criteria.{field}:"
        yield VALIDATE, validating({**PUBLISHED_TEST, "success_criteria": criteria}), told
    wrong_fields: tuple[Values, ...] = (
        {"success_criteria": {"min_accuracy": 1.1}},
        {"success_criteria": {"unknown": 0.5}},
        {"executed_at": "yesterday"},
        {"result_accuracy": 1.1},
        {"test_category": " "},
    )
    for change in wrong_fields:
        begin = f"test_queries.0.{next(iter(change))}"
        yield VALIDATE, validating({**PUBLISHED_TEST, **change}), begin
    doubled = {**PUBLISHED_TEST, "min_similarity": 0.5}
    yield VALIDATE, validating(doubled), "test_queries.0: give min_similarity or"
    yield VALIDATE, validating({**A_TEST, "unknown": 1}), "test_queries.0.unknown:"
    for params, field in bad_cases(PARAMS, SOME_PARAMS):
        yield VALIDATE, validating(params=params), f"validation_params.{field}:"
    for params in ({"unknown": 1}, {"mode": "magic"}):
        yield VALIDATE, validating(params=params), f"validation_params.{next(iter(params))}:"
    no_tests: tuple[Any, ...] = ([], None, {}, "x", [None], ["x"], [A_TEST] * 101)
    for tests in no_tests:
        yield VALIDATE, {"test_queries": tests}, "test_queries"
    twice = [{**A_TEST, "test_id": "same"}] * 2
    yield (
        VALIDATE,
        {"test_queries": twice},
        "test_queries: every test_id must be unique; rename or omit the duplicates",
    )
    yield VALIDATE, {"test_queries": [A_TEST], "unknown": 1}, "unknown:"
    yield VALIDATE, {"test_queries": [A_TEST], "validation_params": None}, "validation_params:"
    yield VALIDATE, {}, "test_queries:"
    yield from ((VALIDATE, body, "body:") for body in NO_OBJECTS)


def post(client: httpx2.Client, path: str, body: object) -> httpx2.Response:
    """By hand, since a strict client would never send NaN or half a character."""
    return client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})


@pytest.mark.parametrize(("path", "body"), list(good_requests()), ids=named)
def test_what_the_contract_allows_is_answered(
    contracts: httpx2.Client, path: str, body: Values
) -> None:
    answer = post(contracts, path, body)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(("path", "body", "begin"), list(bad_requests()), ids=named)
def test_what_the_contract_forbids_is_a_400_that_names_the_field(
    contracts: httpx2.Client, path: str, body: object, begin: str
) -> None:
    answer = post(contracts, path, body)
    assert answer.status_code == 400
    told = answer.json()
    assert set(told) == {"error", "message"}
    assert told["error"] == "validation_error"
    assert told["message"].startswith(begin)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/query", {"query_text": ""}, "query_text: it cannot be empty"),
        ("/query", {"query_text": " \t"}, "query_text: it cannot be empty"),
        ("/search", {"query": ""}, "Query cannot be empty"),
        ("/search", {"query": " "}, "Query cannot be empty"),
        ("/search", {}, "query: it is required"),
        ("/search", [], "body: it must be an object"),
        ("/search", {"query": "x" * 501}, "query: at most 500 characters are allowed"),
        ("/search", {"query": "x", "top_k": 0}, "top_k: it must be at least 1"),
        ("/search", {"query": "x", "top_k": 21}, "top_k: it must be at most 20"),
        ("/search", {"query": "x", "top_k": "5"}, "top_k: it must be a whole number"),
        ("/search", {"query": 5}, "query: it must be a string"),
        ("/search", {"query": "x", "limit": 5}, "limit: unknown field"),
        ("/api/v1/search", {"query_text": "x"}, "query_text: at least 10 characters are required"),
        (VALIDATE, {"test_queries": []}, "test_queries: it cannot be empty"),
        (VALIDATE, {"test_queries": {}}, "test_queries: it must be a list"),
    ],
)
def test_a_refusal_says_what_is_wrong_in_our_own_words(
    contracts: httpx2.Client, path: str, body: object, message: str
) -> None:
    answer = post(contracts, path, body)
    assert (answer.status_code, answer.json()["message"]) == (400, message)


@pytest.mark.parametrize("path", [*TABLES, VALIDATE, "/retrieve"])
def test_a_post_refuses_a_query_string(contracts: httpx2.Client, path: str) -> None:
    """Ignored, `?collection=b` would answer from another collection."""
    answer = contracts.post(f"{path}?collection=b", json={"query": "which voltage"})
    assert answer.status_code == 400
    reason = f"collection: POST {path} has no query parameters; send options in the JSON body"
    assert answer.json()["message"] == reason


BROKEN = [
    b"",
    b"{",
    b"\xff\xfe",
    b"nul",
    b'{"query_text": "which voltage", "top_k": 1e999}',
    b'{"query_text": "which voltage", "top_k": ' + b"9" * 5000 + b"}",
    b"[" * 5000,
    b'{"query_text": "\\ud800 lone surrogate"}',
]


@pytest.mark.parametrize("path", [*TABLES, VALIDATE])
def test_what_is_not_json_is_a_400_everywhere(contracts: httpx2.Client, path: str) -> None:
    for content in BROKEN:
        answer = contracts.post(path, content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 400, content[:50]
        assert set(answer.json()) == {"error", "message"}
    plain = contracts.post(path, content=b"{}", headers={"content-type": "text/plain"})
    assert "Content-Type: application/json" in plain.json()["message"]
    large = contracts.post(path, content=b'"' + b"x" * 2_000_000 + b'"')
    assert (large.status_code, "larger than" in large.json()["message"]) == (400, True)


@pytest.mark.parametrize("path", [*TABLES, VALIDATE, "/health", "/api/v1/health"])
def test_the_wrong_method_is_a_405_in_the_same_form(contracts: httpx2.Client, path: str) -> None:
    wrong = "POST" if path.endswith("health") else "GET"
    for method in (wrong, "DELETE", "PUT", "PATCH"):
        answer = contracts.request(method, path)
        assert answer.status_code == 405
        assert answer.json()["error"] == "method_not_allowed"
        assert set(answer.json()) == {"error", "message"}
        assert answer.headers["allow"]
    missing = contracts.get("/api/v1/nothing")
    assert (missing.status_code, missing.json()["error"]) == (404, "not_found")
    assert set(missing.json()) == {"error", "message"}


# --- what machines are told -------------------------------------------------------------------


def test_every_status_that_the_tables_give_is_documented(contracts: httpx2.Client) -> None:
    paths = contracts.get("/openapi.json").json()["paths"]
    seen: dict[str, set[int]] = {}
    asked: list[tuple[str, object]] = list(good_requests())
    asked += [(path, body) for path, body, _ in bad_requests()]
    for path, body in asked:
        seen.setdefault(path, set()).add(post(contracts, path, body).status_code)
    for path, statuses in seen.items():
        assert statuses == {200, 400}
        assert statuses <= {int(status) for status in paths[path]["post"]["responses"]}


@pytest.mark.parametrize("path", list(TABLES))
def test_openapi_has_the_bounds_and_defaults_of_the_table(
    contracts: httpx2.Client, path: str
) -> None:
    schemas = contracts.get("/openapi.json").json()["components"]["schemas"]
    schema = schemas[SCHEMAS[path]]
    table, _ = TABLES[path]
    untabled = {"mode", "query", "created_at"} if path == "/api/v1/search" else {"mode"}
    assert set(schema["properties"]) == {*(field.name for field in table), *untabled}
    required = schema["required"] or schema["oneOf"][0]["required"]
    assert required == [field.name for field in table if field.default is REQUIRED]
    assert schema["additionalProperties"] is False
    for field in table:
        told = schema["properties"][field.name]
        names = ("minLength", "maxLength") if field.kind is str else ("minimum", "maximum")
        assert (told.get(names[0]), told.get(names[1])) == (field.low, field.high)
    for name, value in {**defaults(table), "mode": "dense"}.items():
        assert schema["properties"][name].get("default", MADE) == value


def test_openapi_shows_every_model_and_error_with_an_example(contracts: httpx2.Client) -> None:
    document = contracts.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    errors = {400: "validation_error", 500: "internal_error", 502: "upstream_error"}
    for path in (*TABLES, VALIDATE):
        operation = document["paths"][path]["post"]
        for status, name in {**errors, 503: "service_unavailable"}.items():
            content = operation["responses"][str(status)]["content"]["application/json"]
            assert content["schema"]["$ref"].endswith("/ErrorResponse")
            assert content["example"]["error"] == name
            assert content["example"]["message"]
        for place in (operation["requestBody"], operation["responses"]["200"]):
            reference = place["content"]["application/json"]["schema"]["$ref"]
            assert schemas[reference.rsplit("/", 1)[-1]]["examples"]
    for path in ("/health", "/api/v1/health"):
        assert set(document["paths"][path]["get"]["responses"]) == {"200", "503"}
    assert schemas["HealthResponse"]["examples"]
    assert schemas["ErrorResponse"]["examples"]


@pytest.mark.parametrize("path", [*TABLES, VALIDATE])
def test_the_examples_of_requests_are_taken(contracts: httpx2.Client, path: str) -> None:
    document = contracts.get("/openapi.json").json()
    body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    schema = document["components"]["schemas"][body["schema"]["$ref"].rsplit("/", 1)[-1]]
    for example in schema["examples"]:
        assert post(contracts, path, example).status_code == 200
