"""The statistics, by known cases and by simulation: chance is called chance as often as told."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.evaluation import statistics
from surefind.evaluation.statistics import (
    Difference,
    Verdict,
    bootstrap_interval,
    compare,
    fewest_queries,
    holm,
    minimum_detectable_effect,
    percentile,
    permutation_test,
    verdict,
)

SIMULATIONS = 400
TENTHS = st.integers(-10, 10).map(lambda value: value / 10)


@example([0.1, 0.2, 0.3, -0.6])  # sums that should be zero and are not quite
@given(st.lists(TENTHS, max_size=9))
def test_few_queries_are_tested_exactly(differences: list[float]) -> None:
    """By the definition: of all the ways to set the signs, how many give as large a sum."""
    observed = abs(sum(differences)) - 1e-9
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = sum(total >= observed for total in sums) / len(sums)
    assert permutation_test(differences) == pytest.approx(exact)


def test_many_queries_are_tested_as_few_ones_would_be() -> None:
    """Drawn signs come near to all signs."""
    differences = [0.3, -0.1, 0.2, 0.4, -0.2, 0.1, 0.25, -0.05, 0.15, 0.3, -0.15, 0.05, 0.1]
    exact = permutation_test(differences)
    more = [*differences, 1e-9]  # one more than is done exactly, which changes nothing
    assert permutation_test(more) == pytest.approx(exact, abs=0.015)


def test_six_that_all_get_better_are_the_fewest_that_are_significant() -> None:
    assert permutation_test([0.1] * 6) == pytest.approx(2 / 64)
    assert permutation_test([0.1] * 5) == pytest.approx(2 / 32)
    assert fewest_queries(0.05) == 6
    assert fewest_queries(0.01) == 8


def test_where_nothing_changes_nothing_is_significant() -> None:
    assert permutation_test([]) == permutation_test([0.0] * 100) == 1.0


def test_a_p_is_never_zero() -> None:
    assert 0 < permutation_test([1.0] * 1000) < 0.001


@pytest.mark.parametrize("queries", [8, 40])
def test_under_the_null_one_in_twenty_is_significant(queries: int) -> None:
    """Differences as rankings give them: many zeros, a few steps, no direction."""
    chance = np.random.default_rng(queries)
    steps = np.array([-0.5, -0.2, 0.0, 0.0, 0.2, 0.5])
    false = sum(
        permutation_test(list(chance.choice(steps, queries)), resamples=2000) < 0.05
        for _ in range(SIMULATIONS)
    )
    # At most the level, since ties make the test careful; and not far below it.
    assert 0.01 <= false / SIMULATIONS <= 0.075


def test_a_true_difference_of_the_detectable_size_is_mostly_found() -> None:
    chance = np.random.default_rng(2)
    found = 0
    for _ in range(SIMULATIONS):
        noise = chance.normal(0, 0.2, 50)
        effect = minimum_detectable_effect(list(noise))
        found += permutation_test(list(noise + effect), resamples=2000) < 0.05
    assert 0.7 <= found / SIMULATIONS <= 0.9


@pytest.mark.parametrize("queries", [10, 60])
def test_the_interval_holds_the_truth_as_often_as_it_says(queries: int) -> None:
    chance = np.random.default_rng(queries)
    steps = np.array([-0.5, 0.0, 0.0, 0.1, 0.5, 1.0])
    truth = float(steps.mean())
    held = 0
    for _ in range(SIMULATIONS):
        low, high = bootstrap_interval(list(chance.choice(steps, queries)), resamples=2000)
        held += low <= truth <= high
    assert 0.9 <= held / SIMULATIONS <= 0.98


def test_intervals_that_need_no_drawing() -> None:
    assert bootstrap_interval([]) == (0.0, 0.0)
    assert bootstrap_interval([0.3]) == (0.3, 0.3)
    assert bootstrap_interval([0.25] * 9) == (0.25, 0.25)


@given(st.lists(TENTHS, min_size=2, max_size=30))
def test_an_interval_lies_around_the_mean(differences: list[float]) -> None:
    low, high = bootstrap_interval(differences, resamples=2000)
    mean = sum(differences) / len(differences)
    assert low - 1e-9 <= mean <= high + 1e-9
    assert (low, high) == bootstrap_interval(differences, resamples=2000)


def test_many_values_take_bounded_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows with the queries is bounded: 5,000 of them are drawn 1,000 times, in blocks."""
    monkeypatch.setattr(statistics, "_MOST_DRAWS", 1_000_000)
    monkeypatch.setattr(statistics, "_BLOCK_DRAWS", 50_000)
    drawn: list[int] = []

    def draw(rows: int) -> "statistics.Numbers":
        drawn.append(rows)
        return np.zeros(rows)

    assert len(statistics._drawn(draw, 5_000, 10_000)) == 1_000
    assert set(drawn) == {10}
    low, high = bootstrap_interval(list(np.random.default_rng(1).normal(0.5, 0.1, 5_000)))
    assert 0.49 < low < high < 0.51


