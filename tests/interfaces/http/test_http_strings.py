"""No string of any request is a 500: the places are those that the OpenAPI document names.

A new route, or a new field of an old one, is tried by itself.
"""

import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

JSON = {"content-type": "application/json"}
HALF, NUL, LONG = "half \ud800", "a\0b", "x" * 30_000
BAD = (HALF, NUL, LONG)
Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def document(contracts: httpx2.Client) -> Any:
    return contracts.get("/openapi.json").json()


def strings_of(schema: Any, document: Any, above: Place = ()) -> Iterator[Place]:
    """Where a value of this schema may hold a string, of a list the first item."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "string":
        yield above
    for name, inner in schema.get("properties", {}).items():
        yield from strings_of(inner, document, (*above, name))
    for inner in schema.get("anyOf", ()):
        yield from strings_of(inner, document, above)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from strings_of(schema["additionalProperties"], document, (*above, "version"))
    if "items" in schema:
        yield from strings_of(schema["items"], document, (*above, 0))


def with_string(body: Any, place: Place, value: str) -> Any:
    """A copy of the body that holds the string there, with whatever has to be around it."""
    body = copy.deepcopy(body)
    inner = body
    for part, following in pairwise(place):
        empty: Any = [] if following == 0 else {}
        if part == 0 and not inner:
            inner.append(empty)
        elif part != 0 and not isinstance(inner.get(part), type(empty)):
            inner[part] = empty
        inner = inner[part]
    if place[-1] == 0:
        inner[:] = [value]
    else:
        inner[place[-1]] = value
    return body


def bodies(document: Any) -> Iterator[tuple[str, str, Any, Place]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "requestBody" not in operation or "403" in operation["responses"]:
                continue  # without an admin key, the body is not looked at
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            model = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            for place in dict.fromkeys(strings_of(schema, document)):
                body = dict(model["examples"][0])
                if place[0] == "query" and "query_text" in body:
                    del body["query_text"]  # two names of one field
                if place[0] == "history":
                    body["history"] = [{"role": "user", "content": "tea"}]
                yield method, path, body, place


def assert_refused(answer: httpx2.Response, *names: str) -> None:
    assert answer.status_code == 400, (names, answer.status_code, answer.text[:300])
    told = answer.json()
    if isinstance(told["error"], dict):  # in OpenAI's shape
        told = {"error": told["error"]["code"], "message": told["error"]["message"]}
    assert told["error"] == "validation_error"
    assert any(name in told["message"] for name in names), told


@pytest.mark.parametrize("bad", BAD, ids=["half a character", "NUL", "too long"])
def test_a_bad_string_anywhere_in_a_body_is_a_400_that_names_the_field(
    contracts: httpx2.Client, document: Any, bad: str
) -> None:
    tried = 0
    for method, path, example, place in bodies(document):
        body = with_string(example, place, bad)
        answer = contracts.request(method, path, content=json.dumps(body), headers=JSON)
        name = next(str(part) for part in reversed(place) if part != 0)
        other = {"query": "query_text", "where": "where"}.get(str(place[0]), name)
        assert_refused(answer, name, other)
        tried += 1
    assert tried > 30, "it must have tried something"


@pytest.mark.parametrize("bad", BAD, ids=["half a character", "NUL", "too long"])
def test_a_bad_name_in_a_body_is_a_400(contracts: httpx2.Client, document: Any, bad: str) -> None:
    for method, path, example, _ in bodies(document):
        body = {**example, bad: 1}
        answer = contracts.request(method, path, content=json.dumps(body), headers=JSON)
        assert answer.status_code == 400, (path, answer.text[:300])
    where = json.dumps({"query": "tea", "where": {bad: "x"}})
    assert_refused(contracts.post("/retrieve", content=where, headers=JSON), "where")


@pytest.mark.parametrize("bad", ["%ED%A0%80", "%FF", "a%00b", "x" * 5000])
def test_a_bad_string_in_an_address_is_a_400_that_names_the_parameter(
    contracts: httpx2.Client, document: Any, bad: str
) -> None:
    tried = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "403" in operation["responses"]:
                continue  # without an admin key, the parameters are not looked at
            for parameter in operation.get("parameters", ()):
                name, place = parameter["name"], parameter["in"]
                address = path.replace(f"{{{name}}}", bad) if place == "path" else path
                address = address.replace("{number}", "1").replace("{chunk_id}", "x")
                address = address.replace("{vector_store_id}", "docs").replace(
                    "{file_id}", "file-A"
                )
                query = f"?{quote(name)}={bad}" if place == "query" else ""
                answer = contracts.request(method, f"{address}{query}")
                assert_refused(answer, name, "invalid collection name")
                tried += 1
            if tried:
                answer = contracts.request(method, f"{path}?{bad}=1")
                assert answer.status_code < 500, answer.text[:300]
    assert tried >= 8
