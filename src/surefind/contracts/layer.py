"""The shapes of the retrieval layer: the embedding of a query, and the chunks found by it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from surefind.contracts import rules
from surefind.contracts.hits import flaws_of, similarity
from surefind.errors import InputError, StoreError
from surefind.model import EmbedderFingerprint, Hit
from surefind.model.strings import check_string

QUERY_LENGTH = 1000
DEFAULT_MODEL = "embed-english-v3.0"
_KNOWN_DIMENSIONS = {DEFAULT_MODEL: 1024}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryEmbedding:
    """A query's vector, of exactly the size that its model gives."""

    vector: list[float]
    query_text: str
    model: str = DEFAULT_MODEL

    def __post_init__(self) -> None:
        rules.text("query_text", self.query_text, QUERY_LENGTH)
        rules.text("model", self.model)
        # Frozen, so that what was checked stays: the vector is a list of our own.
        object.__setattr__(self, "vector", _numbers("vector", self.vector))
        _check_size("vector", self.vector, _KNOWN_DIMENSIONS.get(self.model), self.model)


@dataclass(frozen=True)
class RetrievalResult:
    """One content chunk, with where it came from and how near it is."""

    text: str
    source_url: str
    relevance_score: float
    chunk_id: str
    position: int = 0
    title: str = ""

    def __post_init__(self) -> None:
        rules.text("text", self.text)
        rules.url("source_url", self.source_url)
        score = rules.fraction("relevance_score", self.relevance_score)
        rules.text("chunk_id", self.chunk_id)
        position = rules.whole("position", self.position, low=0)
        object.__setattr__(self, "relevance_score", score)  # NumPy's numbers become Python's
        object.__setattr__(self, "position", position)
        rules.optional_text("title", self.title)

    @classmethod
    def of(cls, hit: Hit) -> RetrievalResult:
        record = hit.record
        return cls(
            text=record.chunk.text,
            source_url=record.url,
            relevance_score=similarity(hit),
            chunk_id=record.chunk.id,
            position=record.chunk.position,
            title=record.title,
        )


def results_of(hits: Sequence[Hit]) -> list[RetrievalResult]:
    """Stored chunks without a text or a valid URL are left out and logged.

    StoreError if that leaves nothing: an empty list would say that nothing was found.
    """
    results: list[RetrievalResult] = []
    left_out = ""
    for hit in hits:
        try:
            results.append(RetrievalResult.of(hit))
        except InputError:
            left_out = (
                f"the stored chunk {hit.record.chunk.id!r}: {'; '.join(flaws_of(hit.record))}"
            )
            _log.warning("left out %s", left_out)
    if hits and not results:
        raise StoreError(
            f"none of the {len(hits)} chunks found has a text and an absolute URL, for example "
            f"{left_out}; `surefind audit` checks the whole collection"
        )
    return results


Embedding: TypeAlias = QueryEmbedding | Iterable[float]


def check_query(query: str) -> str:
    return check_string("query", rules.text("query", query, QUERY_LENGTH))


def check_limit(limit: int, most: int) -> int:
    return rules.whole("limit", limit, 1, most)


def vector_for(embedding: Embedding, made_by: EmbedderFingerprint) -> list[float]:
    """The vector, where it can be compared with those that `made_by` has made."""
    if not isinstance(embedding, QueryEmbedding):
        vector = _numbers("query_embedding", embedding)
        _check_size("query_embedding", vector, made_by.dimensions, made_by.model)
        return vector
    if embedding.model != made_by.model:
        # Vectors of two models have nothing to say to each other, also when their sizes agree.
        raise InputError(
            f"query_embedding was made with {embedding.model}, the collection with "
            f"{made_by.model}; embed the query with the collection's model"
        )
    _check_size("query_embedding", embedding.vector, made_by.dimensions, made_by.model)
    return embedding.vector


def _check_size(name: str, vector: list[float], dimensions: int | None, model: str) -> None:
    if dimensions is not None and len(vector) != dimensions:
        raise InputError(
            f"{name} must have {dimensions} numbers, as {model} gives, got {len(vector)}"
        )


def _numbers(name: str, values: object) -> list[float]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of numbers")
    vector = [rules.number(name, value) for value in values]
    if not any(vector):
        raise InputError(f"{name} must hold a number other than zero")
    return vector
