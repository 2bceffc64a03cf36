"""Changes of known size are planted and compared: what is said, and whether what is stated holds.

`make bench-verdicts` prints the table of many more.
"""

import functools
import math

import pytest

from support.planted_changes import CHANGES, Count, count
from surefind.evaluation.statistics.significance import LEVEL, ComparisonEvidence

pytestmark = pytest.mark.thorough

NULL = ["nothing changed", "null: 2 % move", "null: 10 % move", "null: 40 % move"]
RUNS = 60


@functools.cache
def counted(name: str, queries: int) -> Count:
    return count(CHANGES[name], queries, RUNS, seed=1)


@pytest.mark.parametrize("name", NULL)
@pytest.mark.parametrize("queries", [30, 100])
def test_chance_is_called_a_regression_no_oftener_than_the_level_says(
    name: str, queries: int
) -> None:
    """Two measures are corrected for, and only one direction is a regression."""
    most = LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / RUNS)
    assert counted(name, queries).share(ComparisonEvidence.WORSE) <= most


@pytest.mark.parametrize(
    ("name", "queries"),
    [*((name, 30) for name in CHANGES), ("null: 40 % move", 100), ("rare losses: 2 %", 100)],
)
def test_what_a_comparison_states_holds_as_often_as_it_says(name: str, queries: int) -> None:
    """Also where one query in two hundred is lost entirely, and no sample shows it."""
    told = counted(name, queries)
    least = 0.95 - 2 * math.sqrt(0.95 * 0.05 / RUNS)
    assert told.worse_coverage >= least
    assert told.mean_coverage >= least


def test_a_pure_improvement_always_passes() -> None:
    passed = (ComparisonEvidence.NO_CHANGE, ComparisonEvidence.NO_HARM, ComparisonEvidence.BETTER)
    for name, queries in (("improvement: 5 % found", 30), ("improvement: 40 % found", 100)):
        assert counted(name, queries).share(*passed) == 1.0
    assert counted("improvement: 40 % found", 100).share(ComparisonEvidence.BETTER) >= 0.9


def test_a_real_regression_is_mostly_called_one_and_never_passes() -> None:
    for name, queries in (("regression: 30 % lost", 30), ("regression: 15 % lost", 100)):
        told = counted(name, queries)
        assert told.share(ComparisonEvidence.WORSE) >= 0.7
        assert told.share(ComparisonEvidence.WORSE, ComparisonEvidence.MIXED) == 1.0


def test_mixed_evidence_is_inconclusive() -> None:
    """Neither praise nor blame where some are found and some are lost."""
    told = counted("mixed: 10 % found, 5 % lost", 100)
    assert told.share(ComparisonEvidence.MIXED) >= 0.8


def test_a_loss_that_shows_is_never_a_pass_in_a_hundred_queries() -> None:
    told = counted("rare losses: 2 %", 100)
    assert told.share(ComparisonEvidence.NOT_WORSE, ComparisonEvidence.BETTER) == 0.0
