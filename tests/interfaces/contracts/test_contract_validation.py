"""The validation contract: queries, results and reports as the library gives them."""

import dataclasses
import json
import re
import uuid
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

import surefind
from interfaces.contracts.field_tables import Field, Values, bad_cases, defaults, good_cases, named
from support.fakes import record
from support.qdrant.http_server import running
from support.qdrant.service import unique
from surefind.contracts.validation import RetrievalQuery, RetrievalResult, ValidationReport
from surefind.mapping.records import record_of
from surefind.model import (
    Connection,
    Distance,
    Hit,
    Mode,
    PayloadMapping,
    Query,
    Role,
    VectorSpace,
)

BEGIN = datetime(2025, 12, 27, 14, 30, 0)  # noqa: DTZ001 - as the contract's own examples have it

QUERY = (
    Field("query_text", str),
    Field("top_k", int, 5, low=1),
    Field("similarity_threshold", float, 0.0, low=0.0, high=1.0),
)
RESULT = (
    Field("chunk_text", str),
    Field("source_url", str),
    Field("chunk_index", int, low=0),
    Field("similarity_score", float, low=0.0, high=1.0),
    Field("rank", int, low=1),
)
REPORT = (
    Field("run_id", str),
    Field("total_queries", int, low=0),
    Field("successful_queries", int, low=0),
    Field("failed_queries", int, low=0),
    Field("avg_similarity_score", float, low=0.0, high=1.0),
    Field("avg_query_time", float),
    Field("metadata_completeness", float, low=0.0, high=1.0),
    Field("total_results_retrieved", int, low=0),
)

A_QUERY: Values = {"query_text": "How do I get started?"}
A_RESULT: Values = {
    "query_id": "a1b2c3d4",
    "chunk_text": "To get started, first install the dependencies...",
    "source_url": "https://docs.example.com/getting-started",
    "page_title": "Getting Started Guide",
    "section_heading": "Installation",
    "breadcrumb": "Docs > Getting Started > Installation",
    "chunk_index": 2,
    "similarity_score": 0.87,
    "metadata": {"chunk_size": 380},
    "rank": 1,
}
A_REPORT: Values = {
    "run_id": "val-2025-12-27-001",
    "total_queries": 10,
    "successful_queries": 9,
    "failed_queries": 1,
    "avg_similarity_score": 0.73,
    "avg_query_time": 1.2,
    "metadata_completeness": 1.0,
    "total_results_retrieved": 45,
    "connection_status": "connected",
    "collection_stats": {
        "collection_name": "documentation",
        "vector_count": 31200,
        "vector_dim": 1024,
        "distance": "COSINE",
    },
    "errors": ["Query 'What is the weather?' failed: Cohere API timeout"],
    "started_at": BEGIN,
    "completed_at": BEGIN + timedelta(seconds=15),
}
SUMMARY = """\
============================================================
RAG Retrieval Validation Report
============================================================
Run ID: val-2025-12-27-001
Started: 2025-12-27 14:30:00
Completed: 2025-12-27 14:30:15
Duration: 15.0s

CONNECTION STATUS
============================================================
Status: connected
Collection: documentation
Vector Count: 31,200
Vector Dimensions: 1024
Distance Metric: COSINE

QUERY METRICS
============================================================
Total Queries: 10
Successful: 9
Failed: 1
Success Rate: 90.0%

RETRIEVAL QUALITY
============================================================
Total Results Retrieved: 45
Avg Similarity Score: 0.730
Avg Query Time: 1.20s

METADATA VALIDATION
============================================================
Metadata Completeness: 100.0%

ERRORS
============================================================
Query 'What is the weather?' failed: Cohere API timeout
============================================================"""


def refused() -> Iterator[Any]:
    tables = (
        (RetrievalQuery, QUERY, A_QUERY),
        (RetrievalResult, RESULT, A_RESULT),
        (ValidationReport, REPORT, A_REPORT),
    )
    for shape, table, base in tables:
        for values, field in bad_cases(table, base):
            if values.keys() >= base.keys():  # leaving one out is a TypeError, as with any class
                case = f"{shape.__name__} {field} {named(values[field])}"
                yield pytest.param(shape, values, field, id=case)


@pytest.mark.parametrize(("shape", "values", "field"), list(refused()))
def test_what_breaks_a_rule_is_a_value_error_that_names_the_field(
    shape: type, values: Values, field: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field} ") as caught:
        shape(**values)
    assert isinstance(caught.value, surefind.InputError)


