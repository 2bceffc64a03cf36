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
_EQUAL = 1e-9
_SHARE_STEP = 1e-7
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


class ComparisonEvidence(StrEnum):
    """What a comparison shows. Every report prints these words; the verdict follows from them."""

    NO_CHANGE = "no_change"
    BETTER = "better"
    NO_HARM = "no_evidence_of_harm"
    NOT_WORSE = "not_worse"
    MIXED = "inconclusive"
    WORSE = "worse"

    @property
    def verdict(self) -> Verdict:
        known = {
            ComparisonEvidence.WORSE: Verdict.FAIL,
            ComparisonEvidence.MIXED: Verdict.INCONCLUSIVE,
        }
        return known.get(self, Verdict.PASS)

    def __str__(self) -> str:
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class MeasureDifference:
    """Of one measure over the same queries, after minus before.

    `low` and `high` bound the true mean difference with 95 % confidence, also where a few queries
    in a thousand are lost entirely and none of them is among these. `p` is the probability of a
    difference this large by chance. `detectable` is the smallest loss that this many queries show
    four times out of five, after the correction for several measures; 1 if they can show none.
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


def compare(
    before: Sequence[float], after: Sequence[float], level: float = LEVEL, measures: int = 1
) -> MeasureDifference:
    """`before` and `after` are the values of the same queries in the same order, from 0 to 1.

    `measures` is how many are compared at once.
    """
    if len(before) != len(after):
        raise InputError(f"{len(before)} values can't be paired with {len(after)}")
    differences = [new - old for old, new in zip(before, after, strict=True)]
    # What rounding leaves of a value that did not change is no change.
    differences = [0.0 if abs(one) < _EQUAL else one for one in differences]
    low, high = difference_interval(differences, 1 - level)
    return MeasureDifference(
        queries=len(differences),
        before=_mean(before),
        after=_mean(after),
        mean=_mean(differences),
        low=low,
        high=high,
        p=permutation_test(differences),
        detectable=minimum_detectable_effect(differences, level, measures=measures),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
    )


def evidence(
    difference: MeasureDifference,
    p: float | None = None,
    level: float = LEVEL,
    tolerance: float = TOLERANCE,
) -> ComparisonEvidence:
    """`p` is the corrected one where several measures are compared.

    NO_HARM says only that no query got worse, NOT_WORSE that the true mean is not lower by more
    than `tolerance`; how much worse it may still be is what the interval says.
    """
    if difference.queries == 0:
        return ComparisonEvidence.MIXED
    if difference.better == difference.worse == 0:
        return ComparisonEvidence.NO_CHANGE
    if (difference.p if p is None else p) < level:
        return ComparisonEvidence.WORSE if difference.mean < 0 else ComparisonEvidence.BETTER
    if not difference.worse:
        return ComparisonEvidence.NO_HARM
    return (
        ComparisonEvidence.NOT_WORSE if difference.low >= -tolerance else ComparisonEvidence.MIXED
    )


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


def difference_interval(
    differences: Sequence[float], confidence: float = 0.95, resamples: int = _RESAMPLES
) -> tuple[float, float]:
    """Of the mean of differences from -1 to 1; it also holds for rare differences of -1 or 1.

    A sample of 30 often has none of the queries that one change in a hundred loses, and what is
    drawn from the sample alone has none either. So one more value, the worst one possible, is
    drawn along with the sample for the lower bound, and the best one for the upper: the bound of
    Learned-Miller and Thomas (2019). For wins and losses it is that of Clopper and Pearson.

    >>> [round(bound, 3) for bound in difference_interval([0.0] * 30)]
    [-0.116, 0.116]
    """
    if not differences:
        return -1.0, 1.0
    steps, counts = np.unique(np.asarray(differences, dtype=np.float64), return_counts=True)
    chance = np.random.default_rng(_SEED)
    extreme = chance.standard_exponential(resamples)
    # Weights of equal values are drawn together: their sum has a gamma distribution.
    total, weighed = extreme.copy(), np.zeros(resamples)
    for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
        weight = chance.standard_gamma(count, resamples)
        total += weight
        weighed += step * weight
    tail = (1 - confidence) / 2
    low = float(np.quantile((weighed - extreme) / total, tail))
    high = float(np.quantile((weighed + extreme) / total, 1 - tail))
    # Draws leave the last digits to chance, and the mean itself is always inside.
    mean = _mean(differences)
    return max(-1.0, min(low, mean)), min(1.0, max(high, mean))


def share_at_most(count: int, total: int, confidence: float = 0.95) -> float:
    """The upper bound of a share, after Clopper and Pearson: it holds for every true share.

    >>> round(share_at_most(0, 30), 3)
    0.095
    """
    if count >= total:
        return 1.0
    low, high = count / total, 1.0
    while high - low > _SHARE_STEP:
        middle = (low + high) / 2
        if _binomial_cdf(count, total, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


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
    differences: Sequence[float], level: float = LEVEL, power: float = POWER, measures: int = 1
) -> float:
    """The loss in the mean that this many queries, this spread, show with this power.

    After Holm's correction the smallest of several p-values has to be below `level` divided by
    their number, and it takes `fewest_queries` to make it so small: that many must get worse, each
    by what is usual among those that changed, or by 1 where none did.
    """
    count = len(differences)
    fewest = fewest_queries(level / measures)
    values = np.asarray(differences, dtype=np.float64)
    if fewest + np.count_nonzero(values > 0) > count:
        return 1.0
    share = _share_for(fewest, count, power)
    changed = np.abs(values[values != 0])
    step = float(changed.mean()) if len(changed) else 1.0
    normal = NormalDist()
    least = normal.inv_cdf(1 - level / measures / 2)
    # Few queries do not tell their own spread well: as Student's quantile is above the normal one.
    away = least * (1 + (least**2 + 1) / (4 * (count - 1))) + normal.inv_cdf(power)
    # The losses themselves widen the spread that they have to be told from: the mean loss that
    # is `away` standard errors from zero solves a quadratic equation.
    per_query = count / away**2 + 1
    noise = float(values.var(ddof=1))
    by_spread = (step + math.sqrt(step**2 + 4 * per_query * noise)) / (2 * per_query)
    return min(1.0, max(by_spread, share * step))


def _share_for(fewest: int, total: int, power: float) -> float:
    """The share of queries to lose so that at least `fewest` are lost with this power."""
    low, high = 0.0, 1.0
    while high - low > _SHARE_STEP:
        middle = (low + high) / 2
        if _binomial_cdf(fewest - 1, total, middle) > 1 - power:
            low = middle
        else:
            high = middle
    return high


def _binomial_cdf(count: int, total: int, share: float) -> float:
    """The probability of at most `count` of `total`, for a share inside of 0 to 1."""
    counts = np.arange(count + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
    logs = factorials[total] - factorials[counts] - factorials[total - counts]
    logs = logs + counts * math.log(share) + (total - counts) * math.log1p(-share)
    return float(np.exp(logs).sum())


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
