"""BM25 weights for the lexical leg; the index itself supplies the inverse document frequency."""

import math

from surefind.model import Terms

SATURATION = 1.2
LENGTH_SHARE = 0.75
_GRID = 1.1


def passage_weights(counts: Terms, mean_terms: float) -> Terms:
    """What a passage is stored with: counts that saturate, and weigh less in a long passage."""
    length = sum(counts.weights)
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean_terms)
    return Terms(
        counts.ids,
        tuple(count * (SATURATION + 1) / (count + norm) for count in counts.weights),
    )


def mean_on_grid(total_terms: int, chunks: int) -> float:
    """The collection's mean length, on a grid of 10 % steps.

    Every stored weight depends on the mean. On the grid it stays put while a collection changes a
    little, so a small edit rewrites only what it touched; and it depends on the content alone, so
    that many small edits and one fresh build store the same weights.
    """
    if total_terms <= chunks:
        return 1.0
    steps = round(math.log(total_terms / chunks, _GRID))
    return round(_GRID**steps, 4)
