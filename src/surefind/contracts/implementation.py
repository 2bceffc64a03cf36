"""The shapes of the retrieval implementation's search: `POST /api/v1/search`."""

from pathlib import PurePosixPath
from typing import Literal
from uuid import UUID, uuid4, uuid5

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from surefind import model
from surefind.contracts.request import Fraction, SearchMode, StrictRequest, Words
from surefind.contracts.scores import similarity
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


class SearchQuery(StrictRequest):
    """A question, as `query_text` or as `query`. `mode` is surefind's own."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query_text": "Which voltage does it need?",
                    "top_k": 5,
                    "similarity_threshold": 0.5,
                }
            ]
        }
    )

    query_text: Words = Field(
        min_length=QUERY_LENGTHS[0],
        max_length=QUERY_LENGTHS[1],
        validation_alias=AliasChoices("query_text", "query"),
        description="The text to search for; `query` is taken too",
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="Number of results to retrieve")
    similarity_threshold: Fraction = Field(
        default=0.5, description="Minimum similarity score for inclusion"
    )
    mode: SearchMode = Mode.DENSE

    def to_query(self, collection: str) -> Query:
        if self.mode is Mode.LEXICAL and self.similarity_threshold > 0:
            raise InputError(
                "similarity_threshold: it is a cosine, which lexical mode has none of; send 0, or "
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
    url: str = Field(description="Source URL of the original document")
    section: str = Field(description="Section or heading in the original document")
    document_id: str = Field(description="Identifier of the source document")


class SourcedChunk(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_CHUNK]})

    content: str = Field(min_length=1, description="The text of the chunk")
    similarity_score: float = Field(ge=0, le=1, description="Semantic relevance to the query")
    chunk_id: str = Field(min_length=1, description="Identifier of the chunk")
    metadata: ChunkMetadata
    position: int = Field(ge=0, description="Place of the chunk in its document, from 0")

    @classmethod
    def of(cls, hit: model.Hit) -> "SourcedChunk":
        record = hit.record
        return cls(
            content=record.chunk.text,
            similarity_score=similarity(hit),
            chunk_id=record.chunk.id,
            metadata=ChunkMetadata(
                url=record.url, section=record.section, document_id=record.chunk.source_path
            ),
            position=record.chunk.position,
        )


class SearchParams(BaseModel):
    top_k: int = Field(description="Number of results requested")
    similarity_threshold: float = Field(description="Minimum similarity that was used")


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

    query_id: str = Field(description="Identifier of the query, made for it")
    results: list[SourcedChunk] = Field(description="Results, best first")
    total_results: int = Field(ge=0, description="Number of results returned")
    query_time_ms: float = Field(ge=0, description="Milliseconds that the query took")
    search_params: SearchParams
    status: Literal["success", "partial", "no_results"] = Field(
        description="partial: some results lack their metadata, or the catalog was away"
    )

    @classmethod
    def of(cls, result: model.SearchResult) -> "SearchQueryResponse":
        return cls(
            query_id=str(uuid4()),
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
    whole = all(hit.record.url for hit in result.hits)
    return "success" if whole and result.status is Status.SUCCESS else "partial"


# --- what is known of one found chunk ---------------------------------------------------------


class MetadataPackage(BaseModel):
    url: str = Field(description="Source URL of the original document")
    section: str = Field(description="Section or heading in the original document")
    chunk_id: str = Field(min_length=1, description="Identifier of the chunk")
    document_id: str = Field(min_length=1, description="Identifier of the source document")
    document_title: str = Field(description="Title of the source document")
    source_type: str = Field(description="What the document is, for example markdown-page")

    @classmethod
    def of(cls, record: model.ChunkRecord) -> "MetadataPackage":
        source_path = record.chunk.source_path
        suffix = PurePosixPath(source_path).suffix.lower()
        return cls(
            url=record.url,
            section=record.section,
            chunk_id=record.chunk.id,
            document_id=source_path,
            document_title=record.title,
            source_type=_PAGE_KINDS.get(suffix, "web-page"),
        )


class SimilarityScore(BaseModel):
    """Both ids are made from what they name, so that equal embeddings have equal ids."""

    score: float = Field(ge=0, le=1)
    algorithm: Literal["cosine-similarity"] = "cosine-similarity"
    query_embedding_id: UUID
    result_embedding_id: UUID

    @classmethod
    def of(cls, hit: model.Hit, query: Query, embedding_model: str) -> "SimilarityScore | None":
        """None where nothing was embedded: the words' score is no similarity."""
        if hit.similarity is None:
            return None
        return cls(
            score=hit.similarity,
            query_embedding_id=uuid5(POINT_NAMESPACE, f"{embedding_model}\n{query.text}"),
            result_embedding_id=hit.record.point_id,
        )
