"""Retrieval testing: `POST /query` and `surefind query --json`."""

from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from surefind import model
from surefind.contracts.answer import Assumed, Flaws, NotBlank, Url
from surefind.contracts.hits import assumed_of, flaws_of, similarity
from surefind.contracts.request import Fraction, SearchMode, StrictRequest, Words, without_cosine
from surefind.model import Mode, Query

QUERY_LENGTH = 2000
TOP_K = 20

_CHUNK: JsonDict = {
    "content": "## Power\n\nPlug the cable into a socket of 230 volts.",
    "url": "https://docs.example.com/guide/install",
    "position": 1,
    "similarity_score": 0.71,
    "chunk_id": "install-power-irl42352eb-0",
    "created_at": "2026-01-02T03:04:05Z",
    "metadata": {
        "title": "Installing",
        "section": "Power",
        "breadcrumb": "Installing > Power",
        "source_path": "docs/guide/install.md",
    },
}
_METADATA: JsonDict = {"query_time_ms": 7, "total_results": 1, "timestamp": "2026-01-02T03:04:05Z"}


class QueryRequest(StrictRequest):
    """A question. `mode` is a surefind extension: the contract promises the order of the cosine."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query_text": "Which voltage does it need?", "top_k": 5, "threshold": 0}],
            **without_cosine("threshold"),
        }
    )

    query_text: Words = Field(
        min_length=1, max_length=QUERY_LENGTH, description="The user-provided text query"
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="Number of results to return")
    threshold: Fraction = Field(default=0.0, description="Minimum similarity score of a result")
    include_metadata: bool = Field(
        default=True,
        description="Add a metadata object to each result: title, section, breadcrumb and "
        "source_path",
    )
    mode: SearchMode = Mode.DENSE

    def to_query(self, collection: str) -> Query:
        return Query(
            text=self.query_text,
            top_k=self.top_k,
            threshold=self.threshold,
            mode=self.mode,
            collection=collection,
        )


class ChunkDetails(BaseModel):
    """Details of a result. The contract does not define the fields, so surefind does."""

    title: str = Field(description="Title of the document")
    section: str = Field(description="Heading above the chunk")
    breadcrumb: str = Field(description="All headings above the chunk, starting with the title")
    source_path: str = Field(description="Path or URL of the document at its source")

    @classmethod
    def of(cls, record: model.ChunkRecord) -> Self:
        return cls(
            title=record.title,
            section=record.section,
            breadcrumb=record.breadcrumb,
            source_path=record.chunk.source_path,
        )


class RetrievedChunk(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_CHUNK]})

    content: NotBlank = Field(description="The text of the chunk")
    url: Url = Field(description="URL of the source document")
    position: int = Field(ge=0, description="Position of the chunk in its document, from 0")
    similarity_score: float = Field(ge=0, le=1, description="Cosine of query and chunk")
    chunk_id: NotBlank = Field(description="Unique identifier of the chunk")
    created_at: datetime = Field(description="When the chunk was stored")
    metadata: ChunkDetails | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Details of the chunk; absent with include_metadata: false",
    )
    assumed: Assumed = []


class FlawedRetrievedChunk(RetrievedChunk):
    """A chunk of a connected collection that violates the contract; `flaws` says how."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_CHUNK, "content": "", "flaws": ["text is missing"]}]}
    )

    content: str = Field(description="The text of the chunk; empty if missing")
    url: str = Field(description="URL of the source document; empty if unknown")
    flaws: Flaws


class RetrievalMetadata(BaseModel):
    query_time_ms: int = Field(ge=0, description="Duration of the query in milliseconds")
    total_results: int = Field(ge=0, description="Number of results returned")
    timestamp: datetime = Field(description="When the query was executed")


class QueryResponse(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "Which voltage does it need?",
                    "results": [_CHUNK],
                    "metadata": _METADATA,
                }
            ]
        }
    )

    query: NotBlank = Field(description="The query, as sent")
    results: list[RetrievedChunk | FlawedRetrievedChunk] = Field(
        description="Up to top_k results at or above the threshold, best first"
    )
    metadata: RetrievalMetadata

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if self.metadata.total_results != len(self.results):
            raise ValueError("total_results must match the number of results")
        return self

    @classmethod
    def of(cls, result: model.SearchResult, *, include_metadata: bool = True) -> "QueryResponse":
        return cls(
            query=result.query.text,
            results=[_retrieved(hit, include_metadata=include_metadata) for hit in result.hits],
            metadata=RetrievalMetadata(
                query_time_ms=round(result.timings.total_ms),
                total_results=len(result.hits),
                timestamp=datetime.now(UTC),
            ),
        )


def _retrieved(hit: model.Hit, *, include_metadata: bool) -> RetrievedChunk | FlawedRetrievedChunk:
    record = hit.record
    stand_ins = {"position": "position", "created_at": "created_at"}
    if include_metadata:
        stand_ins["source_path"] = "metadata.source_path"
    values: dict[str, Any] = {
        "content": record.chunk.text,
        "url": record.url,
        "position": record.chunk.position,
        "similarity_score": similarity(hit),
        "chunk_id": record.chunk.id,
        "created_at": record.created_at.astimezone(UTC),
        "metadata": ChunkDetails.of(record) if include_metadata else None,
        "assumed": assumed_of(record, **stand_ins),
    }
    flaws = flaws_of(record)
    return FlawedRetrievedChunk(**values, flaws=flaws) if flaws else RetrievedChunk(**values)
