"""The statistics, by known cases and by simulation: chance is called chance as often as told."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.evaluation.statistics import significance as statistics
from surefind.evaluation.statistics.significance import (
    LEVEL,
    ComparisonEvidence,
    MeasureDifference,
    Verdict,
    bootstrap_interval,
    compare,
    difference_interval,
    evidence,
    fewest_queries,
    holm,
    minimum_detectable_effect,
    percentile,
    permutation_test,
    share_at_most,
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


@pytest.mark.parametrize(("queries", "measures"), [(24, 1), (30, 6), (60, 6)])
@pytest.mark.parametrize("moved", [0.0, 0.15, 0.5], ids=["still", "few move", "many move"])
def test_a_loss_of_the_detectable_size_is_mostly_found(
    queries: int, measures: int, moved: float
) -> None:
    """Also where nearly nothing changes by chance, and after the correction for six measures."""
    chance = np.random.default_rng(2)
    steps = np.array([-0.5, -0.37, -0.13, 0.13, 0.37, 0.5])
    runs, found = 200, 0
    for _ in range(runs):
        noise = np.where(chance.random(queries) < moved, chance.choice(steps, queries), 0.0)
        effect = minimum_detectable_effect(list(noise), measures=measures)
        changed = np.abs(noise[noise != 0])
        step = changed.mean() if len(changed) else 1.0
        lost = chance.random(queries) < effect / step
        p = permutation_test(list(noise - step * lost), resamples=1500)
        found += p < LEVEL / measures
    assert 0.6 <= found / runs <= 0.95


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


def test_many_values_take_bounded_draws() -> None:
    """What grows with the queries is bounded: 5,000 of them are drawn 2,000 times, in blocks."""
    drawn: list[int] = []

    def draw(rows: int) -> "statistics.Numbers":
        drawn.append(rows)
        return np.zeros(rows)

    assert len(statistics._drawn(draw, 5_000, 10_000)) == 2_000
    assert set(drawn) == {200}
    low, high = bootstrap_interval(list(np.random.default_rng(1).normal(0.5, 0.1, 5_000)))
    assert 0.49 < low < high < 0.51


@pytest.mark.parametrize("queries", [12, 30, 100])
@pytest.mark.parametrize("lost", [0.005, 0.02, 0.1])
def test_the_interval_holds_where_a_few_queries_are_lost_entirely(
    queries: int, lost: float
) -> None:
    """Most samples of thirty have none of the queries that one change in a hundred loses."""
    chance = np.random.default_rng(queries)
    held = 0
    for _ in range(SIMULATIONS):
        losses = -(chance.random(queries) < lost).astype(float)
        low, high = difference_interval(list(losses), resamples=2000)
        held += low <= -lost <= high
    assert held / SIMULATIONS >= 0.94


@pytest.mark.parametrize("queries", [12, 60, 300])
def test_the_interval_of_ordinary_differences_holds_too(queries: int) -> None:
    chance = np.random.default_rng(queries)
    steps = np.array([-0.5, 0.0, 0.0, 0.0, 0.1, 0.5, 1.0])
    held = 0
    for _ in range(SIMULATIONS):
        low, high = difference_interval(list(chance.choice(steps, queries)), resamples=2000)
        held += low <= steps.mean() <= high
    assert held / SIMULATIONS >= 0.94


def test_for_losses_alone_the_interval_is_that_of_clopper_and_pearson() -> None:
    low, _ = difference_interval([-1.0] * 3 + [0.0] * 27)
    assert low == pytest.approx(-share_at_most(3, 30, 0.975), abs=0.005)
    assert difference_interval([]) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("count", "total", "bound"),
    [(0, 30, 0.0950), (1, 30, 0.1486), (10, 20, 0.6980), (5, 5, 1.0), (0, 0, 1.0), (0, 5000, 6e-4)],
)
def test_the_share_at_most_by_the_book(count: int, total: int, bound: float) -> None:
    assert share_at_most(count, total) == pytest.approx(bound, rel=0.002)


@pytest.mark.parametrize("total", [5, 30, 100])
def test_the_share_at_most_holds_for_every_true_share(total: int) -> None:
    """Not by drawing: the probability of every count that gives a bound below the truth."""
    bounds = [share_at_most(count, total) for count in range(total + 1)]
    for share in np.linspace(0.003, 0.997, 150):
        held = sum(
            math.comb(total, count) * share**count * (1 - share) ** (total - count)
            for count, bound in enumerate(bounds)
            if bound >= share - 1e-6
        )
        assert held >= 0.95 - 1e-6


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


def test_the_detectable_effect_shrinks_with_more_queries_and_grows_with_more_measures() -> None:
    differences = [-0.1, 0.1] * 10
    few, many = (minimum_detectable_effect(differences * times) for times in (1, 4))
    assert few == pytest.approx(2 * many, rel=0.1)
    assert minimum_detectable_effect(differences, measures=6) > few
    assert minimum_detectable_effect([0.5]) == 1.0


def test_where_nothing_changed_the_detectable_effect_is_not_nothing() -> None:
    """Eight of thirty have to be lost, or no p can be small enough for six measures."""
    assert minimum_detectable_effect([0.0] * 5) == 1.0
    assert minimum_detectable_effect([0.0] * 30, measures=6) == pytest.approx(0.32, abs=0.01)


def test_percentiles() -> None:
    assert percentile([], 0.5) == 0.0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(value) for value in range(101)], 0.95) == 95.0


# --- verdicts ---------------------------------------------------------------------------------


def judged(before: list[float], after: list[float]) -> ComparisonEvidence:
    return evidence(compare(before, after))


def test_a_comparison_counts_what_became_better_and_worse() -> None:
    told = compare([0.0, 0.5, 1.0, 1.0], [1.0, 0.5, 0.5, 1.0])
    assert (told.better, told.worse, told.same, told.queries) == (1, 1, 2, 4)
    assert (told.before, told.after, told.mean) == (0.625, 0.75, 0.125)
    with pytest.raises(InputError, match="2 values can't be paired with 1"):
        compare([0.0, 1.0], [0.0])


def test_a_rounding_error_is_not_a_change() -> None:
    assert judged([0.3, 0.5], [0.1 + 0.2, 0.5]) is ComparisonEvidence.NO_CHANGE


def test_equal_runs_pass_and_no_queries_say_nothing() -> None:
    assert judged([0.5], [0.5]) is ComparisonEvidence.NO_CHANGE
    assert judged([], []) is ComparisonEvidence.MIXED


@pytest.mark.parametrize("better", [1, 5])
def test_where_nothing_got_worse_there_is_no_evidence_of_harm(better: int) -> None:
    told = judged([0.0] * 30, [1.0] * better + [0.0] * (30 - better))
    assert told is ComparisonEvidence.NO_HARM
    assert (told.verdict, str(told)) == (Verdict.PASS, "no evidence of harm")


@pytest.mark.parametrize("worse", [1, 3, 5])
def test_too_few_changes_are_inconclusive(worse: int) -> None:
    told = judged([1.0] * 10, [0.0] * worse + [1.0] * (10 - worse))
    assert (told, told.verdict) == (ComparisonEvidence.MIXED, Verdict.INCONCLUSIVE)


def test_what_surely_got_worse_fails_and_what_surely_got_better_passes() -> None:
    worse = judged([1.0] * 20, [0.5] * 12 + [1.0] * 8)
    better = judged([0.5] * 20, [1.0] * 12 + [0.5] * 8)
    assert (worse, worse.verdict) == (ComparisonEvidence.WORSE, Verdict.FAIL)
    assert (better, better.verdict) == (ComparisonEvidence.BETTER, Verdict.PASS)


@pytest.mark.parametrize(
    ("queries", "told"), [(100, ComparisonEvidence.MIXED), (500, ComparisonEvidence.NOT_WORSE)]
)
def test_small_changes_that_even_out_pass_once_rare_losses_are_ruled_out(
    queries: int, told: ComparisonEvidence
) -> None:
    """A hundred queries do not show whether one in fifty is lost entirely."""
    after = [0.5 + 0.01 * (-1) ** number for number in range(queries)]
    assert judged([0.5] * queries, after) is told
    assert told.verdict is (Verdict.PASS if queries == 500 else Verdict.INCONCLUSIVE)


def test_the_corrected_p_decides_where_there_is_one() -> None:
    difference = MeasureDifference(20, 0.9, 0.8, -0.1, -0.2, -0.01, 0.03, 0.1, 2, 12)
    assert evidence(difference) is ComparisonEvidence.WORSE
    assert evidence(difference, p=0.09) is ComparisonEvidence.MIXED
