"""A threshold that tells questions with an answer from those without, and how often it errs.

It is chosen by its cost: the share of negatives that it accepts, weighed, and of positives that it
rejects. The rates told are not those on the tests that chose it, which flatter: each part of the
tests is judged by a threshold that the other parts chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pvariance
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefind.evaluation.statistics.significance import wilson_interval
from surefind.model import Rate

FOLDS = 10
_SEED = 20_260_102
_LEAST_SPREAD = 1e-3
_STRICT: Any = {"extra": "forbid"}
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Separation:
    """What the best similarities of positives and negatives say together.

    `similarity` and `slope` are None where the two can't be told apart; `message` says why then.
    `overlap` is the share of all of them that lie where both kinds do.
    """

    __pydantic_config__ = _STRICT

    positives: int
    negatives: int
    positive_mean: float
    negative_mean: float
    overlap: float
    false_accept_cost: float
    false_accepts: Rate
    false_rejects: Rate
    similarity: float | None = None
    slope: float | None = None
    message: str = ""


def separate(
    positives: Sequence[float], negatives: Sequence[float], false_accept_cost: float = 1.0
) -> Separation | None:
    """None where one kind is missing: then nobody has asked for a threshold."""
    if not positives or not negatives:
        return None
    good, bad = np.sort(np.asarray(positives, float)), np.sort(np.asarray(negatives, float))
    rejected, accepted = _cross_validated(good, bad, false_accept_cost)
    false_accepts, false_rejects = _rate(accepted, len(bad)), _rate(rejected, len(good))
    told = Separation(
        positives=len(good),
        negatives=len(bad),
        positive_mean=fmean(positives),
        negative_mean=fmean(negatives),
        overlap=_overlap(good, bad),
        false_accept_cost=false_accept_cost,
        false_accepts=false_accepts,
        false_rejects=false_rejects,
    )
    doubt = _doubt(told)
    if doubt:
        return replace(told, message=doubt)
    return replace(
        told, similarity=_best(good, bad, false_accept_cost), slope=_slope(positives, negatives)
    )


def _doubt(told: Separation) -> str:
    """A coin that accepts a share of all errs by one in sum: what may be as bad is no threshold."""
    if told.false_accepts.high + told.false_rejects.high < 1.0:
        return ""
    if told.false_accepts.value + told.false_rejects.value < 1.0 and not told.overlap:
        return (
            f"{told.positives} positives and {told.negatives} negatives are too few to say how "
            "often a threshold would err; add tests of both kinds"
        )
    return (
        f"positives and negatives can't be separated: {told.overlap:.0%} of them lie where both "
        f"kinds do (means {told.positive_mean:.3f} and {told.negative_mean:.3f})"
    )


def _best(good: Numbers, bad: Numbers, cost: float) -> float:
    """In the middle of the widest gap of those that cost least.

    `good` and `bad` are sorted; a question counts as answered from the threshold on.
    """
    values = np.unique(np.concatenate([good, bad]))
    edges = np.concatenate([[values[0] - 0.01], values, [values[-1] + 0.01]])
    middles = (edges[:-1] + edges[1:]) / 2
    rejected = np.searchsorted(good, middles, side="left") / len(good)
    accepted = 1 - np.searchsorted(bad, middles, side="left") / len(bad)
    costs = cost * accepted + rejected
    cheapest = np.flatnonzero(costs <= costs.min() + 1e-12)
    widths = (edges[1:] - edges[:-1])[cheapest]
    return float(np.clip(middles[cheapest[np.argmax(widths)]], 0.0, 1.0))


def _cross_validated(good: Numbers, bad: Numbers, cost: float) -> tuple[int, int]:
    """How many (positives, negatives) the thresholds of the others judge wrongly."""
    rejected = accepted = 0
    parts = zip(_parts(good), _parts(bad), strict=True)
    for (kept_good, out_good), (kept_bad, out_bad) in parts:
        if not len(kept_good) or not len(kept_bad):
            # One of a kind: without it there is no threshold to judge it by.
            rejected, accepted = rejected + len(out_good), accepted + len(out_bad)
            continue
        threshold = _best(kept_good, kept_bad, cost)
        rejected += int(np.count_nonzero(out_good < threshold))
        accepted += int(np.count_nonzero(out_bad >= threshold))
    return rejected, accepted


def _parts(values: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """(the others, one part) for each part; which is drawn from a fixed seed."""
    order = np.random.default_rng(_SEED).permutation(len(values))
    for fold in range(FOLDS):
        out = np.zeros(len(values), dtype=bool)
        out[order[fold::FOLDS]] = True
        yield values[~out], values[out]


def _slope(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Of a logistic curve between two bells of one width."""
    gap = max(_LEAST_SPREAD, fmean(positives) - fmean(negatives))
    spread = (pvariance(positives) + pvariance(negatives)) / 2
    return gap / max(spread, _LEAST_SPREAD**2)


def _overlap(good: Numbers, bad: Numbers) -> float:
    low, high = good[0], bad[-1]
    if low > high:
        return 0.0
    inside = np.count_nonzero(good <= high) + np.count_nonzero(bad >= low)
    return float(inside / (len(good) + len(bad)))


def _rate(count: int, total: int) -> Rate:
    return Rate(count, total, *wilson_interval(count, total))
