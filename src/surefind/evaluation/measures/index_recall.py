"""How much of what an exact search finds the approximate index finds too.

Points that tie with the last one that counts may take its place: no order between them is right.
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
    """The mean over queries under one filter, with its 95 % interval; `condition` may be empty.

    `share` of the chunks meet it; None where each test had a filter of its own.
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
    """`exercised` is false where no vector is indexed: every search looks at all of them then.

    `k` results count of the `depth` that a search asks the index for.
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
        """Of the means; one where every search is exact, None where nothing could be asked."""
        if not self.exercised:
            return 1.0
        return min((one.recall for one in self.under), default=None)


def recall_at(k: int, exact: Ranking, found: Ranking) -> float | None:
    """None where there is nothing to find."""
    wanted = exact.scores[:k]
    if not wanted:
        return None
    least = wanted[-1] - _TIE
    return min(len(wanted), sum(score >= least for score in found.scores[:k])) / len(wanted)


def recall_under(condition: str, share: float | None, asked: Sequence[QueryRecall]) -> RecallUnder:
    recalls = [one.recall for one in asked]
    low, high = bootstrap_interval(recalls)
    if recalls and min(recalls) == 1.0:
        # All of a few were whole; that is no proof that all are.
        low = wilson_interval(len(recalls), len(recalls))[0]
    lossy = sorted((one for one in asked if one.recall < 1.0), key=lambda one: one.recall)
    return RecallUnder(
        condition=condition,
        share=share,
        queries=len(asked),
        recall=sum(recalls) / len(recalls) if recalls else 0.0,
        low=max(0.0, low),
        high=min(1.0, high),
        worst=tuple(lossy[:WORST]),
    )
