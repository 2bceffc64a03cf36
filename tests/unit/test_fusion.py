"""Two legs, one order."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import Candidate, Ranking
from surefind.services.fusion import Pool, dense_pool, fuse, lexical_pool


def point(number: int) -> UUID:
    return UUID(int=number)


def legs(scores: dict[int, float]) -> Ranking:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return Ranking([point(number) for number, _ in ordered], [score for _, score in ordered])


def everything(pool: Pool) -> list[Candidate]:
    return pool.best(top_k=1000, threshold=0.0)


NOTHING = Ranking([], [])


def test_the_fused_score_is_the_mean_of_both_legs_scaled_over_the_union() -> None:
    """Worked by hand: cosines .9 .7 .5, BM25 8 4 0; only the other leg found points 2 and 3."""
    pool = fuse(
        dense=legs({1: 0.9, 3: 0.7}),
        lexical=legs({1: 4.0, 2: 8.0}),
        other_dense=legs({2: 0.5}),
        other_lexical=NOTHING,
    )
    candidates = everything(pool)
    assert pool.best_similarity == 0.9
    scores = {candidate.point_id.int: candidate.score for candidate in candidates}
    assert scores == pytest.approx({1: (1 + 0.5) / 2, 2: (0 + 1) / 2, 3: (0.5 + 0) / 2})
    first = candidates[0]
    assert first.point_id == point(1)
    assert first.dense is not None
    assert first.lexical is not None
    assert (first.dense.rank, first.dense.score) == (1, 0.9)
    assert (first.lexical.rank, first.lexical.score) == (2, 4.0)
    last = candidates[2]
    assert last.lexical is not None
    assert (last.lexical.rank, last.lexical.score) == (None, 0.0)


def test_nothing_found_is_nothing_fused() -> None:
    for pool in (
        fuse(NOTHING, NOTHING, NOTHING, NOTHING),
        dense_pool(NOTHING),
        lexical_pool(NOTHING),
    ):
        assert everything(pool) == []
        assert pool.best_similarity is None


def test_a_single_candidate_counts_full_in_the_legs_that_know_it() -> None:
    [both] = everything(fuse(legs({1: 0.4}), legs({1: 3.0}), NOTHING, NOTHING))
    assert both.score == 1.0
    [dense_only] = everything(fuse(legs({1: 0.4}), NOTHING, NOTHING, NOTHING))
    assert dense_only.score == 0.5


def test_similarity_is_clamped_and_absent_where_nothing_was_embedded() -> None:
    above, below = everything(dense_pool(legs({1: -0.2, 2: 1.0000001})))
    assert (below.similarity, below.score) == (0.0, 0.0)
    assert (above.similarity, above.score) == (1.0, 1.0)
    pool = lexical_pool(legs({1: 7.0}))
    assert everything(pool)[0].similarity is None
    assert pool.best_similarity is None


def test_the_lexical_leg_is_measured_by_its_best() -> None:
    candidates = everything(lexical_pool(legs({1: 8.0, 2: 2.0})))
    assert [(c.point_id.int, c.score) for c in candidates] == [(1, 1.0), (2, 0.25)]


def test_the_threshold_is_the_similaritys_and_comes_before_the_count() -> None:
    pool = fuse(legs({1: 0.9, 2: 0.4, 3: 0.6, 4: 0.3}), legs({2: 9.0}), NOTHING, NOTHING)
    assert [c.point_id.int for c in pool.best(3, 0.0)] == [2, 1, 3]
    assert [c.point_id.int for c in pool.best(2, 0.5)] == [1, 3]
    assert pool.best(2, 0.95) == []


@given(
    st.dictionaries(st.integers(0, 30), st.floats(-1, 1), max_size=15),
    st.dictionaries(st.integers(0, 30), st.floats(0.01, 50), max_size=15),
)
def test_fused_scores_are_in_bounds_in_order_and_complete(
    dense: dict[int, float], lexical: dict[int, float]
) -> None:
    candidates = everything(fuse(legs(dense), legs(lexical), NOTHING, NOTHING))
    assert {c.point_id.int for c in candidates} == dense.keys() | lexical.keys()
    assert all(0 <= c.score <= 1 for c in candidates)
    order = [(-c.score, c.point_id.int) for c in candidates]
    assert order == sorted(order)
