"""The search of the retrieval implementation: `POST /api/v1/search`."""

from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Literal, Self
from uuid import UUID, uuid4, uuid5

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.config import JsonDict

from surefind import model
from surefind.contracts.answer import Assumed, Flaws, NotBlank, Url
from surefind.contracts.hits import assumed_of, flaws_of, similarity
from surefind.contracts.request import (
    Fraction,
    Identifier,
    Moment,
    SearchMode,
    StrictRequest,
    Words,
    add_other_name,
    without_cosine,
)
from surefind.errors import InputError
from surefind.model import POINT_NAMESPACE, Mode, Query, Status

QUERY_LENGTHS = (10, 500)
TOP_K = 100
_PAGE_KINDS = {
    ".md": "markdown-page",
    ".markdown": "markdown-page",
    ".mdx": "mdx-page",
    ".html": "html-page",
    ".htm": "html-page",
    ".rst": "restructuredtext-page",
    ".txt": "text-page",
    ".ipynb": "notebook-page",
    ".adoc": "asciidoc-page",
    ".asciidoc": "asciidoc-page",
    ".pdf": "pdf-page",
    ".docx": "docx-page",
    ".json": "openapi-page",
    ".yaml": "openapi-page",
    ".yml": "openapi-page",
}

_CHUNK: JsonDict = {
    "content": "## Power\n\nPlug the cable into a socket of 230 volts.",
    "similarity_score": 0.71,
    "chunk_id": "install-power-irl42352eb-0",
    "metadata": {
        "url": "https://docs.example.com/guide/install",
        "section": "Power",
        "document_id": "docs/guide/install.md",
    },
    "position": 1,
}


_QUERY: JsonDict = {
    "query_text": "Which voltage does it need?",
    "top_k": 5,
    "similarity_threshold": 0.5,
}


def _describe_query(schema: JsonDict) -> None:
    """Rules across fields: the alternative name, and no threshold in lexical mode."""
    add_other_name(schema, "query_text", "query")
    schema |= {"examples": [_QUERY], **without_cosine("similarity_threshold", required=True)}


class SearchQuery(StrictRequest):
    """A question, as `query_text` or as `query`. `mode` is a surefind extension."""

    model_config = ConfigDict(json_schema_extra=_describe_query)

    query_text: Words = Field(
        min_length=QUERY_LENGTHS[0],
        max_length=QUERY_LENGTHS[1],
        validation_alias=AliasChoices("query_text", "query"),
        description="The text to search for; `query` is also accepted",
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="Number of results to retrieve")
    similarity_threshold: Fraction = Field(
        default=0.5, description="Minimum similarity score for inclusion"
    )
    query_id: Identifier = Field(
        default_factory=lambda: str(uuid4()),
        description="Identifier of the query, echoed in the response; generated if omitted",
    )
    created_at: Moment | None = Field(
        default=None, description="When the query was created; echoed in the response"
    )
    mode: SearchMode = Mode.DENSE

    def to_query(self, collection: str) -> Query:
        if self.mode is Mode.LEXICAL and self.similarity_threshold > 0:
            raise InputError(
                "similarity_threshold: lexical mode has no cosine similarity; send 0, or "
                "use mode dense or hybrid"
            )
        return Query(
            text=self.query_text,
            top_k=self.top_k,
            threshold=self.similarity_threshold,
            mode=self.mode,
            collection=collection,
        )


class ChunkMetadata(BaseModel):
    url: Url = Field(description="Source URL of the original document")
    section: str = Field(description="Section or heading in the original document")
    document_id: NotBlank = Field(description="Identifier of the source document")


class FlawedChunkMetadata(ChunkMetadata):
    """Metadata without a valid URL; the chunk's `flaws` name the problem."""

    url: str = Field(description="Source URL of the original document; empty if unknown")


class SourcedChunk(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_CHUNK]})

    content: NotBlank = Field(description="The text of the chunk")
    similarity_score: float = Field(ge=0, le=1, description="Semantic relevance to the query")
    chunk_id: NotBlank = Field(description="Identifier of the chunk")
    metadata: ChunkMetadata
    position: int = Field(ge=0, description="Position of the chunk in its document, from 0")
    assumed: Assumed = []

    @classmethod
    def of(cls, hit: model.Hit) -> "SourcedChunk | FlawedSourcedChunk":
        record = hit.record
        flaws = flaws_of(record)
        place = {
            "url": record.url,
            "section": record.section,
            "document_id": record.chunk.source_path,
        }
        values: dict[str, Any] = {
            "content": record.chunk.text,
            "similarity_score": similarity(hit),
            "chunk_id": record.chunk.id,
            "position": record.chunk.position,
            "assumed": assumed_of(record, position="position", source_path="metadata.document_id"),
        }
        if flaws:
            return FlawedSourcedChunk(**values, metadata=FlawedChunkMetadata(**place), flaws=flaws)
        return SourcedChunk(**values, metadata=ChunkMetadata(**place))