def test_the_bounds_themselves_are_fine() -> None:
    for values in good_cases(QUERY, A_QUERY):
        assert RetrievalQuery(**values).query_text
    for values in good_cases(RESULT, A_RESULT):
        assert RetrievalResult(**values).is_complete


def test_a_query_has_the_published_defaults() -> None:
    query, other = RetrievalQuery("What is authentication?"), RetrievalQuery("x")
    assert dataclasses.asdict(query).items() >= defaults(QUERY).items()
    assert uuid.UUID(query.query_id) != uuid.UUID(other.query_id)
    assert query.created_at.tzinfo is UTC
    assert abs(datetime.now(UTC) - query.created_at) < timedelta(minutes=1)


def test_fields_stand_in_the_published_order() -> None:
    names = {
        kind: [field.name for field in dataclasses.fields(kind)]
        for kind in (RetrievalQuery, RetrievalResult, ValidationReport)
    }
    assert names[RetrievalQuery] == [*A_QUERY, *defaults(QUERY), "query_id", "created_at"]
    assert names[RetrievalResult] == list(A_RESULT)
    assert names[ValidationReport] == list(A_REPORT)


def test_times_stay_as_they_were_given() -> None:
    berlin = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))
    for given in (BEGIN, berlin):
        assert RetrievalQuery("x", created_at=given).created_at == given
        report = ValidationReport(**{**A_REPORT, "started_at": given, "completed_at": given})
        assert (report.started_at, report.completed_at) == (given, given)
    report = ValidationReport(**A_REPORT)
    assert (report.started_at.tzinfo, report.completed_at.tzinfo) == (None, None)
    with pytest.raises(ValueError, match=r"^created_at must be a datetime, got str"):
        RetrievalQuery("x", created_at="2025-12-27")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("aware", "naive"), [("started_at", "completed_at"), ("completed_at", "started_at")]
)
def test_a_naive_and_an_aware_time_are_an_error_that_says_so(aware: str, naive: str) -> None:
    mixed = {aware: BEGIN.replace(tzinfo=UTC), naive: BEGIN}
    message = f"^{aware} has a time zone, but {naive} does not; use"
    with pytest.raises(surefind.InputError, match=message):
        ValidationReport(**{**A_REPORT, **mixed})
    with pytest.raises(surefind.InputError, match=message):
        aggregated(**mixed)
    report = ValidationReport(**A_REPORT)
    vars(report).update(mixed)
    with pytest.raises(surefind.InputError, match=message):
        report.to_summary()


@pytest.mark.parametrize(
    "url", ["", "nonsense", "/docs/a", "http://", "https:// a.b/c", "http://[", "mailto:a@b.c"]
)
def test_only_urls_are_sources(url: str) -> None:
    with pytest.raises(ValueError, match=r"^source_url "):
        RetrievalResult(**{**A_RESULT, "source_url": url})


def test_a_title_may_be_empty_but_is_text_and_metadata_is_a_dict() -> None:
    assert not RetrievalResult(**{**A_RESULT, "page_title": ""}).is_complete
    for name, value in (("page_title", None), ("metadata", [])):
        with pytest.raises(ValueError, match=f"^{name} "):
            RetrievalResult(**{**A_RESULT, name: value})


# --- the report -------------------------------------------------------------------------------


