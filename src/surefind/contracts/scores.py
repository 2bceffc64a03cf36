"""The one number that four of the published shapes call a similarity."""

from surefind.model import Hit


def similarity(hit: Hit) -> float:
    """The cosine in 0..1; where nothing was embedded, the score of the order stands in for it."""
    return hit.score if hit.similarity is None else hit.similarity
