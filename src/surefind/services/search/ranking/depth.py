"""How deep each leg is searched, and where to cut a ranking with tied scores."""

from bisect import bisect_left
from collections.abc import Sequence

DEPTH = 50
"""Results are equally good from 30 to 200; see `make bench-fusion`."""

LONGEST_TIE = 500
"""Longer ties are never included, because they don't help to rank passages."""

_ENOUGH = 0.6
"""The share of the depth that is enough: 30 candidates give the same quality as 50."""


def depth_for(wanted: int) -> int:
    """The depth of each leg that yields at least `wanted` candidates: 50, 100, 200 …"""
    depth = DEPTH
    while depth < wanted:
        depth *= 2
    return depth


def cutoff(scores: Sequence[float], depth: int) -> int:
    """How many of a leg's scores, best first, belong to a search of this depth.

    Engines return tied points in arbitrary order, so a tie is never cut. A tie that continues
    beyond the depth is excluded. If that leaves too few, it is included as a whole, unless it is
    longer than LONGEST_TIE. `scores` must extend one beyond the depth, and to the end of an
    included tie.
    """
    if len(scores) <= depth or scores[depth - 1] > scores[depth]:
        return min(depth, len(scores))
    start = _tie_start(scores, depth)
    if start >= _ENOUGH * depth:
        return start
    longest = min(len(scores), start + LONGEST_TIE + 1)
    end = next((row for row in range(depth, longest) if scores[row] < scores[depth]), longest)
    return end if end - start <= LONGEST_TIE else start


def cutoffs(scores: Sequence[float]) -> list[int]:
    """The cutoffs of searches of depth 50, 100, 200 … and of the last one."""
    ends, depth = [], DEPTH
    while (end := cutoff(scores, depth)) < len(scores):
        ends.append(end)
        depth *= 2
    return [*ends, len(scores)]


def deeper_limit(scores: Sequence[float], depth: int) -> int:
    """The limit that reaches the end of a tie to include; 0 if `scores` already reach it."""
    if len(scores) <= depth or cutoff(scores, depth) < len(scores):
        return 0
    limit = _tie_start(scores, depth) + LONGEST_TIE + 1
    return limit if len(scores) < limit else 0


def _tie_start(scores: Sequence[float], row: int) -> int:
    """The first row with the same score as `row`."""
    return bisect_left(scores, -scores[row], key=lambda score: -score)