def test_holm_by_the_book() -> None:
    corrected = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert corrected == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(corrected) == ["a", "b", "c", "d"]
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values: dict[str, float]) -> None:
    corrected = holm(p_values)
    assert all(p <= corrected[name] <= 1 for name, p in p_values.items())
    ordered = sorted(p_values, key=lambda name: p_values[name])
    assert [corrected[name] for name in ordered] == sorted(corrected.values())


def test_holm_keeps_the_rate_of_any_false_alarm() -> None:
    """Six measures at once, none of which has changed."""
    chance = np.random.default_rng(3)
    alarms = sum(
        min(holm(dict(enumerate(chance.uniform(size=6)))).values()) < 0.05 for _ in range(2000)
    )
    assert alarms / 2000 == pytest.approx(0.05, abs=0.015)


def test_the_detectable_effect_shrinks_with_more_queries() -> None:
    differences = [-0.1, 0.1] * 10
    few, many = (minimum_detectable_effect(differences * times) for times in (1, 4))
    assert few == pytest.approx(2 * many, rel=0.03)
    assert minimum_detectable_effect([0.5]) == 1.0


def test_percentiles() -> None:
    assert percentile([], 0.5) == 0.0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(value) for value in range(101)], 0.95) == 95.0


# --- verdicts ---------------------------------------------------------------------------------


def judged(before: list[float], after: list[float]) -> Verdict:
    return verdict(compare(before, after))


def test_a_comparison_counts_what_became_better_and_worse() -> None:
    told = compare([0.0, 0.5, 1.0, 1.0], [1.0, 0.5, 0.5, 1.0])
    assert (told.better, told.worse, told.same, told.queries) == (1, 1, 2, 4)
    assert (told.before, told.after, told.mean) == (0.625, 0.75, 0.125)
    with pytest.raises(InputError, match="2 values can't be paired with 1"):
        compare([0.0, 1.0], [0.0])


def test_equal_runs_pass_and_no_queries_say_nothing() -> None:
    assert judged([0.5], [0.5]) is Verdict.PASS
    assert judged([], []) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("worse", [1, 3, 5])
def test_too_few_changes_are_inconclusive(worse: int) -> None:
    assert judged([1.0] * 10, [0.0] * worse + [1.0] * (10 - worse)) is Verdict.INCONCLUSIVE


def test_what_surely_got_worse_fails_and_what_surely_got_better_passes() -> None:
    assert judged([1.0] * 20, [0.5] * 12 + [1.0] * 8) is Verdict.FAIL
    assert judged([0.5] * 20, [1.0] * 12 + [0.5] * 8) is Verdict.PASS


def test_many_small_changes_that_even_out_pass() -> None:
    after = [0.5 + 0.01 * (-1) ** number for number in range(100)]
    assert judged([0.5] * 100, after) is Verdict.PASS


def test_the_corrected_p_decides_where_there_is_one() -> None:
    difference = Difference(20, 0.9, 0.8, -0.1, -0.2, -0.01, 0.03, 0.1, 2, 12)
    assert verdict(difference) is Verdict.FAIL
    assert verdict(difference, p=0.09) is Verdict.INCONCLUSIVE
