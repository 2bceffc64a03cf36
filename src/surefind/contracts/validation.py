"""The shapes of retrieval validation: a query, its results, and the report over many queries.

They are plain dataclasses, as published: checked when they are made, and a query once more when it
is asked, since anything may have been assigned to it in between.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from surefind import model
from surefind.contracts import rules
from surefind.contracts.scores import similarity
from surefind.errors import InputError

CONNECTION_STATUSES = ("connected", "failed", "timeout")
REQUIRED_FIELDS = ("chunk_text", "source_url", "page_title")
_HASH_LENGTH = 16
_LINE = "=" * 60


@dataclass
class RetrievalQuery:
    """A question with its parameters. InputError, which is a ValueError, where one is wrong."""

    query_text: str
    top_k: int = 5
    similarity_threshold: float = 0.0
    query_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self.validate()
        self.created_at = rules.moment("created_at", self.created_at)

    def validate(self) -> None:
        rules.text("query_text", self.query_text)
        rules.whole("top_k", self.top_k, low=1)
        rules.fraction("similarity_threshold", self.similarity_threshold)
        rules.text("query_id", self.query_id)

    def to_query(self, collection: str, mode: model.Mode) -> model.Query:
        self.validate()
        return model.Query(
            text=self.query_text,
            top_k=self.top_k,
            threshold=self.similarity_threshold,
            mode=mode,
            collection=collection,
        )


@dataclass
class RetrievalResult:
    """One ranked passage. `metadata` is the full payload, for debugging."""

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
        rules.whole("chunk_index", self.chunk_index, low=0)
        rules.fraction("similarity_score", self.similarity_score)
        rules.whole("rank", self.rank, low=1)
        if not isinstance(self.page_title, str):
            raise InputError("page_title: it must be text, though it may be empty")
        if not isinstance(self.metadata, dict):
            raise InputError("metadata: it must be a dict")

    @classmethod
    def of(cls, hit: model.Hit, query_id: str, embedding_model: str) -> RetrievalResult:
        """A hit as the store has it, also where that is less than the contract requires.

        Such a result is not checked: the report's `metadata_completeness` counts it.
        """
        metadata = _metadata(hit.record, embedding_model)
        found = cls.__new__(cls)
        found.query_id = query_id
        found.chunk_text = metadata["chunk_text"]
        found.source_url = metadata["source_url"]
        found.page_title = metadata["page_title"]
        found.section_heading = metadata["section_heading"]
        found.breadcrumb = metadata["breadcrumb"] or None
        found.chunk_index = metadata["chunk_index"]
        found.similarity_score = similarity(hit)
        found.metadata = metadata
        found.rank = hit.rank
        return found

    @property
    def is_complete(self) -> bool:
        return all(getattr(self, name) for name in REQUIRED_FIELDS)


def results_of(
    result: model.SearchResult, query_id: str, embedding_model: str
) -> list[RetrievalResult]:
    return [RetrievalResult.of(hit, query_id, embedding_model) for hit in result.hits]


def _metadata(record: model.ChunkRecord, embedding_model: str) -> dict[str, Any]:
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


@dataclass
class ValidationReport:
    """What many queries showed. Times are in seconds, rates and completeness from 0 to 1."""

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
            rules.whole(name, getattr(self, name), low=0)
        if self.total_queries != self.successful_queries + self.failed_queries:
            raise InputError(
                f"total_queries: it is {self.total_queries}, it must be the sum of "
                f"{self.successful_queries} successful and {self.failed_queries} failed ones"
            )
        rules.fraction("avg_similarity_score", self.avg_similarity_score)
        rules.fraction("metadata_completeness", self.metadata_completeness)
        self._check_query_time()
        rules.one_of("connection_status", self.connection_status, CONNECTION_STATUSES)
        self.started_at = rules.moment("started_at", self.started_at)
        self.completed_at = rules.moment("completed_at", self.completed_at)
        if self.completed_at < self.started_at:
            raise InputError("completed_at: it is before started_at")

    def _check_query_time(self) -> None:
        """Positive, but where there was no query there was no time either."""
        seconds = rules.number("avg_query_time", self.avg_query_time)
        if seconds < 0 or (seconds == 0 and self.total_queries):
            raise InputError(f"avg_query_time: it is {seconds}, it must be positive")

    @property
    def duration_seconds(self) -> float:
        return (self.completed_at - self.started_at).total_seconds()

    @property
    def success_rate(self) -> float:
        return self.successful_queries / self.total_queries if self.total_queries else 0.0

    def to_summary(self) -> str:
        """The report for people, in the published layout, to the letter."""
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
