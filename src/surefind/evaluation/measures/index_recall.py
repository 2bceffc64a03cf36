"""Recall of the approximate index, measured against exact search.

A point that ties with the last exact result counts as found, since ties have no right order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surefind.evaluation.statistics.significance import bootstrap_interval, wilson_interval
from surefind.model import Ranking

WORST = 5
_TIE = 1e-6
_STRICT: Any = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class QueryRecall:
    __pydantic_config__ = _STRICT

    test_id: str
    query_text: str
    recall: float


@dataclass(frozen=True, slots=True)
class RecallUnder:
    """The mean recall under one filter, with its 95 % interval; `condition` may be empty.

    `share` is the fraction of chunks that match; None if each test has its own filter.
    """

    __pydantic_config__ = _STRICT

    condition: str
    share: float | None
    queries: int
    recall: float
    low: float
    high: float
    worst: tuple[QueryRecall, ...]


@dataclass(frozen=True, slots=True)
class IndexRecall:
    """`exercised` is false if no vectors are indexed, so that every search is a full scan.

    Searches request `depth` results from the index; recall counts the first `k`.
    """

    __pydantic_config__ = _STRICT

    k: int
    depth: int
    points: int
    indexed: int
    exercised: bool
    under: tuple[RecallUnder, ...] = ()

    @property
    def lowest(self) -> float | None:
        """The lowest mean: 1 if every search is exact, None if no query ran."""
        if not self.exercised:
            return 1.0
        return min((one.recall for one in self.under), default=None)


def recall_at(k: int, exact: Ranking, found: Ranking) -> float | None:
    """The recall of one query; None if there is nothing to find."""
    best = exact.scores[:k]
    if not best:
        return None
    least = best[-1] - _TIE
    return min(len(best), sum(score >= least for score in found.scores[:k])) / len(best)


def recall_under(
    condition: str, share: float | None, queries: Sequence[QueryRecall]
) -> RecallUnder:
    recalls = [one.recall for one in queries]
    low, high = bootstrap_interval(recalls)
    if recalls and min(recalls) == 1.0:
        # A perfect mean over a few queries has no spread, but does not prove perfect recall.
        low = wilson_interval(len(recalls), len(recalls))[0]
    lossy = sorted((one for one in queries if one.recall < 1.0), key=lambda one: one.recall)
    return RecallUnder(
        condition=condition,
        share=share,
        queries=len(queries),
        recall=sum(recalls) / len(recalls) if recalls else 0.0,
        low=max(0.0, low),
        high=min(1.0, high),
        worst=tuple(lossy[:WORST]),
    )
