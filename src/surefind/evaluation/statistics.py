"""Whether two runs over the same queries differ by more than chance.

With numpy alone: scipy would add over a hundred megabytes to every installation for a test that is
twenty lines. Chance is drawn from a fixed seed, so the same values give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from surefind.errors import InputError

LEVEL = 0.05
POWER = 0.8
TOLERANCE = 0.01
_RESAMPLES = 10_000
_FEWEST_RESAMPLES = 1_000
_MOST_DRAWS = 10_000_000
_BLOCK_DRAWS = 1_000_000
_EXACT = 13
_SEED = 20_260_101

Name = TypeVar("Name", bound=Hashable)
Numbers = NDArray[np.float64]


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one measure over the same queries, after minus before.

    `low` and `high` bound the true mean difference with 95 % confidence; `p` is the chance of such
    a difference where there is none; `detectable` is the smallest one that these queries would
    show four times out of five.
    """

    queries: int
    before: float
    after: float
    mean: float
    low: float
    high: float
    p: float
    detectable: float
    better: int
    worse: int

    @property
    def same(self) -> int:
        return self.queries - self.better - self.worse


def compare(before: Sequence[float], after: Sequence[float], level: float = LEVEL) -> Difference:
    """`before` and `after` are the values of the same queries in the same order."""
    if len(before) != len(after):
        raise InputError(f"{len(before)} values can't be paired with {len(after)}")
    differences = [new - old for old, new in zip(before, after, strict=True)]
    low, high = bootstrap_interval(differences, 1 - level)
    return Difference(
        queries=len(differences),
        before=_mean(before),
        after=_mean(after),
        mean=_mean(differences),
        low=low,
        high=high,
        p=permutation_test(differences),
        detectable=minimum_detectable_effect(differences, level),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
    )


def verdict(
    difference: Difference,
    p: float | None = None,
    level: float = LEVEL,
    tolerance: float = TOLERANCE,
) -> Verdict:
    """Against getting worse: fail when it surely is, pass when it surely is not by more than that.

    `p` is the corrected one where several measures are looked at. Equal runs pass. What is left is
    inconclusive: the queries are too few, or too different among each other, to say.
    """
    if difference.queries == 0:
        return Verdict.INCONCLUSIVE
    if difference.better == difference.worse == 0:
        return Verdict.PASS
    significant = (difference.p if p is None else p) < level
    if significant:
        return Verdict.FAIL if difference.mean < 0 else Verdict.PASS
    # So few have changed that no test could tell them from chance: their interval says nothing.
    told = difference.better + difference.worse >= fewest_queries(level)
    surely_no_worse = difference.low >= -tolerance
    return Verdict.PASS if told and surely_no_worse else Verdict.INCONCLUSIVE


def fewest_queries(level: float = LEVEL) -> int:
    """How many must have changed, all in one direction, for a difference to be significant.

    >>> fewest_queries(0.05)
    6
    """
    return math.floor(math.log2(2 / level)) + 1


def permutation_test(differences: Sequence[float], resamples: int = _RESAMPLES) -> float:
    """Two-sided, paired: were there no difference, each sign might as well be the other one.

    All signs are tried where there are few, random ones where there are many.
    """
    values = np.array([value for value in differences if value], dtype=np.float64)
    if not len(values):
        return 1.0
    # What rounding may take from a sum grows with what was summed, not with what is left of it.
    least = abs(float(values.sum())) - 1e-9 * float(np.abs(values).sum())
    if len(values) <= _EXACT:
        patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        sums = np.abs((1.0 - 2.0 * patterns) @ values)
        return float((sums >= least).mean())
    chance = np.random.default_rng(_SEED)

    def flipped(rows: int) -> Numbers:
        signs = chance.integers(0, 2, (rows, len(values)), dtype=np.int8)
        # The sum with signs is twice the sum of those that stay, less all of them.
        return np.asarray(2.0 * (signs @ values) - values.sum())

    sums = np.abs(_drawn(flipped, len(values), resamples))
    # The signs as they are count among the draws: a p of zero would be a lie.
    return float((np.count_nonzero(sums >= least) + 1) / (len(sums) + 1))


def bootstrap_interval(
    differences: Sequence[float], confidence: float = 0.95, resamples: int = _RESAMPLES
) -> tuple[float, float]:
    """Of the mean; percentiles, widened by what drawing from a sample makes them too narrow."""
    values = np.asarray(differences, dtype=np.float64)
    if not len(values):
        return 0.0, 0.0
    mean = float(values.mean())
    if len(values) == 1 or np.ptp(values) == 0:
        return mean, mean
    chance = np.random.default_rng(_SEED)

    def redrawn(rows: int) -> Numbers:
        chosen = chance.integers(0, len(values), (rows, len(values)), dtype=np.int32)
        return np.asarray(values[chosen].mean(axis=1))

    means = _drawn(redrawn, len(values), resamples)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    wider = math.sqrt(len(values) / (len(values) - 1))
    return mean + (float(low) - mean) * wider, mean + (float(high) - mean) * wider


def wilson_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Of a share; it never claims certainty, also where all or none of a few were counted.

    >>> [round(bound, 3) for bound in wilson_interval(0, 10)]
    [0.0, 0.278]
    """
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    # Rounding must not push a bound past the share itself.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Corrected for looking at many measures at once, after Holm; in the order given."""
    corrected: dict[Name, float] = {}
    highest = 0.0
    for done, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        highest = max(highest, min(1.0, p_values[name] * (len(p_values) - done)))
        corrected[name] = highest
    return {name: corrected[name] for name in p_values}


def minimum_detectable_effect(
    differences: Sequence[float], level: float = LEVEL, power: float = POWER
) -> float:
    """The mean difference that as many queries, as spread, show with this power.

    One where fewer than two queries leave it open.
    """
    count = len(differences)
    if count < 2:
        return 1.0
    normal = NormalDist()
    spread = float(np.std(np.asarray(differences, dtype=np.float64), ddof=1))
    return (normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)) * spread / math.sqrt(count)


def percentile(values: Sequence[float], share: float) -> float:
    """Interpolated; zero where there are no values."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _drawn(draw: Callable[[int], Numbers], width: int, resamples: int) -> Numbers:
    """In blocks, so that memory is bounded; fewer where there are many values, as time is too."""
    rows = min(resamples, max(_FEWEST_RESAMPLES, _MOST_DRAWS // width))
    return np.concatenate([draw(block) for block in _blocks(rows, max(1, _BLOCK_DRAWS // width))])


def _blocks(rows: int, size: int) -> Iterator[int]:
    while rows > 0:
        yield min(rows, size)
        rows -= size
