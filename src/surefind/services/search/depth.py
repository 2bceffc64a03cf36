"""How deep each leg is searched, and where a search of that depth ends among tied scores."""

from bisect import bisect_left
from collections.abc import Sequence

DEPTH = 50
"""Results are equally good from 30 to 200; see `make bench-fusion`."""

LONGEST_TIE = 500
"""A longer tie is never taken whole: it does not help to tell passages apart."""

_ENOUGH = 0.6
"""The part of the depth that is enough: 30 candidates answer as well as 50."""


def depth_for(wanted: int) -> int:
    """The depth of each leg that yields at least `wanted` candidates: 50, 100, 200 …"""
    depth = DEPTH
    while depth < wanted:
        depth *= 2
    return depth


def look_end(scores: Sequence[float], depth: int) -> int:
    """How many of a leg's scores, best first, a look of this depth takes.

    Engines return tied points in an arbitrary order, so a tie is never cut. One that continues
    beyond the depth is left out; or taken whole, where leaving it out would leave too few, unless
    it is longer than LONGEST_TIE. `scores` must reach beyond the depth by one, and to the end of a
    tie that is taken.
    """
    if len(scores) <= depth or scores[depth - 1] > scores[depth]:
        return min(depth, len(scores))
    start = _tie_start(scores, depth)
    if start >= _ENOUGH * depth:
        return start
    longest = min(len(scores), start + LONGEST_TIE + 1)
    end = next((row for row in range(depth, longest) if scores[row] < scores[depth]), longest)
    return end if end - start <= LONGEST_TIE else start


def look_ends(scores: Sequence[float]) -> list[int]:
    """Where each look ends: those of depth 50, 100, 200 …, and the last one."""
    ends, depth = [], DEPTH
    while (end := look_end(scores, depth)) < len(scores):
        ends.append(end)
        depth *= 2
    return [*ends, len(scores)]


def deeper_limit(scores: Sequence[float], depth: int) -> int:
    """The limit that shows the end of a tie which may be taken; 0 if `scores` show it already."""
    if look_end(scores, depth) < len(scores) or len(scores) <= depth:
        return 0
    limit = _tie_start(scores, depth) + LONGEST_TIE + 1
    return limit if len(scores) < limit else 0


def _tie_start(scores: Sequence[float], row: int) -> int:
    """The first row with the same score as `row`."""
    return bisect_left(scores, -scores[row], key=lambda score: -score)
