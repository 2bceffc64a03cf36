"""The retrieval layer: query embeddings and the chunks that they find."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
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
_MORE = 4
"""How many times as many chunks are searched where some have to be left out."""
_MOST_LOGGED = 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryEmbedding:
    """A query's vector, checked against the dimensions of its model."""

    vector: list[float]
    query_text: str
    model: str = DEFAULT_MODEL

    def __post_init__(self) -> None:
        rules.text("query_text", self.query_text, QUERY_LENGTH)
        rules.text("model", self.model)
        # The dataclass is frozen and the list a copy, so a checked vector stays valid.
        object.__setattr__(self, "vector", _numbers("vector", self.vector))
        _check_size("vector", self.vector, _KNOWN_DIMENSIONS.get(self.model), self.model)


@dataclass(frozen=True)
class RetrievalResult:
    """One chunk with its source and its similarity to the query."""

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
        object.__setattr__(self, "relevance_score", score)  # converts NumPy numbers
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


async def nearest_chunks(
    search: Callable[[int], Awaitable[Sequence[Hit]]], limit: int, most: int
) -> list[RetrievalResult]:
    """The nearest `limit` chunks that have a text and a valid URL; `search` gives the nearest n.

    The others are left out and logged. StoreError if that leaves nothing of up to `most` chunks:
    an empty list would say that nothing was found.
    """
    wanted = limit
    while True:
        hits = await search(wanted)
        results, left_out = _sorted_out(hits, limit)
        if len(results) == limit or len(hits) < wanted or wanted == most:
            break
        wanted = min(most, _MORE * wanted)
    if hits and not results:
        raise StoreError(
            f"none of the {len(hits)} chunks found has a text and an absolute URL, for example "
            f"{left_out[0]}; `surefind audit` checks the whole collection"
        )
    for chunk in left_out[:_MOST_LOGGED]:
        _log.warning("left out %s", chunk)
    if len(left_out) > _MOST_LOGGED:
        _log.warning("left out %d more stored chunks", len(left_out) - _MOST_LOGGED)
    return results


def _sorted_out(hits: Sequence[Hit], limit: int) -> tuple[list[RetrievalResult], list[str]]:
    """(at most `limit` results, what is wrong with the chunks left out before the last of them)."""
    results: list[RetrievalResult] = []
    left_out: list[str] = []
    for hit in hits:
        if len(results) == limit:
            break
        try:
            results.append(RetrievalResult.of(hit))
        except InputError:
            flaws = "; ".join(flaws_of(hit.record))
            left_out.append(f"the stored chunk {hit.record.chunk.id!r}: {flaws}")
    return results, left_out


Embedding: TypeAlias = QueryEmbedding | Iterable[float]


def check_query(query: str) -> str:
    return check_string("query", rules.text("query", query, QUERY_LENGTH))


def check_limit(limit: int, most: int) -> int:
    return rules.whole("limit", limit, 1, most)


def vector_for(embedding: Embedding, model: EmbedderFingerprint) -> list[float]:
    """The vector, if it is comparable with the vectors of the collection's model."""
    if not isinstance(embedding, QueryEmbedding):
        vector = _numbers("query_embedding", embedding)
        _check_size("query_embedding", vector, model.dimensions, model.model)
        return vector
    if embedding.model != model.model:
        # Vectors of different models are not comparable, even if their sizes match.
        raise InputError(
            f"query_embedding was made with {embedding.model}, the collection with "
            f"{model.model}; embed the query with the collection's model"
        )
    _check_size("query_embedding", embedding.vector, model.dimensions, model.model)
    return embedding.vector


def _check_size(name: str, vector: list[float], dimensions: int | None, model: str) -> None:
    if dimensions is not None and len(vector) != dimensions:
        raise InputError(
            f"{name} must have {dimensions} numbers, the size of {model}, got {len(vector)}"
        )


def _numbers(name: str, values: object) -> list[float]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of numbers")
    vector = [rules.number(name, value) for value in values]
    if not any(vector):
        raise InputError(f"{name} must contain a number other than zero")
    return vector
