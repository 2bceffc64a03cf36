"""The shapes of retrieval testing: `POST /query` and `surefind query --json`."""

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
    """A question. `mode` is surefind's own: the contract promises the order of the cosine."""

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
        description="Whether results also have a metadata object: title, section, breadcrumb and "
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
    """More about a result. The contract names no such fields, so these are surefind's own."""

    title: str = Field(description="Title of the document")
    section: str = Field(description="Heading that the chunk is under")
    breadcrumb: str = Field(description="Headings above the chunk, from the title down")
    source_path: str = Field(description="Path or address of the document at its source")

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
    url: Url = Field(description="Where the content was taken from")
    position: int = Field(ge=0, description="Place of the chunk in its document, from 0")
    similarity_score: float = Field(ge=0, le=1, description="Cosine of query and chunk")
    chunk_id: NotBlank = Field(description="Unique identifier of the chunk")
    created_at: datetime = Field(description="When the chunk was stored")
    metadata: ChunkDetails | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="More about the chunk; absent with include_metadata: false",
    )
    assumed: Assumed = []


class FlawedRetrievedChunk(RetrievedChunk):
    """A chunk of a connected collection that breaks a rule of the contract, and says which."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_CHUNK, "content": "", "flaws": ["text is missing"]}]}
    )

    content: str = Field(description="The text of the chunk; empty if it has none")
    url: str = Field(description="Where the content was taken from; empty if unknown")
    flaws: Flaws


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

    query: NotBlank = Field(description="The query, as it was asked")
    results: list[RetrievedChunk | FlawedRetrievedChunk] = Field(
        description="Results, best first: at most top_k, none below the threshold"
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