class FlawedSourcedChunk(SourcedChunk):
    """A chunk of a connected collection that violates the contract; `flaws` says how."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_CHUNK, "content": "", "flaws": ["text is missing"]}]}
    )

    content: str = Field(description="The text of the chunk; empty if missing")
    metadata: FlawedChunkMetadata
    flaws: Flaws


class SearchParams(BaseModel):
    top_k: int = Field(ge=1, le=TOP_K, description="Number of results requested")
    similarity_threshold: float = Field(
        ge=0, le=1, description="The minimum similarity that applied"
    )


class SearchQueryResponse(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query_id": "0b7f3c52-6a3f-4a55-9d0a-2f7f4f6b2b11",
                    "results": [_CHUNK],
                    "total_results": 1,
                    "query_time_ms": 6.9,
                    "search_params": {"top_k": 5, "similarity_threshold": 0.5},
                    "status": "success",
                }
            ]
        }
    )

    query_id: NotBlank = Field(description="Identifier of the query, as sent or generated")
    results: list[SourcedChunk | FlawedSourcedChunk] = Field(description="Results, best first")
    total_results: int = Field(ge=0, description="Number of results returned")
    query_time_ms: float = Field(ge=0, description="Duration of the query in milliseconds")
    search_params: SearchParams
    status: Literal["success", "partial", "no_results"] = Field(
        description="partial: some results have flaws, or the catalog is unavailable"
    )
    created_at: datetime | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="When the query was created; absent if the request omitted it",
    )

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if self.total_results != len(self.results):
            raise ValueError("total_results must match the number of results")
        return self

    @classmethod
    def of(cls, result: model.SearchResult, request: SearchQuery) -> "SearchQueryResponse":
        return cls(
            query_id=request.query_id,
            created_at=request.created_at,
            results=[SourcedChunk.of(hit) for hit in result.hits],
            total_results=len(result.hits),
            query_time_ms=round(result.timings.total_ms, 3),
            search_params=SearchParams(
                top_k=result.query.top_k, similarity_threshold=result.query.threshold
            ),
            status=_status(result),
        )


def _status(result: model.SearchResult) -> Literal["success", "partial", "no_results"]:
    if not result.hits:
        return "no_results"
    whole = not any(flaws_of(hit.record) for hit in result.hits)
    return "success" if whole and result.status is Status.SUCCESS else "partial"


# --- metadata and similarity of one chunk -----------------------------------------------------


class MetadataPackage(BaseModel):
    url: Url = Field(description="Source URL of the original document")
    section: str = Field(description="Section or heading in the original document")
    chunk_id: NotBlank = Field(description="Identifier of the chunk")
    document_id: NotBlank = Field(description="Identifier of the source document")
    document_title: str = Field(description="Title of the source document")
    source_type: NotBlank = Field(description="The type of the document, for example markdown-page")

    @classmethod
    def of(cls, record: model.ChunkRecord) -> "MetadataPackage | FlawedMetadataPackage":
        source_path = record.chunk.source_path
        suffix = PurePosixPath(source_path).suffix.lower()
        values: dict[str, Any] = {
            "url": record.url,
            "section": record.section,
            "chunk_id": record.chunk.id,
            "document_id": source_path,
            "document_title": record.title,
            "source_type": _PAGE_KINDS.get(suffix, "web-page"),
        }
        flaws = flaws_of(record)
        return FlawedMetadataPackage(**values, flaws=flaws) if flaws else MetadataPackage(**values)


class FlawedMetadataPackage(MetadataPackage):
    """Metadata of a connected collection's chunk that violates the contract."""

    url: str = Field(description="Source URL of the original document; empty if unknown")
    flaws: Flaws


class SimilarityScore(BaseModel):
    """Equal embeddings have equal ids."""

    score: float = Field(ge=0, le=1)
    algorithm: Literal["cosine-similarity"] = "cosine-similarity"
    query_embedding_id: UUID
    result_embedding_id: UUID

    @classmethod
    def of(cls, hit: model.Hit, query: Query, embedding_model: str) -> "SimilarityScore | None":
        """None in lexical mode, which embeds nothing."""
        if hit.similarity is None:
            return None
        return cls(
            score=hit.similarity,
            query_embedding_id=uuid5(POINT_NAMESPACE, f"{embedding_model}\n{query.text}"),
            result_embedding_id=hit.record.point_id,
        )
