"""The retrieval API's shapes: `POST /search`, `GET /health`, and the form of every error."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from surefind import model
from surefind.model import Mode, Query

QUERY_LENGTH = 500
TOP_K = 20


class SearchRequest(BaseModel):
    """A question. `mode` is surefind's own: the contract promises the order of the cosine."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"query": "How do I install it?", "top_k": 5}]},
    )

    query: Annotated[str, StringConstraints(min_length=1, max_length=QUERY_LENGTH)] = Field(
        description="Natural language search query"
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="Number of results to return")
    mode: Annotated[Mode, Field(strict=False)] = Field(
        default=Mode.DENSE, description="How to search: dense, hybrid or lexical"
    )

    @field_validator("query")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("it cannot be empty")
        return value

    def to_query(self, collection: str) -> Query:
        return Query(text=self.query, top_k=self.top_k, mode=self.mode, collection=collection)


class SearchResult(BaseModel):
    chunk_id: str = Field(description="Unique chunk identifier")
    snippet: str = Field(description="Text content of the chunk")
    source_path: str = Field(description="Source file path")
    slug: str = Field(description="URL-friendly identifier")
    title: str | None = Field(default=None, description="Document title")
    score: float = Field(ge=0, le=1, description="Relevance score (0-1)")


class SearchResponse(BaseModel):
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
    """`qdrant` and `postgres` speak for the engine and the catalog that stand in for them."""

    status: Literal["ok", "degraded", "error"]
    qdrant: bool
    postgres: bool

    @classmethod
    def of(cls, *, index: bool, catalog: bool) -> "HealthResponse":
        status: Literal["ok", "degraded", "error"] = "error"
        if index:
            status = "ok" if catalog else "degraded"
        return cls(status=status, qdrant=index, postgres=catalog)


class ErrorResponse(BaseModel):
    error: str = Field(description="Error type identifier")
    message: str = Field(description="Human-readable error message")
