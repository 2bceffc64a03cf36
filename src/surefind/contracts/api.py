"""The retrieval API: `POST /search`, `GET /health` and the error responses."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from surefind import model
from surefind.contracts.request import PUBLISHED, SearchMode, StrictRequest, Words
from surefind.model import Mode, Query
from surefind.services.serving.health import Health

QUERY_LENGTH = 500
TOP_K = 20


_RESULT: JsonDict = {
    "chunk_id": "install-power-irl42352eb-0",
    "snippet": "## Power\n\nPlug the cable into a socket of 230 volts.",
    "source_path": "docs/guide/install.md",
    "slug": "guide-install",
    "title": "Installing",
    "score": 0.71,
}


class SearchRequest(StrictRequest):
    """A question. `mode` is a surefind extension: the contract promises the order of the cosine."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "How do I install it?", "top_k": 5}]}
    )

    query: Words = Field(
        min_length=1, max_length=QUERY_LENGTH, description="Natural language search query"
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="Number of results to return")
    mode: SearchMode = Mode.DENSE

    @field_validator("query", mode="before")
    @classmethod
    def _is_not_blank(cls, value: object) -> object:
        if isinstance(value, str) and not value.strip():
            raise PydanticCustomError(PUBLISHED, "Query cannot be empty")
        return value

    def to_query(self, collection: str) -> Query:
        return Query(text=self.query, top_k=self.top_k, mode=self.mode, collection=collection)


class SearchResult(BaseModel):
    """Exactly the published keys; `/retrieve` also reports flaws of stored passages."""

    model_config = ConfigDict(json_schema_extra={"examples": [_RESULT]})

    chunk_id: str = Field(description="Unique chunk identifier")
    snippet: str = Field(description="Text content of the chunk")
    source_path: str = Field(description="Source file path")
    slug: str = Field(description="URL-friendly identifier")
    title: str | None = Field(default=None, description="Document title")
    score: float = Field(ge=0, le=1, description="Relevance score (0-1)")


class SearchResponse(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "How do I install it?", "results": [_RESULT]}]}
    )

    query: str = Field(description="Original search query")
    results: list[SearchResult] = Field(default_factory=list, description="Ranked search results")

    @classmethod
    def of(cls, result: model.SearchResult) -> "SearchResponse":
        return cls(
            query=result.query.text,
            results=[
                SearchResult(
                    chunk_id=hit.record.chunk.id,
                    snippet=hit.record.chunk.text,
                    source_path=hit.record.chunk.source_path,
                    slug=hit.record.slug,
                    title=hit.record.title or None,
                    score=hit.score,
                )
                for hit in result.hits
            ],
        )


class HealthResponse(BaseModel):
    """`qdrant` reports on the index and `postgres` on the catalog, whatever the backends are."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"status": "ok", "qdrant": True, "postgres": True}]}
    )

    status: Literal["ok", "degraded", "error"]
    qdrant: bool
    postgres: bool

    @classmethod
    def of(cls, health: Health) -> "HealthResponse":
        status: Literal["ok", "degraded", "error"] = "error"
        if health.index:
            status = "ok" if health.catalog and health.embedder else "degraded"
        return cls(status=status, qdrant=health.index, postgres=health.catalog)


class ErrorResponse(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": "validation_error", "message": "Query cannot be empty"}]
        }
    )

    error: str = Field(description="Error type identifier")
    message: str = Field(description="Human-readable error message")