def test_the_summary_is_the_published_layout_to_the_letter() -> None:
    report = ValidationReport(**A_REPORT)
    assert report.to_summary() == SUMMARY
    assert (report.duration_seconds, report.success_rate) == (15.0, 0.9)
    calm = ValidationReport(
        **{**A_REPORT, "successful_queries": 10, "failed_queries": 0, "errors": []}
    )
    *_, status, _, line, _ = calm.to_summary().split("\n")
    assert (status, line) == ("STATUS", "✅ All validations passed successfully!")
    bare = ValidationReport(**{**A_REPORT, "collection_stats": {}}).to_summary()
    assert "Collection: N/A\nVector Count: 0\nVector Dimensions: 0\nDistance Metric: N/A\n" in bare


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"total_queries": 11}, "total_queries"),
        ({"avg_query_time": 0.0}, "avg_query_time"),
        ({"avg_query_time": -1.0}, "avg_query_time"),
        ({"connection_status": "unknown"}, "connection_status"),
        ({"completed_at": BEGIN - timedelta(seconds=1)}, "completed_at"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(change: Values, field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field} "):
        ValidationReport(**{**A_REPORT, **change})


def test_every_published_status_and_an_instant_are_fine() -> None:
    for status in ("connected", "failed", "timeout"):
        at_once = {**A_REPORT, "connection_status": status, "completed_at": BEGIN}
        assert ValidationReport(**at_once).duration_seconds == 0


def aggregated(**change: Any) -> ValidationReport:
    queries = [RetrievalQuery(text) for text in ("first", "second", "third")]
    given: Values = {
        "results": [RetrievalResult(**A_RESULT)] * 4,
        "queries": queries,
        "connection_stats": {"status": "connected", "collection_name": "docs"},
        "errors": {queries[1].query_id: "the service is down"},
        "started_at": BEGIN,
        "completed_at": BEGIN + timedelta(seconds=6),
    }
    return surefind.aggregate_results_to_report(**{**given, **change})


def test_failures_are_counted_by_query_and_the_rest_is_averaged() -> None:
    report = aggregated()
    assert (report.total_queries, report.successful_queries, report.failed_queries) == (3, 2, 1)
    assert report.errors == ["Query 'second' failed: the service is down"]
    assert report.avg_similarity_score == pytest.approx(0.87)
    assert report.avg_query_time == pytest.approx(2.0)
    assert report.total_results_retrieved == 4
    assert report.metadata_completeness == 1.0
    assert report.collection_stats["collection_name"] == "docs"
    assert uuid.UUID(report.run_id) != uuid.UUID(aggregated().run_id)


def test_errors_may_be_one_line_for_each_failed_query() -> None:
    assert aggregated(errors=["Query 'first' failed: x"]).failed_queries == 1
    assert aggregated(errors=["a", "b", "c", "d"]).successful_queries == 0
    with pytest.raises(ValueError, match=r"^errors: no query has the id 'stranger'"):
        aggregated(errors={"stranger": "x"})


def test_measured_times_are_preferred() -> None:
    assert aggregated(query_times=[0.1, 0.2, 0.3]).avg_query_time == pytest.approx(0.2)
    assert aggregated(completed_at=BEGIN).avg_query_time > 0
    assert aggregated(query_times=[0.0]).avg_query_time > 0


def test_no_queries_are_a_report_too() -> None:
    report = aggregated(results=[], queries=[], errors=[])
    assert (report.total_queries, report.success_rate, report.avg_query_time) == (0, 0.0, 0.0)
    assert (report.avg_similarity_score, report.metadata_completeness) == (0.0, 1.0)
    assert "Success Rate: 0.0%" in report.to_summary()


@pytest.mark.parametrize(
    ("stats", "failed", "expected"),
    [
        ({"status": "timeout"}, 0, "timeout"),
        ({}, 0, "connected"),
        ({}, 3, "failed"),
        ({"status": "unknown"}, 3, "failed"),
        ({"collection_exists": True}, 3, "connected"),
        ({"collection_exists": False}, 3, "failed"),
    ],
)
def test_the_connection_is_never_unknown(stats: Values, failed: int, expected: str) -> None:
    report = aggregated(connection_stats=stats, errors=["x"] * failed)
    assert report.connection_status == expected


def test_a_hit_without_an_address_lowers_the_completeness() -> None:
    """It is the store's lack, not a reason to hide the hit or to fail."""
    whole = Hit(1, 0.9, 0.9, None, None, record(0))
    lacking = dataclasses.replace(whole, record=dataclasses.replace(record(1), url=""))
    results = [RetrievalResult.of(hit, "q", "m") for hit in (whole, lacking)]
    assert aggregated(results=results).metadata_completeness == 0.5


# --- the published functions ------------------------------------------------------------------

POINT = {
    "chunk_text": "To get started...",
    "source_url": "https://docs.example.com/start",
    "page_title": "Getting Started",
    "section_heading": "Installation",
    "breadcrumb": "Docs > Getting Started",
    "chunk_index": 2,
    "more": {"kept": [1, None]},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query_text": ""}, "query_text cannot be empty"),
        ({"query_text": " \t"}, "query_text cannot be empty"),
        ({"top_k": -5}, "top_k must be positive, got -5"),
        ({"top_k": 0}, "top_k must be positive, got 0"),
        (
            {"similarity_threshold": 1.5},
            "similarity_threshold must be in [0.0, 1.0], got 1.5",
        ),
    ],
)
def test_errors_are_the_published_ones_word_for_word(change: Values, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        RetrievalQuery(**{**A_QUERY, **change})
    query = RetrievalQuery("fine")
    surefind.validate_retrieval_query(query)
    vars(query).update(change)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        surefind.validate_retrieval_query(query)


def test_numpy_numbers_are_numbers() -> None:
    query = RetrievalQuery("x", top_k=np.int64(3), similarity_threshold=np.float32(0.5))  # type: ignore[arg-type]
    assert query.to_query("docs", Mode.DENSE) == Query("x", 3, 0.5, Mode.DENSE)
    values = {"chunk_index": np.int32(2), "similarity_score": np.float32(0.5), "rank": np.uint8(1)}
    result = RetrievalResult(**{**A_RESULT, **values})
    told = json.loads(json.dumps(dataclasses.asdict(result)))
    assert (told["chunk_index"], told["similarity_score"], told["rank"]) == (2, 0.5, 1)
    report = ValidationReport(**{**A_REPORT, "avg_similarity_score": np.float64(0.73)})
    assert report == ValidationReport(**A_REPORT)
    with pytest.raises(ValueError, match=r"^top_k must be a whole number, got bool"):
        RetrievalQuery("x", top_k=np.bool_(True))  # type: ignore[arg-type]


def test_a_scored_point_becomes_a_result() -> None:
    point = SimpleNamespace(id="uuid-1234", score=0.87, payload=POINT)
    result = surefind.qdrant_result_to_retrieval_result(point, "q", 1)
    assert result == RetrievalResult(
        query_id="q",
        chunk_text="To get started...",
        source_url="https://docs.example.com/start",
        page_title="Getting Started",
        section_heading="Installation",
        breadcrumb="Docs > Getting Started",
        chunk_index=2,
        similarity_score=0.87,
        metadata=POINT,
        rank=1,
    )
    assert result.metadata == POINT


@pytest.mark.parametrize(
    ("stored", "section", "breadcrumb"),
    [
        (POINT, "Installation", "Docs > Getting Started"),
        ({**POINT, "section_heading": None, "breadcrumb": None}, None, None),
        ({"chunk_text": "Run it.", "page_title": "Guide"}, None, "Guide"),
        ({"chunk_text": "Run it.", "page_title": "Guide", "h": "Use"}, "Use", "Guide > Use"),
    ],
)
def test_headings_of_a_connected_collection_are_those_that_are_stored(
    stored: dict[str, Any], section: str | None, breadcrumb: str | None
) -> None:
    roles = {
        Role.TEXT: ("chunk_text",),
        Role.TITLE: ("page_title",),
        Role.SECTION: ("section_heading", "h"),
    }
    space = VectorSpace("", 4, Distance.COSINE)
    found = record_of(uuid.uuid4(), stored, Connection("a", "a", PayloadMapping(roles), space))
    result = RetrievalResult.of(Hit(1, 0.9, 0.9, None, None, found), "q", "some-model")
    assert (result.section_heading, result.breadcrumb) == (section, breadcrumb)
    assert result.metadata == stored


@pytest.mark.parametrize(
    ("score", "published"), [(-0.04, 0.0), (1.0000001, 1.0), (np.float32(0.5), 0.5)]
)
def test_a_points_score_is_clamped_as_far_as_it_is_a_cosine(score: Any, published: float) -> None:
    point = SimpleNamespace(score=score, payload=POINT)
    found = surefind.qdrant_result_to_retrieval_result(point, "q", 1)
    assert (found.similarity_score, type(found.similarity_score)) == (published, float)


@pytest.mark.parametrize("score", [37.5, -2.0, float("nan"), None, "0.5"])
def test_a_score_that_is_not_a_cosine_is_refused(score: Any) -> None:
    with pytest.raises(surefind.InputError, match=r"^similarity_score must be"):
        surefind.qdrant_result_to_retrieval_result(
            SimpleNamespace(score=score, payload=POINT), "q", 1
        )


def test_a_chunk_index_that_is_stored_as_a_float_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    point = SimpleNamespace(score=0.5, payload={**POINT, "chunk_index": 7.0})
    result = surefind.qdrant_result_to_retrieval_result(point, "q", 1)
    assert (result.chunk_index, type(result.chunk_index)) == (7, int)
    assert not caplog.messages


def test_what_a_point_lacks_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    payloads: list[Any] = [POINT, {**POINT, "page_title": None}, {"chunk_index": "2"}, None]
    results = [
        surefind.qdrant_result_to_retrieval_result(SimpleNamespace(score=0.5, payload=p), "q", 1)
        for p in payloads
    ]
    assert aggregated(results=results).metadata_completeness == 0.25
    assert [result.page_title for result in results] == ["Getting Started", "", "", ""]
    assert [result.chunk_index for result in results] == [2, 2, 0, 0]
    assert [result.metadata for result in results] == [*payloads[:3], {}]
    lacking = [f"Required field '{name}' missing from payload" for name in list(POINT)[:3]]
    assert caplog.messages == [
        lacking[2],
        *lacking,
        "Payload: chunk_index must be a whole number, got str; using 0",
        *lacking,
        "Payload: chunk_index must be a whole number, got None; using 0",
    ]


def test_metadata_is_extracted_safely(caplog: pytest.LogCaptureFixture) -> None:
    extract = surefind.extract_metadata_safely
    assert extract(POINT, "page_title") == "Getting Started"
    assert extract({}, "breadcrumb") is None
    assert extract({}, "chunk_text", "none") == "none"
    assert caplog.messages == []
    assert extract({"source_url": None}, "source_url", "unused") is None
    assert caplog.messages == ["Required field 'source_url' missing from payload"]
    assert caplog.records[0].levelname == "WARNING"


def test_results_of_any_kind_are_aggregated_by_their_attributes() -> None:
    whole = {"similarity_score": 0.5, "chunk_text": "x", "source_url": "u", "page_title": "t"}
    results = [SimpleNamespace(**whole), SimpleNamespace(similarity_score=0.7, chunk_text="x")]
    report = aggregated(results=results)
    assert report.avg_similarity_score == pytest.approx(0.6)
    assert (report.metadata_completeness, report.total_results_retrieved) == (0.5, 2)
    with pytest.raises(surefind.InputError, match=r"^similarity_score must be a number, got None"):
        aggregated(results=[object()])


COMPLETE_FLOW = """\
# Step 1: Create queries
queries = [
    RetrievalQuery(query_text="How do I get started?"),
    RetrievalQuery(query_text="What is authentication?"),
    RetrievalQuery(query_text="What is the weather?")  # Negative query
]

# Step 2: Execute queries and collect results
all_results = []
errors = []
started_at = datetime.utcnow()

for query in queries:
    try:
        # Embed query
        query_vector = embed_query(query.query_text, cohere_client, model)

        # Search Qdrant
        search_results = client.search(
            collection_name="documentation",
            query_vector=query_vector,
            limit=query.top_k
        )

        # Convert to RetrievalResult
        for rank, scored_point in enumerate(search_results, start=1):
            result = qdrant_result_to_retrieval_result(
                scored_point, query.query_id, rank
            )
            all_results.append(result)

    except Exception as e:
        errors.append(f"Query '{query.query_text}' failed: {str(e)}")

completed_at = datetime.utcnow()

# Step 3: Generate validation report
report = aggregate_results_to_report(
    results=all_results,
    queries=queries,
    connection_stats=connection_stats,
    errors=errors,
    started_at=started_at,
    completed_at=completed_at
)

# Step 4: Display report
print(report.to_summary())
"""
"""The published code, to the letter; only its imports and its clients are set up by the test."""

FLOW_SUMMARY = """\
CONNECTION STATUS
============================================================
Status: connected
Collection: documentation
Vector Count: 312
Vector Dimensions: 384
Distance Metric: COSINE

QUERY METRICS
============================================================
Total Queries: 3
Successful: 2
Failed: 1
Success Rate: 66.7%

RETRIEVAL QUALITY
============================================================
Total Results Retrieved: 10
"""


class OldClient:
    """qdrant-client with `search`, which newer versions lack; the collection has its own name."""

    def __init__(self, inner: QdrantClient, collection: str) -> None:
        self._inner = inner
        self._collection = collection

    def search(
        self, collection_name: str, query_vector: list[float], limit: int
    ) -> list[models.ScoredPoint]:
        assert collection_name == "documentation"
        return self._inner.query_points(self._collection, query_vector, limit=limit).points


def test_the_published_flow_runs_to_the_letter(capsys: pytest.CaptureFixture[str]) -> None:
    def embed_query(text: str, _client: None, _model: str) -> list[float]:
        if "weather" in text:
            raise RuntimeError("Cohere API timeout")
        return [1.0, float(len(text)), *[0.0] * 382]

    with running() as address, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # utcnow() is deprecated; a key goes unencrypted
        inner = QdrantClient(url=address.url, api_key=address.key, check_compatibility=False)
        params = models.VectorParams(size=384, distance=models.Distance.COSINE)
        name = unique("documentation")
        inner.create_collection(name, vectors_config=params)
        points = [
            models.PointStruct(id=n, vector=[1.0, n, *[0.0] * 382], payload=POINT)
            for n in range(1, 9)
        ]
        inner.upsert(name, points, wait=True)
        stats = {
            "status": "connected",
            "collection_name": "documentation",
            "vector_count": 312,
            "vector_dim": 384,
            "distance": "COSINE",
        }
        names: dict[str, Any] = {
            "RetrievalQuery": surefind.RetrievalQuery,
            "qdrant_result_to_retrieval_result": surefind.qdrant_result_to_retrieval_result,
            "aggregate_results_to_report": surefind.aggregate_results_to_report,
            "datetime": datetime,
            "embed_query": embed_query,
            "client": OldClient(inner, name),
            "cohere_client": None,
            "model": "embed-english-v3.0",
            "connection_stats": stats,
        }
        exec(COMPLETE_FLOW, names)
        inner.delete_collection(name)
        inner.close()
    printed = capsys.readouterr().out
    assert FLOW_SUMMARY in printed
    assert "\nQuery 'What is the weather?' failed: Cohere API timeout\n" in printed
    report = names["report"]
    assert (report.started_at, report.completed_at) == (names["started_at"], names["completed_at"])
    assert report.started_at.tzinfo is None
    assert [result.rank for result in names["all_results"]] == [1, 2, 3, 4, 5] * 2
    assert all(result.metadata == POINT for result in names["all_results"])


# --- asked for real ---------------------------------------------------------------------------

METADATA = {
    "chunk_text": str,
    "source_url": str,
    "page_title": str,
    "section_heading": str,
    "breadcrumb": str,
    "chunk_index": int,
    "chunk_size": int,
    "content_type": str,
    "has_code": bool,
    "ingested_at": str,
    "content_hash": str,
    "embedding_model": str,
}


def test_retrieve_answers_a_query_with_results(home: Path) -> None:
    query = surefind.RetrievalQuery("which voltage does the socket need", top_k=3)
    with surefind.open(data_dir=home / ".surefind") as docs:
        results = docs.retrieve(query)
        same = docs.search(query.query_text, top_k=3, mode="dense")
        assert docs.retrieve(dataclasses.replace(query, similarity_threshold=1.0)) == []
        lexical = docs.retrieve(RetrievalQuery("vinegar"), mode="lexical")
        hybrid = docs.retrieve(query, mode="hybrid")
        query.top_k = 0
        with pytest.raises(ValueError, match=r"^top_k must be positive, got 0"):
            docs.retrieve(query)
    assert [r.rank for r in results] == [1, 2, 3]
    assert [r.chunk_text for r in results] == [hit.record.chunk.text for hit in same.hits]
    assert [r.similarity_score for r in results] == [hit.similarity for hit in same.hits]
    assert {r.query_id for r in results} == {query.query_id}
    best = results[0]
    assert (best.page_title, best.section_heading) == ("Installing", "Power")
    assert (best.breadcrumb, best.chunk_index) == ("Installing > Power", 1)
    assert best.source_url == "surefind://docs/docs/guide/install.md"
    assert {name: type(value) for name, value in best.metadata.items()} == METADATA
    assert best.metadata["chunk_text"] == best.chunk_text
    assert re.fullmatch(r"[0-9a-f]{16}", best.metadata["content_hash"])
    assert datetime.fromisoformat(best.metadata["ingested_at"]).tzinfo == UTC
    assert best.metadata["embedding_model"] == "BAAI/bge-small-en-v1.5-int8"
    assert RetrievalResult(**dataclasses.asdict(best)) == best
    assert lexical[0].similarity_score == 1.0
    assert hybrid[0].similarity_score == best.similarity_score


async def test_async_programs_retrieve_too(home: Path) -> None:
    async with surefind.aopen(data_dir=home / ".surefind") as docs:
        results = await docs.retrieve(RetrievalQuery("error E42"))
    assert results[0].metadata["has_code"] is True
    assert len(results) == 5
