"""What every index of points goes by, be the engine embedded or in a server."""

from uuid import UUID

import numpy as np

from surefind.errors import StoreError
from surefind.model import Ranking
from surefind.ports import DenseProbe, TermProbe, Vector

DENSE, LEXICAL = "dense", "terms"
"""The names of a point's two vectors."""


def check_vector(vector: Vector, dimensions: int, chunk_id: str) -> None:
    """The engine stores NaN without a word and never finds it again."""
    if vector.shape != (dimensions,):
        raise StoreError(
            f"the vector of {chunk_id} has {vector.shape} numbers, the index takes {dimensions}"
        )
    if not np.isfinite(vector).all():
        raise StoreError(f"the vector of {chunk_id} holds a number that is not finite")


def finds_nothing(probe: DenseProbe | TermProbe) -> bool:
    """What the engine would refuse: no terms (all were stop words), nobody to choose among."""
    return not probe.limit or (isinstance(probe, TermProbe) and not probe.terms.ids)


def ranked(points: list[int], scores: list[float]) -> Ranking:
    """The engine's own order, but for ties, which it leaves to chance."""
    if len(set(scores)) == len(scores):
        return Ranking(points, scores)
    rows = sorted(range(len(points)), key=points.__getitem__)
    rows.sort(key=scores.__getitem__, reverse=True)  # which leaves equals in the order they have
    return Ranking([points[row] for row in rows], [scores[row] for row in rows])


def point_uuid(point_id: object) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))
