"""Two legs, one order."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import Ranking
from surefind.services.search.ranking.depth import LONGEST_TIE, cutoff, depth_for
from surefind.services.search.ranking.fusion import (
    DENSE_WEIGHT,
    Candidate,
    LegResults,
    Pool,
    dense_pool,
    fuse,
    lexical_pool,
)

LEXICAL_WEIGHT = 1 - DENSE_WEIGHT


def legs(scores: dict[int, float]) -> Ranking:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return Ranking([number for number, _ in ordered], [score for _, score in ordered])


def everything(pool: Pool) -> list[Candidate]:
    return list(pool.candidates())


def fused(
    dense: dict[int, float],
    lexical: dict[int, float],
    other_dense: dict[int, float] | None = None,
    other_lexical: dict[int, float] | None = None,
) -> Pool:
    return fuse(
        [
            LegResults(
                "docs",
                legs(dense),
                legs(lexical),
                legs(other_dense or {}),
                legs(other_lexical or {}),
            )
        ]
    )


def test_the_fused_score_weighs_both_legs_scaled_over_the_union() -> None:
    """Worked by hand: cosines .9 .7 .5, BM25 8 4 0; only the other leg found points 2 and 3."""
    pool = fused({1: 0.9, 3: 0.7}, {1: 4.0, 2: 8.0}, other_dense={2: 0.5})
    candidates = everything(pool)
    assert pool.best_similarity == 0.9
    scores = {candidate.point: candidate.score for candidate in candidates}
    assert scores == pytest.approx(
        {1: DENSE_WEIGHT + LEXICAL_WEIGHT / 2, 2: LEXICAL_WEIGHT, 3: DENSE_WEIGHT / 2}
    )
    first = candidates[0]
    assert first.point == 1
    assert first.dense is not None
    assert first.lexical is not None
    assert (first.dense.rank, first.dense.score) == (1, 0.9)
    assert (first.lexical.rank, first.lexical.score) == (2, 4.0)
    assert first.dense.share + first.lexical.share == pytest.approx(first.score)
    [third] = [c for c in candidates if c.point == 3]
    assert third.lexical is not None
    assert (third.lexical.rank, third.lexical.score) == (None, 0.0)
    assert pool.score_for(0.9, 4.0) == pytest.approx(first.score)
    assert pool.score_for(None, None) == 0


def test_nothing_found_is_nothing_fused() -> None:
    nothing = [LegResults("docs", legs({}), legs({}))]
    for pool in (fuse(nothing), dense_pool(nothing), lexical_pool(nothing)):
        assert everything(pool) == []
        assert pool.best_similarity is None


def test_a_single_candidate_counts_full_in_the_legs_that_know_it() -> None:
    [both] = everything(fused({1: 0.4}, {1: 3.0}))
    assert both.score == 1.0
    [dense_only] = everything(fused({1: 0.4}, {}))
    assert dense_only.score == DENSE_WEIGHT


def test_similarity_is_clamped_and_absent_where_nothing_was_embedded() -> None:
    above, below = everything(dense_pool([LegResults("docs", legs({1: -0.2, 2: 1.0000001}), None)]))
    assert (below.similarity, below.score) == (0.0, 0.0)
    assert (above.similarity, above.score) == (1.0, 1.0)
    pool = lexical_pool([LegResults("docs", None, legs({1: 7.0}))])
    assert everything(pool)[0].similarity is None
    assert pool.best_similarity is None


def test_the_lexical_leg_is_measured_by_its_best() -> None:
    candidates = everything(lexical_pool([LegResults("docs", None, legs({1: 8.0, 2: 2.0}))]))
    assert [(c.point, c.score) for c in candidates] == [(1, 1.0), (2, 0.25)]


def test_the_threshold_is_the_similaritys() -> None:
    pool = fused({1: 0.9, 2: 0.6, 3: 0.5, 4: 0.3}, {2: 9.0})
    assert [c.point for c in pool.candidates(0.0)] == [2, 1, 3, 4]
    assert [c.point for c in pool.candidates(0.6)] == [2, 1]
    assert list(pool.candidates(0.95)) == []


def test_the_same_chunk_in_two_collections_is_two_candidates() -> None:
    pool = fuse(
        [
            LegResults("one", legs({1: 0.9}), legs({1: 2.0}), legs({}), legs({})),
            LegResults("two", legs({1: 0.5, 2: 0.7}), legs({}), legs({}), legs({})),
        ]
    )
    found = [(c.collection, c.point) for c in pool.candidates()]
    assert found == [("one", 1), ("two", 2), ("two", 1)]
    assert all(c.dense is not None and c.dense.rank in (1, 2) for c in pool.candidates())


def test_a_deeper_look_finds_no_more_above_a_similarity_that_this_one_went_below() -> None:
    pool = fused({1: 0.9, 2: 0.6}, {3: 5.0}, other_dense={3: 0.1})
    assert pool.has_all_above(0.7)
    assert not pool.has_all_above(0.6), "another one may have .6 as well"
    assert not pool.has_all_above(0.0)
    assert not lexical_pool([LegResults("docs", None, legs({1: 7.0}))]).has_all_above(0.5)


def test_one_leg_is_certain_of_those_that_are_better_than_its_last() -> None:
    pool = dense_pool([LegResults("docs", legs({1: 0.9, 2: 0.5, 3: 0.5}), None)])
    assert pool.is_certain_of(1)
    assert not pool.is_certain_of(2)
    assert fused({1: 0.9, 2: 0.5}, {}).is_certain_of(2)


@pytest.mark.parametrize(
    ("wanted", "depth"), [(1, 50), (50, 50), (51, 100), (100, 100), (101, 200), (1000, 1600)]
)
def test_legs_are_asked_in_doubling_depths(wanted: int, depth: int) -> None:
    assert depth_for(wanted) == depth


@pytest.mark.parametrize(
    ("scores", "depth", "end"),
    [
        ([5, 4, 3, 2, 1], 10, 5),
        ([5, 4, 3, 2, 1], 5, 5),
        ([5, 4, 3, 2, 1], 3, 3),
        ([5, 4, 3, 3, 1], 3, 2),  # the tie is left out
        ([5, 3, 3, 3, 1], 3, 4),  # too few would be left: all of it is taken
        ([3, 3, 3, 3], 3, 4),
        ([5] + [3] * LONGEST_TIE + [1], 3, LONGEST_TIE + 1),
        ([5] + [3] * (LONGEST_TIE + 1) + [1], 3, 1),  # so long a tie tells nothing
        ([5, 5, 3, 3, 1, 1, 1], 5, 4),
    ],
)
def test_a_look_ends_where_no_tie_is_cut(scores: list[float], depth: int, end: int) -> None:
    assert cutoff(scores, depth) == end


@given(st.integers(0, 2**32), st.sampled_from([0, 3, 12, 60]))
def test_a_deeper_look_only_appends(seed: int, values: int) -> None:
    """The order of the first ones does not depend on how many more were asked for.

    With few different values, most looks end within a tie.
    """
    chance = random.Random(seed)
    cosines = [chance.uniform(-1, 1) for _ in range(400)]
    weights = [chance.uniform(0.01, 50) for _ in range(400)]
    if values:
        cosines = [round(cosine * values) / values for cosine in cosines]
        weights = [1 + chance.randrange(values) for _ in range(400)]
    dense, lexical = legs(dict(enumerate(cosines))), legs(dict(enumerate(weights)))

    def at(depth: int) -> list[tuple[int, float]]:
        ends = [cutoff(leg.scores, depth) for leg in (dense, lexical)]
        top = [
            Ranking(leg.points[:end], leg.scores[:end])
            for leg, end in zip((dense, lexical), ends, strict=True)
        ]
        known = [set(ranking.points) for ranking in top]
        others = [
            legs({point: whole[point] for point in known[1 - leg] - known[leg]})
            for leg, whole in enumerate((cosines, weights))
        ]
        pool = fuse([LegResults("docs", top[0], top[1], others[0], others[1])])
        return [(c.point, c.score) for c in pool.candidates()]

    few, more, most = at(50), at(100), at(400)
    assert more[: len(few)] == few
    assert most[: len(more)] == more
    scores = [score for _, score in most]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_leg_that_alone_is_searched_deeper_only_appends() -> None:
    found = {number: 0.9 - number / 1000 for number in range(100)}

    def at(depth: int) -> list[tuple[int, float]]:
        dense = {number: found[number] for number in range(depth)}
        pool = fused(dense, {200: 5.0}, other_dense={200: 0.95})
        return [(one.point, one.score) for one in pool.candidates()]

    assert at(100)[:51] == at(50)


def test_one_leg_of_several_collections_has_one_order() -> None:
    """Cosines compare; BM25 scores are relative to the best one of their collection."""
    found = [
        LegResults("one", legs({1: 0.9, 2: 0.3}), legs({1: 8.0, 2: 2.0})),
        LegResults("two", legs({1: 0.5}), legs({1: 3.0, 3: 1.5})),
    ]
    dense = [(c.collection, c.point, c.score, c.similarity) for c in dense_pool(found).candidates()]
    assert dense == [("one", 1, 0.9, 0.9), ("two", 1, 0.5, 0.5), ("one", 2, 0.3, 0.3)]
    lexical = [(c.collection, c.point, c.score) for c in lexical_pool(found).candidates()]
    assert lexical == [("one", 1, 1.0), ("two", 1, 1.0), ("two", 3, 0.5), ("one", 2, 0.25)]
    raw = [c.lexical and c.lexical.score for c in lexical_pool(found).candidates()]
    assert raw == [8.0, 3.0, 1.5, 2.0]


def test_a_pool_is_exhausted_if_all_collections_are() -> None:
    one, two = (LegResults(name, legs({1: 0.9}), legs({1: 2.0})) for name in ("one", "two"))
    for make in (fuse, dense_pool, lexical_pool):
        assert not make([one._replace(exhausted=True), two]).exhausted
        assert make([one._replace(exhausted=True), two._replace(exhausted=True)]).exhausted


@pytest.mark.parametrize(
    ("scores", "shares"),
    [([4.0, 1.0, 0.0], [1.0, 0.25, 0.0]), ([-2.0, -3.0, -9.0], [1.0, 2 / 3, 0.0])],
)
def test_a_score_that_is_not_a_cosine_is_relative_to_the_best(
    scores: list[float], shares: list[float]
) -> None:
    """A negative one, as engines give for distances, is measured from twice the best less one."""
    ranking = Ranking([1, 2, 3], scores, [0.9, 0.8, 0.1])
    found = everything(dense_pool([LegResults("docs", ranking, None)]))
    assert [one.score for one in found] == pytest.approx(shares)
    assert [one.similarity for one in found] == [0.9, 0.8, 0.1]


def test_a_score_is_the_sum_of_its_shares_and_never_above_one() -> None:
    """With these numbers, a share by a factor that was divided beforehand is a bit too much."""
    [best] = everything(fused({1: 0.037327678734741854}, {1: 0.037327678734741854}))
    assert best.score == 1.0
    for one in everything(fused({1: 0.9, 2: 0.71, 3: 0.33}, {2: 7.3, 4: 1.9}, {4: 0.41})):
        assert one.dense is not None
        assert one.lexical is not None
        assert one.score == one.dense.share + one.lexical.share


@given(
    st.dictionaries(st.integers(0, 30), st.floats(-1, 1), max_size=15),
    st.dictionaries(st.integers(0, 30), st.floats(0.01, 50), max_size=15),
    st.booleans(),
)
def test_a_scale_reaches_from_the_lowest_to_the_highest_of_all_rows(
    dense: dict[int, float], lexical: dict[int, float], is_answered: bool
) -> None:
    """Also where a leg has no score for what the other one found."""
    others = {key: (key - 15) / 15 for key in lexical.keys() - dense.keys()} if is_answered else {}
    pool = fused(dense, lexical, others)
    for leg in (pool.dense, pool.lexical):
        assert leg is not None
        [(low, width)] = leg.scales
        if leg.scores and max(leg.scores) - min(leg.scores) > 1e-9:
            assert (low, low + width) == pytest.approx((min(leg.scores), max(leg.scores)))


@given(
    st.dictionaries(st.integers(0, 30), st.floats(-1, 1), max_size=15),
    st.dictionaries(st.integers(0, 30), st.floats(0.01, 50), max_size=15),
)
def test_fused_scores_are_in_bounds_in_order_and_complete(
    dense: dict[int, float], lexical: dict[int, float]
) -> None:
    candidates = everything(fused(dense, lexical))
    assert {c.point for c in candidates} == dense.keys() | lexical.keys()
    assert all(0 <= c.score <= 1 for c in candidates)
    scores = [c.score for c in candidates]
    assert scores == sorted(scores, reverse=True)


def test_scores_next_to_nothing_overflow_nowhere() -> None:
    """The smallest numbers there are: a division by one of them is infinite."""
    for low, high in ((0.0, 2.3e-309), (5e-324, 1e-308), (-1e-308, 0.0)):
        scores = [c.score for c in everything(fused({0: low, 1: high}, {}))]
        assert all(0 <= score <= 1 for score in scores)
