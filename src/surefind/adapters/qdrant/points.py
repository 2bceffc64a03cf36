"""Rules shared by the embedded engine and the server."""

from uuid import UUID

import numpy as np

from surefind.errors import StoreError
from surefind.model import Ranking
from surefind.ports import DenseQuery, SparseQuery, Vector

DENSE, LEXICAL = "dense", "terms"
"""The names of a point's two vectors."""

_TIES_UP = 1 + 2**-30  # a float32 that lies between two rounded scores becomes the upper one
_SPLIT = (1 + 2**38) * _TIES_UP  # leaves 15 of a float32's 24 bits


def check_vector(vector: Vector, dimensions: int, chunk_id: str) -> None:
    """Check a vector, because the engine stores NaN silently and never finds it again."""
    if vector.shape != (dimensions,):
        raise StoreError(
            f"the vector of {chunk_id} has {vector.shape} numbers instead of {dimensions}"
        )
    if not np.isfinite(vector).all():
        raise StoreError(f"the vector of {chunk_id} contains a number that is not finite")


def finds_nothing(query: DenseQuery | SparseQuery) -> bool:
    """Queries that the engine would reject: no terms (only stop words) or an empty restriction."""
    return not query.limit or (isinstance(query, SparseQuery) and not query.terms.ids)


def reproducible(scores: list[float]) -> list[float]:
    """Round BM25 scores so that equal content gets equal scores in every build.

    The engine sums the terms of a passage in 32 bits, in an order that depends on how the index was
    filled. The last digits differ between builds and would decide ties, so 15 of 24 bits are kept,
    by Veltkamp's splitting. For fifty scores, numpy takes three times as long.
    """
    return [(product := score * _SPLIT) - (product - score * _TIES_UP) for score in scores]


def received(scores: list[float]) -> list[float]:
    """The engine's scores, without the digits that a server's JSON may add or lose."""
    single: list[float] = np.asarray(scores, dtype=np.float32).tolist()
    return single


def ranked(points: list[int], scores: list[float]) -> Ranking:
    """The engine's order, with ties sorted by number: the engine orders them randomly."""
    if len(set(scores)) == len(scores):
        return Ranking(points, scores)
    rows = sorted(range(len(points)), key=points.__getitem__)
    rows.sort(key=scores.__getitem__, reverse=True)  # stable: keeps the order of ties
    return Ranking([points[row] for row in rows], [scores[row] for row in rows])


def point_uuid(point_id: object) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))
