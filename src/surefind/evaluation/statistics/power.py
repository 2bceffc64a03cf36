"""How many questions a comparison needs to see a difference of a given size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from surefind.errors import InputError
from surefind.evaluation.statistics.significance import LEVEL, POWER, fewest_queries

MOST_QUERIES = 1_000_000
SPREADS = (0.1, 0.2, 0.3, 0.4)
"""Standard deviations of differences per question; .1 for small changes, .4 for other systems."""


@dataclass(frozen=True, slots=True)
class QueriesNeeded:
    """`spread` is the standard deviation of the differences per question."""

    spread: float
    queries: int


def queries_needed(
    difference: float,
    spread: float,
    level: float = LEVEL,
    power: float = POWER,
    measures: int = 1,
) -> QueriesNeeded:
    """The number of questions with which a paired test detects a mean difference with this power.

    By the normal approximation, with a correction for small samples. The permutation test also
    needs a few questions that differ at all.

    >>> queries_needed(0.05, 0.2).queries
    128
    """
    if not 0 < difference <= 1:
        raise InputError(f"the difference must be above 0 and at most 1, not {difference:g}")
    if not 0 < spread <= 1:
        raise InputError(f"the spread must be above 0 and at most 1, not {spread:g}")
    if not 0 < level < 1 or not 0 < power < 1:
        raise InputError("the level and the power must be between 0 and 1")
    normal = NormalDist()
    beyond = normal.inv_cdf(1 - level / measures / 2)
    away = beyond + normal.inv_cdf(power)
    needed = (away * spread / difference) ** 2 + beyond**2 / 2
    return QueriesNeeded(spread, max(fewest_queries(level / measures), math.ceil(needed)))


def difference_seen(
    queries: int, spread: float, level: float = LEVEL, power: float = POWER, measures: int = 1
) -> float:
    """The smallest mean difference that this number of questions detects; 1 if there is none."""
    normal = NormalDist()
    beyond = normal.inv_cdf(1 - level / measures / 2)
    away = beyond + normal.inv_cdf(power)
    left = queries - beyond**2 / 2
    if queries < fewest_queries(level / measures) or left <= 0:
        return 1.0
    return min(1.0, away * spread / math.sqrt(left))


def spread_of(differences: Sequence[float]) -> float:
    """The standard deviation of differences; InputError if they do not vary."""
    if len(differences) < 2:
        raise InputError("a spread needs at least two questions that both runs measured")
    mean = math.fsum(differences) / len(differences)
    variance = math.fsum((one - mean) ** 2 for one in differences) / (len(differences) - 1)
    if not variance:
        raise InputError("the runs differ equally in all questions, so there is no spread to learn")
    return math.sqrt(variance)
