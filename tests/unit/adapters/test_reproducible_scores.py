"""BM25 scores are rounded to 15 bits, so that the order of summation decides no tie."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefind.adapters.qdrant.points import received, reproducible

SCORES = st.floats(2**-20, 2**20, width=32)


def rounded(score: float) -> float:
    """Half up, by the bits of a float32: the last nine are dropped."""
    bits = np.float32(score).view(np.int32)
    return float(np.int32((bits + 256) & -512).view(np.float32))


@given(st.lists(SCORES))
def test_scores_are_rounded_to_15_bits(scores: list[float]) -> None:
    assert reproducible(scores) == [rounded(score) for score in scores]


@given(SCORES, st.integers(-1, 1))
def test_a_score_in_the_middle_becomes_the_upper_one(score: float, beside: int) -> None:
    bits = np.float32(score).view(np.int32) & -512 | 256
    middle = float(np.int32(bits + beside).view(np.float32))
    assert reproducible([middle]) == [rounded(middle)]


def test_no_score_and_one_of_zero() -> None:
    assert reproducible([]) == []
    assert reproducible([0.0]) == [0.0]


@given(SCORES)
def test_a_score_sent_as_json_is_the_one_that_the_engine_gave(score: float) -> None:
    assert received([float(f"{score:.9g}")]) == [score]
