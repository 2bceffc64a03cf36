"""How many questions are needed: the formula against simulated comparisons."""

import numpy as np
import pytest

from surefind.errors import InputError
from surefind.evaluation.statistics.power import difference_seen, queries_needed, spread_of
from surefind.evaluation.statistics.significance import permutation_test


@pytest.mark.parametrize(("difference", "spread"), [(0.05, 0.1), (0.1, 0.3), (0.2, 0.3)])
def test_these_numbers_of_questions_detect_the_difference_as_often_as_promised(
    difference: float, spread: float
) -> None:
    needed = queries_needed(difference, spread).queries
    chance = np.random.default_rng(7)
    runs = 300
    seen = sum(
        permutation_test(chance.normal(difference, spread, needed).tolist(), 500) < 0.05
        for _ in range(runs)
    )
    # Three standard errors of 300 runs around a power of 0.8.
    assert 0.73 <= seen / runs <= 0.87


@pytest.mark.parametrize("spread", [0.1, 0.3])
@pytest.mark.parametrize("measures", [1, 6])
def test_both_directions_agree(spread: float, measures: int) -> None:
    needed = queries_needed(0.05, spread, measures=measures).queries
    assert difference_seen(needed, spread, measures=measures) <= 0.05
    assert difference_seen(needed - 1, spread, measures=measures) > 0.05


def test_more_measures_and_more_power_need_more_questions() -> None:
    plain = queries_needed(0.05, 0.2).queries
    assert queries_needed(0.05, 0.2, measures=6).queries > plain
    assert queries_needed(0.05, 0.2, power=0.95).queries > plain
    assert queries_needed(0.025, 0.2).queries > 3 * plain


def test_a_handful_of_questions_detects_nothing() -> None:
    assert difference_seen(5, 0.1) == 1.0
    assert queries_needed(1.0, 0.01).queries == 6


def test_the_spread_is_the_standard_deviation() -> None:
    assert spread_of([0.0, 1.0, 0.0, 1.0]) == pytest.approx(np.std([0, 1, 0, 1], ddof=1))
    for values in ([], [0.1], [0.2, 0.2]):
        with pytest.raises(InputError):
            spread_of(values)


@pytest.mark.parametrize(("difference", "spread"), [(0, 0.2), (2, 0.2), (0.05, 0), (0.05, 2)])
def test_impossible_values_are_refused(difference: float, spread: float) -> None:
    with pytest.raises(InputError):
        queries_needed(difference, spread)
