"""Retrieval validation: a query, its results, and the report over many queries.

These are plain dataclasses, as published. They are validated on creation; a query is validated
again when it runs, because its attributes are writable.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from surefind import model
from surefind.contracts import rules
from surefind.contracts.hits import similarity
from surefind.errors import InputError

CONNECTION_STATUSES = ("connected", "failed", "timeout")
REQUIRED_FIELDS = ("chunk_text", "source_url", "page_title")
_HASH_LENGTH = 16
_LINE = "=" * 60
_log = logging.getLogger(__name__)


@dataclass
class RetrievalQuery:
    """A question with its parameters. Invalid ones raise InputError, a ValueError."""

    query_text: str
    top_k: int = 5
    similarity_threshold: float = 0.0
    query_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        validate_retrieval_query(self)

    def to_query(self, collection: str, mode: model.Mode) -> model.Query:
        validate_retrieval_query(self)
        return model.Query(
            text=self.query_text,
            top_k=self.top_k,
            threshold=self.similarity_threshold,
            mode=mode,
            collection=collection,
        )


def validate_retrieval_query(query: RetrievalQuery) -> None:
    """Raise InputError, a ValueError, for the first invalid field.

    NumPy numbers are replaced by Python numbers.
    """
    rules.text("query_text", query.query_text)
    query.top_k = rules.whole("top_k", query.top_k, low=1)
    query.similarity_threshold = rules.fraction("similarity_threshold", query.similarity_threshold)
    rules.text("query_id", query.query_id)
    rules.moment("created_at", query.created_at)


@dataclass
class RetrievalResult:
    """One ranked passage. `metadata` is the full stored payload, for debugging."""

    query_id: str
    chunk_text: str
    source_url: str
    page_title: str
    section_heading: str | None
    breadcrumb: str | None
    chunk_index: int
    similarity_score: float
    metadata: dict[str, Any]
    rank: int

    def __post_init__(self) -> None:
        rules.text("chunk_text", self.chunk_text)
        rules.url("source_url", self.source_url)
        self.chunk_index = rules.whole("chunk_index", self.chunk_index, low=0)
        self.similarity_score = rules.fraction("similarity_score", self.similarity_score)
        self.rank = rules.whole("rank", self.rank, low=1)
        rules.optional_text("page_title", self.page_title)
        if not isinstance(self.metadata, dict):
            raise InputError(f"metadata must be a dict, got {type(self.metadata).__name__}")

    @classmethod
    def unchecked(cls, **values: Any) -> RetrievalResult:
        """Build a result without validation, so that incomplete passages are not hidden.

        The report's `metadata_completeness` counts them.
        """
        found = cls.__new__(cls)
        vars(found).update(values)
        return found

    @classmethod
    def of(cls, hit: model.Hit, query_id: str, embedding_model: str) -> RetrievalResult:
        record = hit.record
        return cls.unchecked(
            query_id=query_id,
            chunk_text=record.chunk.text,
            source_url=record.url,
            page_title=record.title,
            section_heading=_stored_text(record, "section_heading", _section(record)),
            breadcrumb=_stored_text(record, "breadcrumb", record.breadcrumb or None),
            chunk_index=record.chunk.position,
            similarity_score=similarity(hit),
            metadata=_metadata(record, embedding_model),
            rank=hit.rank,
        )

    @property
    def is_complete(self) -> bool:
        return is_complete(self)


def is_complete(result: object) -> bool:
    return all(getattr(result, name, None) for name in REQUIRED_FIELDS)


def results_of(
    result: model.SearchResult, query_id: str, embedding_model: str
) -> list[RetrievalResult]:
    return [RetrievalResult.of(hit, query_id, embedding_model) for hit in result.hits]


def _section(record: model.ChunkRecord) -> str | None:
    """The last heading; in a connected collection, the title alone is not a section."""
    headings = record.chunk.heading_path
    if not headings or (record.payload is not None and headings == (record.title,)):
        return None
    return headings[-1]


def _stored_text(record: model.ChunkRecord, key: str, other: str | None) -> str | None:
    """The payload's text under the contract's own key, as stored; `other` without that key."""
    if record.payload is None or key not in record.payload:
        return other
    stored = record.payload[key]
    return stored if isinstance(stored, str | None) else other


def _metadata(record: model.ChunkRecord, embedding_model: str) -> dict[str, Any]:
    """The payload; for a connected collection, exactly as stored."""
    if record.payload is not None:
        return dict(record.payload)
    chunk = record.chunk
    return {
        "chunk_text": chunk.text,
        "source_url": record.url,
        "page_title": record.title,
        "section_heading": chunk.heading_path[-1] if chunk.heading_path else None,
        "breadcrumb": record.breadcrumb,
        "chunk_index": chunk.position,
        "chunk_size": chunk.tokens,
        "content_type": chunk.content_type,
        "has_code": chunk.has_code,
        "ingested_at": record.created_at.astimezone(UTC).isoformat(),
        "content_hash": chunk.content_hash[:_HASH_LENGTH],
        "embedding_model": embedding_model,
    }


# --- conversion from qdrant-client ------------------------------------------------------------


class ScoredPoint(Protocol):
    """A hit of qdrant-client, or any object with these two attributes."""

    @property
    def score(self) -> float: ...
    @property
    def payload(self) -> Mapping[str, Any] | None: ...


def qdrant_result_to_retrieval_result(
    scored_point: ScoredPoint, query_id: str, rank: int
) -> RetrievalResult:
    """Convert a hit of qdrant-client whose payload uses the contract's keys.

    Missing fields are logged. Required texts are left empty, which the report's
    `metadata_completeness` counts, and `chunk_index` defaults to 0.
    """
    payload = dict(scored_point.payload or {})
    required = {name: extract_metadata_safely(payload, name) for name in REQUIRED_FIELDS}
    return RetrievalResult.unchecked(
        query_id=rules.text("query_id", query_id),
        **{name: "" if value is None else str(value) for name, value in required.items()},
        section_heading=payload.get("section_heading"),
        breadcrumb=payload.get("breadcrumb"),
        chunk_index=_chunk_index(payload),
        similarity_score=rules.cosine("similarity_score", scored_point.score),
        metadata=payload,
        rank=rules.whole("rank", rank, low=1),
    )


def _chunk_index(payload: Mapping[str, Any]) -> int:
    """Accepts whole floats too, because pandas stores integer columns with gaps as floats."""
    stored = payload.get("chunk_index")
    if isinstance(stored, float) and stored.is_integer():
        stored = int(stored)
    try:
        return rules.whole("chunk_index", stored, low=0)
    except InputError as error:
        _log.warning("Payload: %s; using 0", error)
        return 0


def extract_metadata_safely(payload: Mapping[str, Any], field: str, default: Any = None) -> Any:
    """A payload field, or `default`. Missing required fields are logged."""
    value = payload.get(field, default)
    if value is None and field in REQUIRED_FIELDS:
        _log.warning("Required field '%s' missing from payload", field)
    return value


# --- the report -------------------------------------------------------------------------------


@dataclass
class ValidationReport:
    """The results of many queries. Times are in seconds; rates and completeness are in 0..1."""

    run_id: str
    total_queries: int
    successful_queries: int
    failed_queries: int
    avg_similarity_score: float
    avg_query_time: float
    metadata_completeness: float
    total_results_retrieved: int
    connection_status: str
    collection_stats: dict[str, Any]
    errors: list[str]
    started_at: datetime
    completed_at: datetime

    def __post_init__(self) -> None:
        rules.text("run_id", self.run_id)
        counts = ("total_queries", "successful_queries", "failed_queries")
        for name in (*counts, "total_results_retrieved"):
            setattr(self, name, rules.whole(name, getattr(self, name), low=0))
        if self.total_queries != self.successful_queries + self.failed_queries:
            raise InputError(
                f"total_queries must be successful_queries + failed_queries "
                f"({self.successful_queries} + {self.failed_queries}), got {self.total_queries}"
            )
        for name in ("avg_similarity_score", "metadata_completeness"):
            setattr(self, name, rules.fraction(name, getattr(self, name)))
        self.avg_query_time = self._positive_query_time()
        rules.one_of("connection_status", self.connection_status, CONNECTION_STATUSES)
        if self.duration_seconds < 0:
            raise InputError("completed_at must not be before started_at")

    def _positive_query_time(self) -> float:
        """A positive time, or 0 if there are no queries."""
        seconds = rules.number("avg_query_time", self.avg_query_time)
        if seconds < 0 or (seconds == 0 and self.total_queries):
            raise InputError(f"avg_query_time must be positive, got {seconds}")
        return seconds

    @property
    def duration_seconds(self) -> float:
        return rules.seconds_between(self.started_at, self.completed_at)

    @property
    def success_rate(self) -> float:
        return self.successful_queries / self.total_queries if self.total_queries else 0.0

    def to_summary(self) -> str:
        """The report as text, in exactly the published layout."""
        stats = self.collection_stats
        return "\n".join(
            (
                _LINE,
                "RAG Retrieval Validation Report",
                _LINE,
                f"Run ID: {self.run_id}",
                f"Started: {self.started_at:%Y-%m-%d %H:%M:%S}",
                f"Completed: {self.completed_at:%Y-%m-%d %H:%M:%S}",
                f"Duration: {self.duration_seconds:.1f}s",
                "",
                "CONNECTION STATUS",
                _LINE,
                f"Status: {self.connection_status}",
                f"Collection: {stats.get('collection_name', 'N/A')}",
                f"Vector Count: {stats.get('vector_count', 0):,}",
                f"Vector Dimensions: {stats.get('vector_dim', 0)}",
                f"Distance Metric: {stats.get('distance', 'N/A')}",
                "",
                "QUERY METRICS",
                _LINE,
                f"Total Queries: {self.total_queries}",
                f"Successful: {self.successful_queries}",
                f"Failed: {self.failed_queries}",
                f"Success Rate: {self.success_rate * 100:.1f}%",
                "",
                "RETRIEVAL QUALITY",
                _LINE,
                f"Total Results Retrieved: {self.total_results_retrieved}",
                f"Avg Similarity Score: {self.avg_similarity_score:.3f}",
                f"Avg Query Time: {self.avg_query_time:.2f}s",
                "",
                "METADATA VALIDATION",
                _LINE,
                f"Metadata Completeness: {self.metadata_completeness * 100:.1f}%",
                "",
                "ERRORS" if self.errors else "STATUS",
                _LINE,
                *(self.errors or ["✅ All validations passed successfully!"]),
                _LINE,
            )
        )
