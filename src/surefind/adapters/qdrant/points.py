"""What every index of points goes by, be the engine embedded or in a server."""

from uuid import UUID

import numpy as np

from surefind.errors import StoreError
from surefind.model import Ranking
from surefind.ports import DenseQuery, SparseQuery, Vector

DENSE, LEXICAL = "dense", "terms"
"""The names of a point's two vectors."""


_HALF_STEP = 2**8  # of a float32's 24 bits, 15 are kept


def check_vector(vector: Vector, dimensions: int, chunk_id: str) -> None:
    """The engine stores NaN without a word and never finds it again."""
    if vector.shape != (dimensions,):
        raise StoreError(
            f"the vector of {chunk_id} has {vector.shape} numbers, the index takes {dimensions}"
        )
    if not np.isfinite(vector).all():
        raise StoreError(f"the vector of {chunk_id} holds a number that is not finite")


def finds_nothing(query: DenseQuery | SparseQuery) -> bool:
    """What the engine would refuse: no terms (all were stop words), nobody to choose among."""
    return not query.limit or (isinstance(query, SparseQuery) and not query.terms.ids)


def reproducible(scores: list[float]) -> list[float]:
    """BM25 scores that equal content gets from every build.

    The engine adds up a passage's terms in 32 bits, in an order that depends on how the index was
    filled. The last digits differ between builds and would decide ties, so they are rounded off.
    """
    bits = np.asarray(scores, dtype=np.float32).view(np.int32)
    rounded: list[float] = ((bits + _HALF_STEP) & -2 * _HALF_STEP).view(np.float32).tolist()
    return rounded


def ranked(points: list[int], scores: list[float]) -> Ranking:
    """The engine's own order, but for ties, which it leaves to chance."""
    if len(set(scores)) == len(scores):
        return Ranking(points, scores)
    rows = sorted(range(len(points)), key=points.__getitem__)
    rows.sort(key=scores.__getitem__, reverse=True)  # which leaves equals in the order they have
    return Ranking([points[row] for row in rows], [scores[row] for row in rows])


def point_uuid(point_id: object) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))
