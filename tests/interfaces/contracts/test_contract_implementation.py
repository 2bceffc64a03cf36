"""The implementation contract's answers: `/api/v1/search`, `/api/v1/validate`, `/api/v1/health`."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from interfaces.http.test_http_failures import client_of
from support.commands import serving
from support.fakes import WatchedEmbedder, record
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.bootstrap import Application
from surefind.contracts.implementation import (
    FlawedSourcedChunk,
    MetadataPackage,
    SearchQuery,
    SearchQueryResponse,
    SimilarityScore,
    SourcedChunk,
)
from surefind.errors import EmbeddingError
from surefind.model import Hit, Mode, Query, SearchResult, Status, Timings, point_id
from surefind.settings import load

QUESTION = "which voltage does the socket need"
CLEANING = "vinegar every month"
ANSWER = {
    "query_id": str,
    "results": list,
    "total_results": int,
    "query_time_ms": float,
    "search_params": dict,
    "status": str,
}
CHUNK = {
    "content": str,
    "similarity_score": float,
    "chunk_id": str,
    "metadata": dict,
    "position": int,
}
DETAIL = [
    "test_id",
    "query_text",
    "expected_results",
    "success_criteria",
    "test_category",
    "executed_at",
    "result_accuracy",
    "passed",
    "found",
    "missing",
    "error",
]


def kinds(values: dict[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in values.items()}


def test_an_answer_has_exactly_the_published_fields(contracts: httpx2.Client) -> None:
    answer = contracts.post("/api/v1/search", json={"query_text": QUESTION}).json()
    assert kinds(answer) == ANSWER
    assert UUID(answer["query_id"]).version == 4
    assert answer["search_params"] == {"top_k": 5, "similarity_threshold": 0.5}
    assert answer["status"] == "success"
    assert answer["total_results"] == len(answer["results"]) > 0
    for chunk in answer["results"]:
        assert kinds(chunk) == CHUNK
        assert 0.5 <= chunk["similarity_score"] <= 1
    best = answer["results"][0]
    assert best["metadata"] == {
        "url": str(contracts.base_url.join("/read/docs/docs/guide/install.md")),
        "section": "Power",
        "document_id": "docs/guide/install.md",
    }
    assert best["position"] == 1
    again = contracts.post("/api/v1/search", json={"query": QUESTION}).json()
    assert again["results"] == answer["results"]
    assert again["query_id"] != answer["query_id"]


def test_the_querys_id_and_time_are_echoed(contracts: httpx2.Client) -> None:
    body = {"query_text": QUESTION, "query_id": "mine", "created_at": "2026-01-02T03:04:05"}
    answer = contracts.post("/api/v1/search", json=body).json()
    assert (answer["query_id"], answer["created_at"]) == ("mine", "2026-01-02T03:04:05")
    aware = contracts.post("/api/v1/search", json={**body, "created_at": "2026-01-02T03:04:05Z"})
    assert aware.json()["created_at"] == "2026-01-02T03:04:05Z"


def test_nothing_similar_enough_gives_no_results(contracts: httpx2.Client) -> None:
    body = {"query_text": QUESTION, "similarity_threshold": 1, "top_k": 100}
    answer = contracts.post("/api/v1/search", json=body).json()
    assert (answer["results"], answer["total_results"], answer["status"]) == ([], 0, "no_results")
    words = {"query_text": CLEANING, "similarity_threshold": 0, "mode": "lexical"}
    found = contracts.post("/api/v1/search", json=words).json()
    assert found["results"][0]["similarity_score"] == 1.0


def test_health_is_the_same_as_the_other(contracts: httpx2.Client) -> None:
    answer = contracts.get("/api/v1/health")
    assert (answer.status_code, answer.json()) == (200, contracts.get("/health").json())
    assert contracts.head("/api/v1/health").status_code == 200


def test_a_lost_catalog_makes_it_partial(home: Path) -> None:
    (home / ".surefind/collections/docs/0001/catalog.sqlite").write_bytes(b"lost" * 500)
    with serving(cwd=home) as (address, _):
        answer = httpx2.post(f"{address}/api/v1/search", json={"query": QUESTION}, timeout=30)
        assert answer.json()["status"] == "partial"
        assert httpx2.get(f"{address}/api/v1/health").json()["status"] == "degraded"


def test_before_the_first_ingest_every_contract_is_unavailable(home: Path) -> None:
    bodies = {
        "/search": {"query": QUESTION},
        "/query": {"query_text": QUESTION},
        "/api/v1/search": {"query_text": QUESTION},
        "/api/v1/validate": {"test_queries": [{"query_text": QUESTION, "expected_results": ["a"]}]},
    }
    with serving("--data-dir", "empty", cwd=home) as (address, _):
        for path, body in bodies.items():
            answer = httpx2.post(address + path, json=body, timeout=30)
            assert answer.status_code == 503
            assert set(answer.json()) == {"error", "message"}
            assert answer.json()["error"] == "service_unavailable"


# --- validate ---------------------------------------------------------------------------------


@pytest.fixture
def ids(contracts: httpx2.Client) -> dict[str, str]:
    """section -> chunk id"""
    body = {"query_text": QUESTION, "similarity_threshold": 0, "top_k": 100}
    results = contracts.post("/api/v1/search", json=body).json()["results"]
    return {chunk["metadata"]["section"]: chunk["chunk_id"] for chunk in results}


def validate(client: httpx2.Client, tests: list[dict[str, Any]], **params: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"test_queries": tests}
    if params:
        body["validation_params"] = params
    answer = client.post("/api/v1/validate", json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_test_that_finds_what_it_expects_passes(
    contracts: httpx2.Client, ids: dict[str, str]
) -> None:
    test = {
        "query_text": QUESTION,
        "expected_results": [ids["Power"]],
        "success_criteria": {"min_similarity_score": 0.5},
    }
    report = validate(contracts, [test])
    assert list(report) == [
        "validation_id",
        "total_tests",
        "passed_tests",
        "failed_tests",
        "overall_accuracy",
        "detailed_results",
        "validation_status",
    ]
    assert UUID(report["validation_id"]).version == 4
    assert (report["total_tests"], report["passed_tests"], report["failed_tests"]) == (1, 1, 0)
    assert (report["overall_accuracy"], report["validation_status"]) == (1.0, "passed")
    [detail] = report["detailed_results"]
    assert list(detail) == DETAIL
    assert UUID(detail["test_id"]).version == 4
    assert detail["expected_results"] == [ids["Power"]]
    assert detail["success_criteria"] == {"min_accuracy": 1.0, "min_similarity_score": 0.5}
    assert (detail["test_category"], detail["error"], detail["missing"]) == (None, None, [])
    assert (detail["result_accuracy"], detail["passed"]) == (1.0, True)
    assert datetime.fromisoformat(detail["executed_at"]).tzinfo == UTC
    [found] = detail["found"]
    assert found["rank"] == 1
    assert found["metadata"] == {
        "url": str(contracts.base_url.join("/read/docs/docs/guide/install.md")),
        "section": "Power",
        "chunk_id": ids["Power"],
        "document_id": "docs/guide/install.md",
        "document_title": "Installing",
        "source_type": "markdown-page",
    }
    assert found["similarity"]["algorithm"] == "cosine-similarity"
    assert found["similarity"]["score"] > 0.5
    assert found["similarity"]["result_embedding_id"] == str(point_id(ids["Power"]))
    assert UUID(found["similarity"]["query_embedding_id"]).version == 5


def test_a_test_in_its_published_shape_is_judged_by_its_own_criteria(
    contracts: httpx2.Client, ids: dict[str, str]
) -> None:
    test = {
        "test_id": "t-1",
        "query_text": QUESTION,
        "expected_results": [ids["Power"], ids["E42"]],
        "success_criteria": {"min_accuracy": 0.5, "min_similarity_score": 0.4},
        "test_category": "factual",
        "executed_at": "2020-01-02T03:04:05Z",
        "result_accuracy": 0.0,
    }
    strict = {**test, "test_id": "t-2", "success_criteria": {"min_accuracy": 0.51}}
    usual = {**test, "test_id": "t-3", "success_criteria": {}}
    report = validate(contracts, [test, strict, usual], top_k=1, accuracy_threshold=0.5)
    first, second, third = report["detailed_results"]
    assert {name: first[name] for name in list(test)[:5]} == dict(list(test.items())[:5])
    assert (first["result_accuracy"], first["passed"]) == (0.5, True)
    assert datetime.fromisoformat(first["executed_at"]) > datetime(2026, 1, 1, tzinfo=UTC)
    assert (second["passed"], third["passed"]) == (False, True)
    assert second["success_criteria"] == {"min_accuracy": 0.51, "min_similarity_score": 0.0}
    assert third["success_criteria"] == {"min_accuracy": 0.5, "min_similarity_score": 0.0}
    sent_back = [{name: detail[name] for name in test} for detail in report["detailed_results"]]
    again = validate(contracts, sent_back, top_k=1)
    assert [detail["passed"] for detail in again["detailed_results"]] == [True, False, True]


def test_accuracy_is_found_of_expected_and_every_test_counts_the_same(
    contracts: httpx2.Client, ids: dict[str, str]
) -> None:
    tests = [
        {"query_text": QUESTION, "expected_results": [ids["Power"], ids["E42"]]},
        {
            "query_text": CLEANING,
            "expected_results": [ids["Cleaning"]],
            "test_id": "mine",
        },
        {
            "query_text": CLEANING,
            "expected_results": [ids["E42"]],
            "test_category": "factual",
        },
    ]
    report = validate(contracts, tests, top_k=1)
    half, whole, none = report["detailed_results"]
    assert (half["result_accuracy"], half["missing"]) == (0.5, [ids["E42"]])
    assert (whole["result_accuracy"], whole["test_id"], whole["passed"]) == (1.0, "mine", True)
    assert (none["result_accuracy"], none["test_category"]) == (0.0, "factual")
    assert report["overall_accuracy"] == pytest.approx(0.5)
    assert (report["passed_tests"], report["validation_status"]) == (1, "partial")
    lenient = validate(contracts, tests, top_k=1, accuracy_threshold=0.5)
    assert [detail["passed"] for detail in lenient["detailed_results"]] == [True, True, False]
    assert validate(contracts, tests[2:], top_k=1)["validation_status"] == "failed"
    assert validate(contracts, tests, top_k=100)["validation_status"] == "passed"


def test_what_is_not_similar_enough_does_not_count_as_found(
    contracts: httpx2.Client, ids: dict[str, str]
) -> None:
    test = {"query_text": QUESTION, "expected_chunks": [ids["Power"]], "min_similarity": 1.0}
    [detail] = validate(contracts, [test])["detailed_results"]
    assert (detail["passed"], detail["missing"]) == (False, [ids["Power"]])


def test_an_expectation_that_can_not_be_met_never_passes(
    contracts: httpx2.Client, ids: dict[str, str]
) -> None:
    test = {"query_text": QUESTION, "expected_results": [ids["Power"], "no-such-chunk"]}
    [detail] = validate(contracts, [test], accuracy_threshold=0.0)["detailed_results"]
    assert (detail["passed"], detail["result_accuracy"]) == (False, 0.5)
    assert "no chunk 'no-such-chunk'" in detail["error"]
    twice = {"query_text": QUESTION, "expected_results": [ids["Power"]] * 2}
    assert validate(contracts, [twice])["detailed_results"][0]["expected_results"] == [ids["Power"]]


def test_lexical_tests_have_no_similarity(contracts: httpx2.Client, ids: dict[str, str]) -> None:
    test: dict[str, Any] = {
        "query_text": CLEANING,
        "expected_results": [ids["Cleaning"]],
    }
    tests = [test, {**test, "min_similarity": 0.5}]
    fine, wrong = validate(contracts, tests, mode="lexical")["detailed_results"]
    assert (fine["passed"], fine["found"][0]["similarity"]) == (True, None)
    assert (wrong["passed"], wrong["missing"]) == (False, [ids["Cleaning"]])
    assert "threshold applies to hybrid and dense mode only" in wrong["error"]


def test_a_hundred_long_tests_fit_into_one_call(
    contracts: httpx2.Client, ids: dict[str, str]
) -> None:
    tests = [
        {"query_text": f"{number} " + "tea " * 120, "expected_results": list(ids.values())}
        for number in range(100)
    ]
    assert validate(contracts, tests, top_k=100)["passed_tests"] == 100


async def test_one_failing_query_stops_no_other(
    ingested: Path, bge: BgeSmallEmbedder, ids: dict[str, str]
) -> None:
    async def sometimes(query: str) -> None:
        if query.startswith("fail"):
            raise EmbeddingError("the embedding service is down")

    settings = load(data_dir=ingested / ".surefind")
    application = Application(settings, embedder=WatchedEmbedder(bge, sometimes))
    failing = {"query_text": "fail, please", "expected_results": [ids["Power"]]}
    fine = {"query_text": QUESTION, "expected_results": [ids["Power"]]}
    async with client_of(application) as client:
        mixed = await client.post("/api/v1/validate", json={"test_queries": [failing, fine]})
        alone = await client.post("/api/v1/validate", json={"test_queries": [failing] * 2})
    await application.close()
    report = mixed.json()
    assert [detail["passed"] for detail in report["detailed_results"]] == [False, True]
    assert report["detailed_results"][0]["error"].startswith("the embedding service failed")
    assert (report["overall_accuracy"], report["validation_status"]) == (0.5, "partial")
    assert (alone.status_code, alone.json()["error"]) == (502, "upstream_error")


# --- the entities -----------------------------------------------------------------------------


def test_a_hit_without_an_address_is_partial() -> None:
    whole = Hit(1, 0.9, 0.9, None, None, record(0))
    lacking = replace(whole, record=replace(record(1), url=""))
    timings = Timings(1.0, 1.0, 1.0, 1.0, 4.0)
    for hits, status in (((whole,), "success"), ((whole, lacking), "partial"), ((), "no_results")):
        result = SearchResult(Query("x"), hits, Status.SUCCESS, 0.9, 1, 2, timings)
        request = SearchQuery(query_text=QUESTION)
        assert SearchQueryResponse.of(result, request).status == status
    assert isinstance(SourcedChunk.of(whole), SourcedChunk)
    flawed = SourcedChunk.of(lacking)
    assert isinstance(flawed, FlawedSourcedChunk)
    assert (flawed.metadata.url, flawed.flaws) == ("", ["url is missing"])


def test_its_total_is_the_number_of_results() -> None:
    hit = Hit(1, 0.9, 0.9, None, None, record(0))
    timings = Timings(1.0, 1.0, 1.0, 1.0, 4.0)
    result = SearchResult(Query("x"), (hit,), Status.SUCCESS, 0.9, 1, 2, timings)
    answer = SearchQueryResponse.of(result, SearchQuery(query_text=QUESTION))
    assert answer.total_results == 1
    with pytest.raises(ValueError, match="total_results must match the number of results"):
        SearchQueryResponse(**{**dict(answer), "total_results": 2})


@pytest.mark.parametrize(
    ("source_path", "kind"),
    [
        ("docs/a.md", "markdown-page"),
        ("docs/a.MDX", "mdx-page"),
        ("docs/a.html", "html-page"),
        ("docs/a.rst", "restructuredtext-page"),
        ("docs/a.txt", "text-page"),
        ("example.com/a", "web-page"),
    ],
)
def test_a_document_is_of_some_type(source_path: str, kind: str) -> None:
    assert MetadataPackage.of(record(0, source_path=source_path)).source_type == kind


def test_equal_embeddings_have_equal_ids() -> None:
    hit = Hit(1, 0.9, 0.9, None, None, record(0))

    def score(text: str, model: str) -> SimilarityScore:
        made = SimilarityScore.of(hit, Query(text, mode=Mode.DENSE), model)
        assert made is not None
        return made

    assert score("a", "m") == score("a", "m")
    assert score("a", "m").query_embedding_id != score("b", "m").query_embedding_id
    assert score("a", "m").query_embedding_id != score("a", "n").query_embedding_id
    for wrong in ({"score": 1.1}, {"score": -0.1}, {"algorithm": "magic"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SimilarityScore.model_validate({**score("a", "m").model_dump(), **wrong})
