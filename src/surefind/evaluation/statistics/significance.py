"""Tests whether two runs over the same queries differ by more than chance.

This uses only numpy: scipy would add over a hundred megabytes to every installation for a test of
twenty lines. Resampling uses a fixed seed, so results are reproducible.
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
    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class ComparisonEvidence(StrEnum):
    """The conclusion of a comparison. Reports print these words, and they decide the verdict."""

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
    """The difference of one measure over the same queries, after minus before.

    `low` and `high` bound the true mean difference with 95 % confidence, even if a few queries in a
    thousand are lost entirely and none of them is in the sample. `p` is the probability of a
    difference this large by chance. `detectable` is the smallest loss that this many queries
    reveal with 80 % power after the correction for several measures; 1 if they can't reveal any.
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
    """Compare two runs: the values, from 0 to 1, of the same queries in the same order.

    `measures` is the number of measures that are compared at once.
    """
    if len(before) != len(after):
        raise InputError(
            f"{len(before)} values can't be paired with {len(after)}; pass the same queries"
        )
    differences = [new - old for old, new in zip(before, after, strict=True)]
    # Rounding noise is not a change.
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
    """The conclusion; `p` must be corrected if several measures are compared.

    NO_HARM means only that no query got worse; NOT_WORSE means that the true mean is not lower by
    more than `tolerance`. The interval shows how much worse it may still be.
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
    """How many queries must change, all in one direction, for a significant difference.

    >>> fewest_queries(0.05)
    6
    """
    return math.floor(math.log2(2 / level)) + 1


def permutation_test(differences: Sequence[float], resamples: int = _RESAMPLES) -> float:
    """Two-sided paired test: without a real difference, every sign could equally be flipped.

    All sign combinations are tried for small samples, random ones for large samples.
    """
    values = np.array([value for value in differences if value], dtype=np.float64)
    if not len(values):
        return 1.0
    # The rounding error of a sum grows with its terms, not with the result.
    least = abs(float(values.sum())) - 1e-9 * float(np.abs(values).sum())
    if len(values) <= _EXACT:
        patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        sums = np.abs((1.0 - 2.0 * patterns) @ values)
        return float((sums >= least).mean())
    chance = np.random.default_rng(_SEED)

    def flipped(rows: int) -> Numbers:
        signs = chance.integers(0, 2, (rows, len(values)), dtype=np.int8)
        # The signed sum is twice the sum of the positive terms minus the sum of all.
        return np.asarray(2.0 * (signs @ values) - values.sum())

    sums = np.abs(_drawn(flipped, len(values), resamples))
    # The observed signs count as one of the draws, so p is never zero.
    return float((np.count_nonzero(sums >= least) + 1) / (len(sums) + 1))


def bootstrap_interval(
    differences: Sequence[float], confidence: float = 0.95, resamples: int = _RESAMPLES
) -> tuple[float, float]:
    """Percentile interval of the mean, widened to correct the bias of small samples."""
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
    """Interval of a mean of differences in -1..1, valid even if differences of -1 or 1 are rare.

    If a change loses one query in a hundred, a sample of 30 often contains none of them, and
    neither does any resample. So the worst possible value is added to the sample for the lower
    bound, and the best one for the upper bound, as in Learned-Miller and Thomas (2019). For wins
    and losses, this equals the bound of Clopper and Pearson.

    >>> [round(bound, 3) for bound in difference_interval([0.0] * 30)]
    [-0.116, 0.116]
    """
    if not differences:
        return -1.0, 1.0
    steps, counts = np.unique(np.asarray(differences, dtype=np.float64), return_counts=True)
    chance = np.random.default_rng(_SEED)
    extreme = chance.standard_exponential(resamples)
    # Draw the weights of equal values together: their sum has a gamma distribution.
    total, weighed = extreme.copy(), np.zeros(resamples)
    for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
        weight = chance.standard_gamma(count, resamples)
        total += weight
        weighed += step * weight
    tail = (1 - confidence) / 2
    low = float(np.quantile((weighed - extreme) / total, tail))
    high = float(np.quantile((weighed + extreme) / total, 1 - tail))
    # Random draws affect the last digits; keep the mean inside the interval.
    mean = _mean(differences)
    return max(-1.0, min(low, mean)), min(1.0, max(high, mean))


def share_at_most(count: int, total: int, confidence: float = 0.95) -> float:
    """The upper bound of a proportion by Clopper and Pearson, valid for every true proportion.

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
    """Interval of a proportion; never a single point, even if all or none were counted.

    >>> [round(bound, 3) for bound in wilson_interval(0, 10)]
    [0.0, 0.278]
    """
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    # Rounding must not push a bound past the proportion.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Correct p-values for multiple comparisons by Holm's method; keeps the order."""
    corrected: dict[Name, float] = {}
    highest = 0.0
    for done, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        highest = max(highest, min(1.0, p_values[name] * (len(p_values) - done)))
        corrected[name] = highest
    return {name: corrected[name] for name in p_values}


def minimum_detectable_effect(
    differences: Sequence[float], level: float = LEVEL, power: float = POWER, measures: int = 1
) -> float:
    """The mean loss that queries of this number and spread reveal with this power.

    After Holm's correction, the smallest p-value must be below `level` divided by the number of
    measures, which takes at least `fewest_queries`. So that many queries must get worse, each by
    the usual change, or by 1 if nothing changed.
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
    # Small samples estimate their spread badly, so use Student's quantile, not the normal one.
    away = least * (1 + (least**2 + 1) / (4 * (count - 1))) + normal.inv_cdf(power)
    # The losses also widen the spread, so the mean loss that is `away` standard errors from zero
    # solves a quadratic equation.
    per_query = count / away**2 + 1
    noise = float(values.var(ddof=1))
    by_spread = (step + math.sqrt(step**2 + 4 * per_query * noise)) / (2 * per_query)
    return min(1.0, max(by_spread, share * step))


def _share_for(fewest: int, total: int, power: float) -> float:
    """The fraction of queries to lose so that at least `fewest` are lost with this power."""
    low, high = 0.0, 1.0
    while high - low > _SHARE_STEP:
        middle = (low + high) / 2
        if _binomial_cdf(fewest - 1, total, middle) > 1 - power:
            low = middle
        else:
            high = middle
    return high


def _binomial_cdf(count: int, total: int, share: float) -> float:
    """The probability of at most `count` of `total`, for a share between 0 and 1."""
    counts = np.arange(count + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
    logs = factorials[total] - factorials[counts] - factorials[total - counts]
    logs = logs + counts * math.log(share) + (total - counts) * math.log1p(-share)
    return float(np.exp(logs).sum())


def percentile(values: Sequence[float], share: float) -> float:
    """The interpolated percentile; zero without values."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _drawn(draw: Callable[[int], Numbers], width: int, resamples: int) -> Numbers:
    """Draw in blocks to bound memory, and fewer times for many values to bound time."""
    rows = min(resamples, max(_FEWEST_RESAMPLES, _MOST_DRAWS // width))
    return np.concatenate([draw(block) for block in _blocks(rows, max(1, _BLOCK_DRAWS // width))])


def _blocks(rows: int, size: int) -> Iterator[int]:
    while rows > 0:
        yield min(rows, size)
        rows -= size
