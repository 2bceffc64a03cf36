"""Passages of a connected collection that lack what the contracts require, on every interface."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from qdrant_client import models

import surefind
from support.commands import serving
from support.commands import surefind as command
from support.foreign import client_of, plain_payload
from support.payload_shapes import Passage, book
from support.qdrant.http_server import running
from support.qdrant.service import REAL_KEY, Address, unique
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.files.connection_table import save_connection
from surefind.model import Connection, Distance, PayloadMapping, Role, VectorSpace

PASSAGES = book(20)
QUESTION = "what does the supervisor do when a node crashes?"


def payload(passage: Passage, *left_out: str, **changed: object) -> dict[str, Any]:
    whole = {**(plain_payload(passage) or {}), **changed}
    return {name: value for name, value in whole.items() if name not in left_out}


STORED: list[dict[str, Any] | None] = [
    payload(PASSAGES[0], "text"),
    payload(PASSAGES[1], text=" \n\t "),
    None,
    payload(PASSAGES[3], "url"),
    payload(PASSAGES[4], url="see the handbook"),
    payload(PASSAGES[5], url="javascript:alert(1)"),
    payload(PASSAGES[6], url="/docs/topics"),
    payload(PASSAGES[7], "chunk_index"),
    payload(PASSAGES[8], "created_at"),
    *(payload(passage) for passage in PASSAGES[9:]),
]
IDS = [passage.uuid for passage in PASSAGES]
FLAWS = {
    IDS[0]: ["text is missing"],
    IDS[1]: ["text is missing"],
    IDS[2]: ["it has no payload"],
    IDS[3]: ["url is missing"],
    IDS[4]: ["url can't be read: 'see the handbook'"],
    IDS[5]: ["url can't be read: 'javascript:alert(1)'"],
    IDS[7]: ["position is missing"],
    IDS[8]: ["created_at is missing"],
}
"""What the passage lacks, whoever asks."""
UNUSABLE = {
    **FLAWS,
    IDS[2]: ["it has no payload", "text is missing", "url is missing"],
    IDS[6]: ["url is not absolute: '/docs/topics'"],
}
"""With what the contracts require beyond that."""


async def fill(
    address: Address, name: str, bge: BgeSmallEmbedder, payloads: Sequence[dict[str, Any] | None]
) -> None:
    client = client_of(address)
    params = models.VectorParams(size=384, distance=models.Distance.COSINE)
    await client.create_collection(name, vectors_config=params)
    rows = await bge.embed_passages([one.text for one in PASSAGES])
    points: list[Any] = [
        models.PointStruct(id=point, vector=row.tolist(), payload=stored)
        for point, row, stored in zip(IDS, rows, payloads, strict=True)
    ]
    await client.upsert(name, points, wait=True)
    await client.close()


def connection(name: str, collection: str, bge: BgeSmallEmbedder) -> Connection:
    """As `surefind connect` would save it; what a mapping names, its collection has."""
    roles = {Role.TEXT: ("text",), Role.URL: ("url",)}
    if name == "flawed":
        roles |= {
            Role.TITLE: ("title",),
            Role.SECTION: ("section",),
            Role.POSITION: ("chunk_index",),
            Role.CREATED_AT: ("created_at",),
        }
    space = VectorSpace("", 384, Distance.COSINE)
    return Connection(name, collection, PayloadMapping(roles), space, embedder=bge.fingerprint)


@pytest.fixture(scope="module")
async def home(
    bge: BgeSmallEmbedder, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Path]:
    """With two collections connected: `flawed`, and `bare`, which has texts and urls alone."""
    folder = tmp_path_factory.mktemp("flawed")
    bare = [payload(one, *(set(payload(one)) - {"text", "url"})) for one in PASSAGES]
    with running() as address:
        key = f"QDRANT_API_KEY={REAL_KEY}\n" if REAL_KEY else ""
        (folder / ".env").write_text(f"QDRANT_URL={address.url}\n{key}")
        names = {"flawed": unique("flawed"), "bare": unique("bare")}
        for ours, payloads in (("flawed", STORED), ("bare", bare)):
            await fill(address, names[ours], bge, payloads)
            save_connection(connection(ours, names[ours], bge), folder / "surefind.toml")
        yield folder
        client = client_of(address)
        for name in names.values():
            await client.delete_collection(name)
        await client.close()


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[httpx2.Client]:
    with (
        serving("-c", "flawed", cwd=home) as (address, _),
        httpx2.Client(base_url=address, timeout=60) as client,
    ):
        yield client


def post(client: httpx2.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def by_id(hits: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {hit["chunk_id"]: hit for hit in hits}
    assert set(found) == set(IDS)
    return found


def flaws(hits: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    return {chunk_id: hit["flaws"] for chunk_id, hit in hits.items() if hit.get("flaws")}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"expand": "document", "highlight": True},
        {"expand": "section", "group_by": "section", "group_size": 20},
        {"diversity": 0.3, "collapse": "off"},
    ],
)
def test_our_own_search_names_each_flaw(client: httpx2.Client, more: dict[str, Any]) -> None:
    answer = post(
        client, "/retrieve", query=QUESTION, top_k=20, mode="dense", **{"collapse": "off", **more}
    )
    hits = by_id(answer["hits"])
    assert answer["status"] == "partial"
    assert flaws(hits) == FLAWS
    assert hits[IDS[2]]["assumed"] == ["source_path", "position", "created_at"]
    assert hits[IDS[7]]["assumed"] == ["position"]
    assert hits[IDS[8]]["assumed"] == ["created_at"]
    assert hits[IDS[8]]["created_at"] is None
    assert [hits[IDS[number]]["url"] for number in range(3, 7)] == ["", "", "", "/docs/topics"]
    assert hits[IDS[9]]["assumed"] == []


def test_the_testing_contract_returns_them_with_their_flaws(client: httpx2.Client) -> None:
    answer = post(client, "/query", query_text=QUESTION, top_k=20)
    hits = by_id(answer["results"])
    assert answer["metadata"]["total_results"] == 20
    assert flaws(hits) == UNUSABLE
    assert [hits[IDS[number]]["content"] for number in range(3)] == ["", "", ""]
    told = {chunk_id: hit["assumed"] for chunk_id, hit in hits.items() if "assumed" in hit}
    assert told == {
        IDS[2]: ["position", "created_at", "metadata.source_path"],
        IDS[3]: ["metadata.source_path"],
        IDS[7]: ["position"],
        IDS[8]: ["created_at"],
    }
    published = {"content", "url", "position", "similarity_score", "chunk_id", "created_at"}
    assert set(hits[IDS[9]]) == {*published, "metadata"}
    plain = post(client, "/query", query_text=QUESTION, top_k=20, include_metadata=False)
    assert flaws(by_id(plain["results"])) == UNUSABLE
    assert by_id(plain["results"])[IDS[2]]["assumed"] == ["position", "created_at"]


def test_the_api_returns_them_with_exactly_its_published_keys(client: httpx2.Client) -> None:
    hits = by_id(post(client, "/search", query=QUESTION, top_k=20)["results"])
    assert set(hits) >= set(FLAWS)
    assert hits[IDS[0]]["snippet"] == ""
    published = {"chunk_id", "snippet", "source_path", "slug", "title", "score"}
    assert all(set(hit) == published for hit in hits.values())


def test_the_implementation_contract_is_partial_and_names_them(client: httpx2.Client) -> None:
    body = {"query_text": QUESTION, "top_k": 20, "similarity_threshold": 0}
    answer = post(client, "/api/v1/search", **body)
    hits = by_id(answer["results"])
    assert (answer["status"], answer["total_results"]) == ("partial", 20)
    assert flaws(hits) == UNUSABLE
    assert hits[IDS[7]]["assumed"] == ["position"]
    assert hits[IDS[2]]["assumed"] == ["position", "metadata.document_id"]
    assert set(hits[IDS[9]]) == {
        "content",
        "similarity_score",
        "chunk_id",
        "metadata",
        "position",
    }


def test_validation_finds_them_and_names_them(client: httpx2.Client) -> None:
    tests = [{"query_text": QUESTION, "expected_results": [one]} for one in IDS]
    report = post(client, "/api/v1/validate", test_queries=tests, validation_params={"top_k": 20})
    assert report["passed_tests"] == len(IDS)
    found = [detail["found"][0]["metadata"] for detail in report["detailed_results"]]
    assert flaws(by_id(found)) == UNUSABLE


def test_what_a_collection_does_not_have_is_assumed_and_no_flaw(home: Path) -> None:
    with (
        serving("-c", "bare", "--data-dir", "other", cwd=home) as (address, _),
        httpx2.Client(base_url=address, timeout=60) as client,
    ):
        asked = {"query_text": QUESTION, "top_k": 20}
        for hit in post(client, "/query", **asked)["results"]:
            assert hit["assumed"] == ["position", "created_at"]
            assert (hit["position"], hit["created_at"]) == (0, "1970-01-01T00:00:00Z")
            assert "flaws" not in hit
        answer = post(client, "/api/v1/search", **asked, similarity_threshold=0)
        assert answer["status"] == "success"
        assert all(hit["assumed"] == ["position"] for hit in answer["results"])


# --- the command line and the library ---------------------------------------------------------


def test_the_commands_show_the_flaws(home: Path) -> None:
    options = ("-c", "flawed", "-k", "20", QUESTION)
    done = command("search", "--mode", "dense", *options, cwd=home)
    assert done.returncode == 0, done.stderr
    for named in FLAWS.values():
        assert f"     ! {named[0]}\n" in done.stdout
    asked = command("query", *options, "--json", cwd=home)
    assert flaws(by_id(json.loads(asked.stdout)["results"])) == UNUSABLE
    table = command("query", *options, cwd=home)
    assert table.returncode == 0, table.stderr
    for told in ("! text is missing", "! it has no payload", "! position is missing"):
        assert told in table.stdout
    assert "Traceback" not in done.stderr + asked.stderr + table.stderr


def test_the_validation_contract_keeps_the_payload_as_it_is_stored(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    query = surefind.RetrievalQuery(QUESTION, top_k=20)
    with surefind.open(collection="flawed") as docs:
        results = docs.retrieve(query)
        ids = [hit.record.chunk.id for hit in docs.search(QUESTION, top_k=20, mode="dense").hits]
    stored = dict(zip(IDS, STORED, strict=True))
    assert [result.metadata for result in results] == [stored[one] or {} for one in ids]
    started_at = query.created_at
    report = surefind.aggregate_results_to_report(results, [query], {}, [], started_at, started_at)
    assert report.metadata_completeness == pytest.approx(14 / 20)


def test_the_layer_leaves_out_and_logs_what_breaks_its_rules(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(home)
    with surefind.open(collection="flawed") as docs:
        results = docs.retrieve_content_chunks(docs.generate_query_embedding(QUESTION), 20)
    assert {result.chunk_id for result in results} == {*IDS[7:]}
    logged = [message for message in caplog.messages if message.startswith("left out")]
    for number in range(7):
        reason = "; ".join(UNUSABLE[IDS[number]])
        assert f"left out the stored chunk {IDS[number]!r}: {reason}" in logged
    assert len(logged) == 7


@pytest.mark.parametrize("limit", [1, 3, 13])
def test_the_layer_finds_as_many_chunks_as_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Whatever is left out before them: the passage asked for here has no text."""
    monkeypatch.chdir(home)
    with surefind.open(collection="flawed") as docs:
        embedding = docs.generate_query_embedding(PASSAGES[0].text)
        assert len(docs.retrieve_content_chunks(embedding, limit)) == limit
