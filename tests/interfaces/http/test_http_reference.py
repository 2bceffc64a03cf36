"""What the OpenAPI document and the API reference say about answers is what the server sends."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from surefind.interfaces.http.search_schemas import BatchResponse, RetrieveResponse, WhyNotResponse

SEARCHES: list[dict[str, Any]] = [
    {"query": "How do I descale it?"},
    {"query": "Power", "group_by": "document", "group_size": 2, "highlight": True},
    {"query": "E42", "mode": "lexical", "rendered": True, "highlight": True},
    {"query": "teapot", "mode": "dense", "expand": "document", "max_tokens": 20},
    {"query": "teapot", "where": {"title": "Nothing"}},
    {"query": "teapot", "threshold": 1.0},
    {"query": "teapot", "collections": ["docs"], "collapse": "near", "diversity": 0.5},
]
MODELS: dict[str, type[BaseModel]] = {
    "/retrieve": RetrieveResponse,
    "/retrieve/batch": BatchResponse,
    "/retrieve/why-not": WhyNotResponse,
}


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    for search in SEARCHES:
        yield "/retrieve", search
        rest = {name: value for name, value in search.items() if name != "query"}
        yield "/retrieve/batch", {"queries": [search["query"], "tea"], **rest}
        for wanted in ("docs/guide/cleaning.md", "docs/nothing.md"):
            yield "/retrieve/why-not", {**search, "wanted": wanted}


@pytest.mark.parametrize(("path", "body"), list(requests()))
def test_answers_have_exactly_the_fields_of_the_document(
    contracts: httpx2.Client, path: str, body: dict[str, Any]
) -> None:
    response = contracts.post(path, json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    read = MODELS[path].model_validate_json(response.content, extra="forbid")
    shown = read.model_dump(mode="json", exclude_unset=True)
    assert without_times(shown) == without_times(answer)


def without_times(answer: Any) -> Any:
    """Equal times can be written as `Z` or `+00:00`."""
    if isinstance(answer, dict):
        return {
            name: without_times(value) for name, value in answer.items() if name != "created_at"
        }
    return [without_times(item) for item in answer] if isinstance(answer, list) else answer


def test_every_field_of_an_answer_is_required_except_on_request(contracts: httpx2.Client) -> None:
    document = contracts.get("/openapi.json").json()
    models = document["components"]["schemas"]
    for path, model in MODELS.items():
        operation = document["paths"][path]["post"]
        content = operation["responses"]["200"]["content"]["application/json"]
        assert content["schema"]["$ref"].rpartition("/")[2] == model.__name__
        for example in models[model.__name__]["examples"]:
            model.model_validate_json(json.dumps(example), extra="forbid")
    hit = models["RetrievedPassage"]
    assert set(hit["properties"]) - set(hit["required"]) == {"rendered"}


def test_the_word_that_was_searched_instead_is_marked(contracts: httpx2.Client) -> None:
    body = {"query": "desclae", "mode": "lexical", "highlight": True, "rendered": True}
    answer = contracts.post("/retrieve", json=body).json()
    assert answer["notes"] == ["desclae: no passage has this word; searched for descale"]
    [hit] = answer["hits"]
    [(start, end)] = hit["highlights"]
    assert hit["text"][start:end] == "Descale"
    assert '["mark", {}, "Descale"]' in json.dumps(hit["rendered"])


class Forms(HTMLParser):
    """The forms of the reference: method and path, the names of fields, and the body."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[str, str], dict[str, Any]] = {}
        self.inline: list[str] = []
        self._current: dict[str, Any] = {}
        self._in_body = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        for name in ("src", "href"):
            assert (given.get(name) or "/").startswith("/"), given
        if tag == "form" and given.get("class") == "try":
            assert "hidden" in given, "without JavaScript, nobody can send it"
            self._current = {"fields": [], "body": ""}
            self.found[str(given["data-method"]), str(given["data-path"])] = self._current
        if tag == "input" and "data-in" in given:
            self._current["fields"].append(given["name"])
        self._in_body = tag == "textarea"

    def handle_data(self, data: str) -> None:
        if self._in_body:
            self._current["body"] += data

    def handle_endtag(self, tag: str) -> None:
        self._in_body = self._in_body and tag != "textarea"


def test_the_reference_has_a_form_for_every_operation(contracts: httpx2.Client) -> None:
    document = contracts.get("/openapi.json").json()
    forms = Forms()
    page = contracts.get("/docs")
    forms.feed(page.text)
    operations = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert set(forms.found) == set(operations)
    assert forms.inline == [], "the content security policy forbids inline scripts and styles"
    for place, operation in operations.items():
        names = [one["name"] for one in operation.get("parameters", [])]
        assert forms.found[place]["fields"] == names
        assert bool(forms.found[place]["body"]) == ("requestBody" in operation)
    assert "Fields of the response" in page.text


def test_the_body_in_the_form_is_accepted(contracts: httpx2.Client) -> None:
    forms = Forms()
    forms.feed(contracts.get("/docs").text)
    for path in MODELS:
        body = json.loads(forms.found["POST", path]["body"])
        body.pop("where", None)  # the sample collection has no versions
        assert contracts.post(path, json=body).status_code == 200
