"""Search with a vector that the caller already has: the nearest passages by cosine."""

from collections.abc import Sequence

import numpy as np

from surefind.errors import InputError
from surefind.model import ChunkRecord, EmbedderFingerprint, Hit, LegScore
from surefind.ports import DenseQuery, Vector
from surefind.services.generations.readers import CollectionReader
from surefind.services.search.depth import depth_for
from surefind.services.search.search import MAX_TOP_K


class VectorSearcher:
    """It needs no embedder: the generation's manifest says what its vectors are."""

    def __init__(self, reader: CollectionReader) -> None:
        self._reader = reader

    async def embedder(self) -> EmbedderFingerprint:
        """What made the vectors of the generation that is current now."""
        async with self._reader.lease() as generation:
            return generation.manifest.embedder

    async def search_vector(self, vector: Sequence[float], top_k: int) -> tuple[Hit, ...]:
        """As a dense search ranks them. Any length of the vector will do: the cosine has none."""
        if isinstance(top_k, bool) or not 1 <= top_k <= MAX_TOP_K:
            raise InputError(f"top_k: it is {top_k}, it must be from 1 to {MAX_TOP_K}")
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


def _unit(values: Sequence[float], made_by: EmbedderFingerprint) -> Vector:
    """Of length 1, by way of 64 bits and the largest number, so that nothing can overflow."""
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (made_by.dimensions,):
        raise InputError(
            f"vector: it has {vector.size} numbers, those of {made_by.model} have "
            f"{made_by.dimensions}"
        )
    if not np.isfinite(vector).all() or not vector.any():
        raise InputError("vector: its numbers must be finite, and not all of them zero")
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
