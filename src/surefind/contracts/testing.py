"""The shapes of retrieval testing: `POST /query` and `surefind query --json`."""

from datetime import UTC, datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from surefind import model
from surefind.contracts.request import Fraction, SearchMode, StrictRequest, Words
from surefind.contracts.scores import similarity
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
}
_METADATA: JsonDict = {"query_time_ms": 7, "total_results": 1, "timestamp": "2026-01-02T03:04:05Z"}


class QueryRequest(StrictRequest):
    """A question. `mode` is surefind's own: the contract promises the order of the cosine."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query_text": "Which voltage does it need?", "top_k": 5, "threshold": 0}]
        }
    )

    query_text: Words = Field(
        min_length=1, max_length=QUERY_LENGTH, description="The user-provided text query"
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="Number of results to return")
    threshold: Fraction = Field(default=0.0, description="Minimum similarity score of a result")
    include_metadata: bool = Field(
        default=True, description="Whether results tell their url, position and created_at"
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


class RetrievedChunk(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_CHUNK]})

    content: str = Field(min_length=1, description="The text of the chunk")
    url: str = Field(description="Where the content was taken from")
    position: int = Field(ge=0, description="Place of the chunk in its document, from 0")
    similarity_score: float = Field(ge=0, le=1, description="Cosine of query and chunk")
    chunk_id: str = Field(description="Unique identifier of the chunk")
    created_at: datetime = Field(description="When the chunk was stored")


class ChunkContent(BaseModel):
    """A result without its metadata."""

    content: str = Field(min_length=1, description="The text of the chunk")
    similarity_score: float = Field(ge=0, le=1, description="Cosine of query and chunk")
    chunk_id: str = Field(description="Unique identifier of the chunk")


class RetrievalMetadata(BaseModel):
    query_time_ms: int = Field(ge=0, description="Milliseconds that the query took")
    total_results: int = Field(ge=0, description="How many results are returned")
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

    query: str = Field(description="The query, as it was asked")
    results: list[RetrievedChunk] | list[ChunkContent] = Field(
        description="Results, best first: at most top_k, none below the threshold"
    )
    metadata: RetrievalMetadata

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if self.metadata.total_results != len(self.results):
            raise ValueError("total_results must be the number of results")
        return self

    @classmethod
    def of(cls, result: model.SearchResult, *, include_metadata: bool = True) -> "QueryResponse":
        return cls(
            query=result.query.text,
            results=(
                [_retrieved(hit) for hit in result.hits]
                if include_metadata
                else [_content(hit) for hit in result.hits]
            ),
            metadata=RetrievalMetadata(
                query_time_ms=round(result.timings.total_ms),
                total_results=len(result.hits),
                timestamp=datetime.now(UTC),
            ),
        )


def _retrieved(hit: model.Hit) -> RetrievedChunk:
    record = hit.record
    return RetrievedChunk(
        content=record.chunk.text,
        url=record.url,
        position=record.chunk.position,
        similarity_score=similarity(hit),
        chunk_id=record.chunk.id,
        created_at=record.created_at.astimezone(UTC),
    )


def _content(hit: model.Hit) -> ChunkContent:
    return ChunkContent(
        content=hit.record.chunk.text,
        similarity_score=similarity(hit),
        chunk_id=hit.record.chunk.id,
    )
