"""Learns the threshold that separates answerable from unanswerable questions, and its error rates.

The threshold minimizes the weighted rates of accepted negatives and rejected positives. Error
rates are cross-validated, because rates on the tests that chose the threshold would be too good.
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
    """How well the best similarities separate positives from negatives.

    `similarity` and `slope` are None if they can't be separated; `message` then says why.
    `overlap` is the fraction of all values in the range where both kinds occur.
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
    """Learn a threshold; None if either kind of test is missing."""
    if not positives or not negatives:
        return None
    good, bad = np.sort(np.asarray(positives, float)), np.sort(np.asarray(negatives, float))
    rejected, accepted = _cross_validated(good, bad, false_accept_cost)
    false_accepts, false_rejects = _rate(accepted, len(bad)), _rate(rejected, len(good))
    separation = Separation(
        positives=len(good),
        negatives=len(bad),
        positive_mean=fmean(positives),
        negative_mean=fmean(negatives),
        overlap=_overlap(good, bad),
        false_accept_cost=false_accept_cost,
        false_accepts=false_accepts,
        false_rejects=false_rejects,
    )
    doubt = _doubt(separation)
    if doubt:
        return replace(separation, message=doubt)
    return replace(
        separation,
        similarity=_best(good, bad, false_accept_cost),
        slope=_slope(positives, negatives),
    )


def _doubt(separation: Separation) -> str:
    """Why the threshold is useless: its error rates may add up to 1, as those of a coin toss."""
    if separation.false_accepts.high + separation.false_rejects.high < 1.0:
        return ""
    if not separation.overlap and separation.positive_mean > separation.negative_mean:
        return (
            f"{_counted(separation.positives, 'positive')} and "
            f"{_counted(separation.negatives, 'negative')} are too few to estimate the error rates "
            "of a threshold; add tests of both kinds"
        )
    return (
        f"positives and negatives can't be separated: {separation.overlap:.0%} of them are in the "
        f"range where both kinds occur (means {separation.positive_mean:.3f} and "
        f"{separation.negative_mean:.3f})"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _best(good: Numbers, bad: Numbers, cost: float) -> float:
    """The middle of the widest gap among the cheapest thresholds.

    `good` and `bad` are sorted; a question at the threshold counts as answered.
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
    """Cross-validation errors: (rejected positives, accepted negatives)."""
    rejected = accepted = 0
    parts = zip(_parts(good), _parts(bad), strict=True)
    for (kept_good, out_good), (kept_bad, out_bad) in parts:
        if not len(kept_good) or not len(kept_bad):
            # The only test of its kind: the others alone give no threshold.
            rejected, accepted = rejected + len(out_good), accepted + len(out_bad)
            continue
        threshold = _best(kept_good, kept_bad, cost)
        rejected += int(np.count_nonzero(out_good < threshold))
        accepted += int(np.count_nonzero(out_bad >= threshold))
    return rejected, accepted


def _parts(values: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """(the other parts, one part) for each part, drawn with a fixed seed."""
    order = np.random.default_rng(_SEED).permutation(len(values))
    for fold in range(FOLDS):
        out = np.zeros(len(values), dtype=bool)
        out[order[fold::FOLDS]] = True
        yield values[~out], values[out]


def _slope(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The slope of the logistic curve between two normal distributions of equal variance."""
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
