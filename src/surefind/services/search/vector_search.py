"""Searches with a given vector: the nearest passages by cosine."""

from collections.abc import Sequence

import numpy as np

from surefind.errors import InputError
from surefind.model import ChunkRecord, EmbedderFingerprint, Hit, LegScore
from surefind.ports import DenseQuery, Vector
from surefind.services.generations.readers import CollectionReader
from surefind.services.search.query_checks import MAX_TOP_K
from surefind.services.search.ranking.depth import depth_for


class VectorSearcher:
    """Needs no embedder; the manifest describes the vectors."""

    def __init__(self, reader: CollectionReader) -> None:
        self._reader = reader

    async def embedder(self) -> EmbedderFingerprint:
        """The embedder that made the vectors of the current generation."""
        async with self._reader.lease() as generation:
            return generation.manifest.embedder

    async def search_vector(self, vector: Sequence[float], top_k: int) -> tuple[Hit, ...]:
        """The nearest passages, ranked as in dense mode. The vector need not be normalized."""
        if isinstance(top_k, bool) or not 1 <= top_k <= MAX_TOP_K:
            raise InputError(f"top_k must be a whole number from 1 to {MAX_TOP_K}, not {top_k}")
        async with self._reader.lease() as generation:
            query = DenseQuery(_unit(vector, generation.manifest.embedder), depth_for(top_k))
            [ranking] = await generation.index.search([query])
            points = ranking.points[:top_k]
            records, _ = await generation.numbered(points)
        cosines = ranking.scores if ranking.cosines is None else ranking.cosines
        return tuple(
            _hit(rank, cosine, record)
            for rank, (record, cosine) in enumerate(
                zip(records, cosines[:top_k], strict=True), start=1
            )
        )


def _unit(values: Sequence[float], embedder: EmbedderFingerprint) -> Vector:
    """The vector with length 1, computed in 64 bits and prescaled, so that nothing overflows."""
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (embedder.dimensions,):
        raise InputError(
            f"vector has {vector.size} numbers, but {embedder.model} makes vectors of "
            f"{embedder.dimensions}; embed the query with that model"
        )
    if not np.isfinite(vector).all() or not vector.any():
        raise InputError("vector must have finite numbers that are not all zero")
    vector /= np.abs(vector).max()
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def _hit(rank: int, cosine: float, record: ChunkRecord) -> Hit:
    similarity = min(1.0, max(0.0, cosine))
    return Hit(
        rank=rank,
        score=similarity,
        similarity=similarity,
        dense=LegScore(cosine, rank, similarity),
        lexical=None,
        record=record,
    )
