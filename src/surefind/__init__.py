"""surefind finds the passages an answer needs, and proves that it does."""

from surefind.contracts.layer import QueryEmbedding
from surefind.contracts.validation import RetrievalQuery, RetrievalResult, ValidationReport
from surefind.errors import (
    AddressInUse,
    EmbeddingError,
    FormatTooNew,
    GuardStopped,
    InputError,
    StoreBusy,
    StoreError,
    SurefindError,
    UnknownChunk,
    UnknownCollection,
    UnknownDocument,
    UnknownGeneration,
)
from surefind.interfaces.library import AsyncSurefind, Surefind, aopen, open  # noqa: A004
from surefind.interfaces.standing import generate_query_embedding, retrieve_content_chunks
from surefind.model import (
    Chunk,
    ChunkRecord,
    Document,
    Hit,
    IngestReport,
    Manifest,
    Mode,
    Query,
    SearchResult,
    Status,
    Timings,
)

__all__ = [
    "AddressInUse",
    "AsyncSurefind",
    "Chunk",
    "ChunkRecord",
    "Document",
    "EmbeddingError",
    "FormatTooNew",
    "GuardStopped",
    "Hit",
    "IngestReport",
    "InputError",
    "Manifest",
    "Mode",
    "Query",
    "QueryEmbedding",
    "RetrievalQuery",
    "RetrievalResult",
    "SearchResult",
    "Status",
    "StoreBusy",
    "StoreError",
    "Surefind",
    "SurefindError",
    "Timings",
    "UnknownChunk",
    "UnknownCollection",
    "UnknownDocument",
    "UnknownGeneration",
    "ValidationReport",
    "aopen",
    "generate_query_embedding",
    "open",
    "retrieve_content_chunks",
]
