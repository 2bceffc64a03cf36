"""BM25 weights, and the mean length they depend on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import Terms
from surefind.services.lexical import mean_on_grid, passage_weights


def test_weights_are_those_of_bm25() -> None:
    """k1 = 1.2, b = 0.75: worked by hand for a passage of twice the mean length."""
    weights = passage_weights(Terms((1, 2), (1.0, 3.0)), mean_terms=2.0)
    norm = 1.2 * (0.25 + 0.75 * 4 / 2)
    assert weights.ids == (1, 2)
    assert weights.weights == pytest.approx((2.2 / (1 + norm), 3 * 2.2 / (3 + norm)))


def test_no_terms_weigh_nothing() -> None:
    assert passage_weights(Terms((), ()), 1.0) == Terms((), ())


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_the_grid_is_within_five_percent_of_the_mean(total: int, chunks: int) -> None:
    mean = mean_on_grid(total, chunks)
    assert mean >= 1
    if total >= chunks:
        assert abs(math.log(mean / (total / chunks))) < 0.06


def test_a_small_change_stays_on_the_grid_and_an_empty_collection_has_a_mean() -> None:
    assert mean_on_grid(100_000, 1000) == mean_on_grid(100_900, 1003)
    assert mean_on_grid(100_000, 1000) != mean_on_grid(120_000, 1000)
    assert mean_on_grid(0, 0) == mean_on_grid(0, 5) == mean_on_grid(3, 5) == 1.0
