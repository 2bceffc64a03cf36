"""What a collection holds, over real HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from support.commands import serving, surefind
from support.homes import copy_home

MORE = "docs/a folder/ümlaut & more.md"


@pytest.fixture(scope="module")
def home(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two generations: the second has a page with an awkward name."""
    home = tmp_path_factory.mktemp("catalog") / "home"
    copy_home(ingested, home)
    (home / MORE).parent.mkdir()
    (home / MORE).write_text("# Awkward\n\nOne.\n\n## Two\n\nTwo.\n\n## Three\n\nThree.")
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    return home


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[httpx2.Client]:
    """It shows a key of scope read."""
    key = surefind("keys", "create", "--name", "reader", cwd=home).stdout.strip()
    with (
        serving(cwd=home) as (address, _),
        httpx2.Client(base_url=address, timeout=30, headers={"X-API-Key": key}) as client,
    ):
        yield client


def found(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def error_of(answer: httpx2.Response) -> tuple[int, str]:
    assert set(answer.json()) == {"error", "message"}
    return answer.status_code, answer.json()["error"]


def test_the_collections_are_reported(client: httpx2.Client) -> None:
    [docs] = found(client.get("/collections"))["collections"]
    assert (docs["name"], docs["served"], docs["generation"]) == ("docs", True, 2)
    assert (docs["documents"], docs["chunks"] > 5) == (5, True)


def test_the_documents_come_in_pages(client: httpx2.Client) -> None:
    everything = found(client.get("/documents"))
    paths = [document["source_path"] for document in everything["documents"]]
    assert (everything["total"], everything["limit"], everything["next"]) == (5, 100, None)
    assert paths == sorted(paths)
    assert MORE in paths
    pages = [found(client.get("/documents", params={"limit": 2}))]
    while pages[-1]["next"] is not None:
        asked = {"limit": 2, "after": pages[-1]["next"]}
        pages.append(found(client.get("/documents", params=asked)))
    assert [len(page["documents"]) for page in pages] == [2, 2, 1]
    assert [d["source_path"] for page in pages for d in page["documents"]] == paths
    assert found(client.get("/documents", params={"after": "z"}))["documents"] == []


@pytest.mark.parametrize(
    "asked",
    [
        "limit=0",
        "limit=501",
        "limit=x",
        "limit=1.5",
        "limit=",
        "after=" + 4001 * "x",
        "lmit=5",
    ],
)
def test_a_page_that_makes_no_sense_is_a_400_that_names_the_field(
    client: httpx2.Client, asked: str
) -> None:
    answer = client.get(f"/documents?{asked}")
    assert error_of(answer) == (400, "validation_error")
    assert answer.json()["message"].startswith(asked.split("=", maxsplit=1)[0] + ":")


def test_the_chunks_of_a_document_come_in_order(client: httpx2.Client) -> None:
    chunks = found(client.get(f"/documents/{quote(MORE)}/chunks"))["chunks"]
    assert [chunk["position"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk["source_path"] for chunk in chunks} == {MORE}
    assert error_of(client.get("/documents/docs/none.md/chunks")) == (404, "not_found")
    assert error_of(client.get("/documents/%00/chunks")) == (400, "validation_error")
    assert error_of(client.get("/documents/docs/index.md")) == (404, "not_found")


def test_a_chunk_and_those_around_it_can_be_fetched(client: httpx2.Client) -> None:
    chunks = found(client.get(f"/documents/{quote(MORE)}/chunks"))["chunks"]
    middle = chunks[1]["chunk_id"]
    assert found(client.get(f"/chunks/{middle}")) == chunks[1]
    around = f"/chunks/{middle}/neighbours"
    assert found(client.get(around))["chunks"] == chunks[0:3]
    assert found(client.get(f"{around}?before=0&after=0"))["chunks"] == chunks[1:2]
    assert found(client.get(f"{around}?before=100&after=100"))["chunks"] == chunks
    assert error_of(client.get(f"{around}?before=101"))[0] == 400
    assert error_of(client.get(f"{around}?befor=1"))[0] == 400
    assert error_of(client.get("/chunks/none")) == (404, "not_found")
    assert error_of(client.get("/chunks/none/neighbours")) == (404, "not_found")
    assert error_of(client.get("/chunks/" + "x" * 201))[0] == 400


def test_readers_see_the_generations_and_only_an_admin_goes_back(
    client: httpx2.Client, home: Path
) -> None:
    listed = found(client.get("/generations"))["generations"]
    assert [(one["generation"], one["current"]) for one in listed] == [(1, False), (2, True)]
    assert error_of(client.post("/generations/rollback", json={})) == (403, "forbidden")
    made = surefind("keys", "create", "--name", "boss", "--scope", "admin", cwd=home)
    admin = {"X-API-Key": made.stdout.strip()}
    back = found(client.post("/generations/rollback", json={}, headers=admin))
    assert (back["generation"], back["current"]) == (1, True)
    assert found(client.get("/documents"))["total"] == 4
    for body, status in (
        ({}, 404),  # there is nothing before the first
        ({"to": 99}, 404),
        ({"to": 0}, 400),
        ({"to": "2"}, 400),
        ({"too": 2}, 400),
        (None, 400),
    ):
        answer = client.post("/generations/rollback", json=body, headers=admin)
        assert error_of(answer)[0] == status
    plain = client.post("/generations/rollback", content=b"{}", headers=admin)
    assert error_of(plain)[0] == 400, "a form of another site could send this"
    there = found(client.post("/generations/rollback", json={"to": 2}, headers=admin))
    assert there["generation"] == 2
    assert found(client.get("/documents"))["total"] == 5


def test_what_to_filter_by_is_reported_with_its_values(client: httpx2.Client) -> None:
    told = found(client.get("/fields"))
    assert (told["collection"], told["generation"]) == ("docs", 2)
    fields = {field["name"]: field for field in told["fields"]}
    assert fields["source"]["values"] == [{"value": "docs", "chunks": 9}]
    assert fields["has_code"]["kinds"] == ["flag"]
    assert {one["value"] for one in fields["has_code"]["values"]} == {True, False}
    assert fields["tokens"] == {
        "name": "tokens",
        "kinds": ["number"],
        "front_matter": False,
        "values": None,
    }
    for name, field in fields.items():
        for one in (field["values"] or [])[:1]:
            body = {"query": "tea", "where": {name: one["value"]}, "top_k": 50, "collapse": "off"}
            assert len(found(client.post("/retrieve", json=body))["hits"]) == one["chunks"]


def test_what_a_generation_changed_is_reported(client: httpx2.Client) -> None:
    assert found(client.get("/generations/2/changes")) == {
        "collection": "docs",
        "generation": 2,
        "compared_with": 1,
        "added": {"number": 1, "paths": [MORE]},
        "changed": {"number": 0, "paths": []},
        "removed": {"number": 0, "paths": []},
        "unchanged": 4,
    }
    first = found(client.get("/generations/1/changes"))
    assert (first["compared_with"], first["added"]["number"]) == (None, 4)
    assert error_of(client.get("/generations/9/changes")) == (404, "not_found")
    assert error_of(client.get("/generations/0/changes")) == (400, "validation_error")
    assert error_of(client.get("/generations/x/changes")) == (400, "validation_error")


def test_generations_of_another_collection_can_be_listed(client: httpx2.Client) -> None:
    own = found(client.get("/generations", params={"collection": "docs"}))
    assert own == found(client.get("/generations"))
    for path in ("/generations", "/generations/1/changes"):
        missing = client.get(path, params={"collection": "none"})
        assert error_of(missing) == (404, "not_found")
        assert error_of(client.get(path, params={"collection": "../x"}))[0] == 400
        assert error_of(client.get(path, params={"collecton": "docs"}))[0] == 400


def test_without_keys_no_one_goes_back(ingested: Path) -> None:
    with serving(cwd=ingested) as (address, _):
        answer = httpx2.post(f"{address}/generations/rollback", json={})
        assert error_of(answer) == (403, "forbidden")
        assert "surefind keys create" in answer.json()["message"]


def test_before_anything_was_ingested_there_is_nothing(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as (address, _):
        assert httpx2.get(f"{address}/collections").json() == {"collections": []}
        for path in ("/documents", "/generations", "/chunks/x", "/documents/x/chunks"):
            assert error_of(httpx2.get(f"{address}{path}")) == (404, "not_found")
