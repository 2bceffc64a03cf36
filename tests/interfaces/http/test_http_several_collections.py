"""One server, several collections of one data folder."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.commands import serving, surefind
from support.homes import copy_home

QUERY = {"query": "the switch", "top_k": 1}
PAGE = "/read/lamps/lamps/switch.md"


@pytest.fixture(scope="module")
def home(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("several") / "home"
    copy_home(ingested, home)
    (home / "lamps").mkdir()
    page = "---\nlevel: easy\n---\n# Lamps\n\n## Switch\n\nThe switch is at the back of the lamp."
    (home / "lamps/switch.md").write_text(page)
    assert surefind("ingest", "lamps", "-c", "lamps", cwd=home).returncode == 0
    return home


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[httpx2.Client]:
    key = surefind("keys", "create", "--name", "x", "--scope", "admin", cwd=home).stdout.strip()
    with (
        serving(cwd=home) as (address, _),
        httpx2.Client(base_url=address, timeout=30, headers={"X-API-Key": key}) as client,
    ):
        yield client


def test_a_search_names_its_collection(client: httpx2.Client) -> None:
    answer = client.post("/retrieve", json={**QUERY, "collection": "lamps"}).json()
    [hit] = answer["hits"]
    assert (answer["collection"], answer["collections"]) == ("lamps", ["lamps"])
    assert (hit["collection"], hit["source_path"]) == ("lamps", "lamps/switch.md")
    assert hit["url"] == str(client.base_url.join(f"{PAGE}#switch"))
    default = client.post("/retrieve", json=QUERY).json()
    assert default["collection"] == "docs"
    assert (
        client.post("/retrieve", json={**QUERY, "collection": None}).json()["hits"]
        == (default["hits"])
    )


def test_batches_and_why_not_name_it_too(client: httpx2.Client) -> None:
    batch = {"queries": ["switch", "lamp"], "collection": "lamps"}
    results = client.post("/retrieve/batch", json=batch).json()["results"]
    assert [result["collection"] for result in results] == ["lamps", "lamps"]
    asked = {**QUERY, "collection": "lamps", "wanted": "lamps/switch.md"}
    assert client.post("/retrieve/why-not", json=asked).json()["cause"] == "found"


def test_the_lists_take_it_as_a_parameter(client: httpx2.Client) -> None:
    [document] = client.get("/documents?collection=lamps").json()["documents"]
    assert document["source_path"] == "lamps/switch.md"
    path = f"/documents/{document['source_path']}/chunks"
    chunks = client.get(path, params={"collection": "lamps"}).json()["chunks"]
    assert client.get(path).status_code == 404
    one = f"/chunks/{chunks[0]['chunk_id']}"
    assert client.get(f"{one}?collection=lamps").json() == chunks[0]
    around = client.get(f"{one}/neighbours?collection=lamps&after=5").json()["chunks"]
    assert around == chunks
    names = {field["name"] for field in client.get("/fields?collection=lamps").json()["fields"]}
    others = {field["name"] for field in client.get("/fields").json()["fields"]}
    assert names - others == {"level"}


def test_its_pages_can_be_read(client: httpx2.Client) -> None:
    assert "back of the lamp" in client.get(PAGE).text


def test_a_rollback_names_it_and_leaves_the_others_alone(client: httpx2.Client) -> None:
    generation = client.post("/generations/rollback", json={"collection": "lamps", "to": 1}).json()
    assert (generation["collection"], generation["generation"]) == ("lamps", 1)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"collection": "lamp"}, 404, "no collection 'lamp'"),
        ({"collection": "../lamps"}, 400, "invalid collection name"),
        ({"collection": ""}, 400, "collection"),
        ({"collection": 5}, 400, "collection"),
        (
            {"collection": "lamps", "collections": ["docs"]},
            400,
            "collection: give it, or collections, not both",
        ),
    ],
    ids=str,
)
def test_a_wrong_name_is_refused(
    client: httpx2.Client, body: dict[str, object], status: int, message: str
) -> None:
    answer = client.post("/retrieve", json={**QUERY, **body})
    assert (answer.status_code, message in answer.json()["message"]) == (status, True), answer.text


@pytest.mark.parametrize("name", ["half \ud800", "a\0b", "x" * 5000, "../docs", ""])
def test_a_rollback_refuses_bad_names(client: httpx2.Client, name: str) -> None:
    body = json.dumps({"collection": name})
    headers = {"content-type": "application/json"}
    answer = client.post("/generations/rollback", content=body, headers=headers)
    assert answer.status_code == 400, answer.text
    assert "collection" in answer.json()["message"]
    assert len(answer.text) < 1000


@pytest.mark.parametrize(
    "path",
    [
        "/fields",
        "/documents",
        "/documents/x.md/chunks",
        "/chunks/x",
        "/chunks/x/neighbours",
        "/chunks/x/section",
    ],
)
def test_an_unknown_name_is_a_404_everywhere(client: httpx2.Client, path: str) -> None:
    assert client.get(path, params={"collection": "none"}).status_code == 404
    assert client.get(path, params={"collection": "no/ne"}).status_code == 400
