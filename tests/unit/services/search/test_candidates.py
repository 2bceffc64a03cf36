"""Looking for candidates: what each leg is asked, and that nothing is lost by not asking."""

import random
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import WordEmbedder, record, word_terms
from support.fakes.indexes import MemoryIndex
from surefind.adapters.qdrant.points import ranked
from surefind.model import Ranking
from surefind.ports import DenseQuery, IndexEntry, SparseQuery
from surefind.services.search.candidates import CollectionScope, EncodedQuery, find
from surefind.services.search.ranking.depth import LONGEST_TIE, cutoff
from surefind.services.search.ranking.fusion import LegResults, Pool, fuse

DIMENSIONS = 16
WORDS = ("install", "configure", "search", "passages", "linux", "sunshine")
TEXTS = [f"{one} {other} the program" for one in WORDS for other in WORDS]
EMBEDDER = WordEmbedder(DIMENSIONS)


class ListeningIndex(MemoryIndex):
    """An exact index that remembers what it was asked."""

    def __init__(self, entries: Mapping[UUID, IndexEntry]) -> None:
        super().__init__(entries)
        self.asked: list[DenseQuery | SparseQuery] = []

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        self.asked += queries
        return await super().search(queries)


@pytest.fixture(scope="module")
def entries() -> dict[UUID, IndexEntry]:
    made = [
        IndexEntry(record(number), EMBEDDER.embed(text), word_terms(text))
        for number, text in enumerate(TEXTS)
    ]
    return {entry.record.chunk.point_id: entry for entry in made}


def question(text: str) -> EncodedQuery:
    return EncodedQuery(EMBEDDER.embed(text), word_terms(text))


async def asked_in_full(question: EncodedQuery, index: MemoryIndex, depth: int) -> Pool:
    """As it would be with all scores of both legs at hand."""
    assert question.vector is not None
    assert question.terms is not None
    everyone = len(TEXTS)
    dense, lexical = await index.search(
        [DenseQuery(question.vector, everyone), SparseQuery(question.terms, everyone)]
    )
    by_dense = set(dense.points[: cutoff(dense.scores, depth)])
    by_lexical = set(lexical.points[: cutoff(lexical.scores, depth)])
    return fuse(
        [
            LegResults(
                "docs",
                restricted_to(by_dense, dense),
                restricted_to(by_lexical, lexical),
                restricted_to(by_lexical - by_dense, dense),
                restricted_to(by_dense - by_lexical, lexical),
            )
        ]
    )


def restricted_to(points: Collection[int], ranking: Ranking) -> Ranking:
    kept = [row for row, point in enumerate(ranking.points) if point in points]
    return Ranking([ranking.points[row] for row in kept], [ranking.scores[row] for row in kept])


@pytest.mark.parametrize("depth", [3, 5, 11, 12, 20, 36, 100])
@pytest.mark.parametrize("text", ["install sunshine", "search", "zebra", "the program on linux"])
async def test_what_is_not_asked_twice_changes_no_score(
    entries: dict[UUID, IndexEntry], text: str, depth: int
) -> None:
    index = ListeningIndex(entries)
    pool = await find(question(text), [CollectionScope("docs", index)], depth)
    wanted = await asked_in_full(question(text), index, depth)
    assert described(pool) == described(wanted)


def described(pool: Pool) -> list[tuple[object, ...]]:
    return [(one.point, one.score, one.dense, one.lexical) for one in pool.candidates()]


@pytest.mark.parametrize(
    ("word", "depth", "looks"),
    [("sunshine", 12, 1), ("sunshine", 11, 1), ("sunshine", 10, 2), ("program", 30, 2)],
)
async def test_an_exhausted_lexical_leg_is_not_asked_for_other_scores(
    entries: dict[UUID, IndexEntry], word: str, depth: int, looks: int
) -> None:
    """Eleven texts hold "sunshine", with equal scores: at a depth of ten, a second probe sees all
    of the tie. All 36 hold "program".
    """
    index = ListeningIndex(entries)
    await find(question(word), [CollectionScope("docs", index)], depth)
    assert sum(isinstance(query, SparseQuery) for query in index.asked) == looks


class ChancyIndex(ListeningIndex):
    """Which of several tied points it returns is left to chance, as in a real engine."""

    def __init__(self, entries: Mapping[UUID, IndexEntry], seed: int) -> None:
        super().__init__(entries)
        self._chance = random.Random(seed)

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        whole = await super().search([query._replace(limit=len(TEXTS)) for query in queries])
        return [
            ranked(*self._first(ranking, query.limit))
            for query, ranking in zip(queries, whole, strict=True)
        ]

    def _first(self, ranking: Ranking, limit: int) -> tuple[list[int], list[float]]:
        pairs = list(zip(ranking.points, ranking.scores, strict=True))
        self._chance.shuffle(pairs)
        pairs.sort(key=lambda pair: -pair[1])
        return [point for point, _ in pairs[:limit]], [score for _, score in pairs[:limit]]


@given(
    st.sampled_from(["install", "search passages", "the program", "linux sunshine", "zebra"]),
    st.sampled_from([2, 3, 5, 8, 13, 21]),
    st.integers(0, 2**32),
)
async def test_the_pool_does_not_depend_on_which_tied_points_an_index_returns(
    entries: dict[UUID, IndexEntry], text: str, depth: int, seed: int
) -> None:
    one, other = (ChancyIndex(entries, seed + number) for number in (0, 1))
    pools = [
        await find(question(text), [CollectionScope("docs", index)], depth)
        for index in (one, other)
    ]
    assert described(pools[0]) == described(pools[1])
    assert len(pools[0])


async def test_a_tie_of_everything_in_both_legs_still_finds_something() -> None:
    """The same passage more often than a tie may be long."""
    vector, terms = EMBEDDER.embed("install"), word_terms("install")
    made = [IndexEntry(record(number), vector, terms) for number in range(LONGEST_TIE + 20)]
    index = MemoryIndex({entry.record.chunk.point_id: entry for entry in made})
    pool = await find(question("install"), [CollectionScope("docs", index)], 50)
    assert len(pool) >= 50
    assert not pool.exhausted


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 2.0]), st.integers(0, 10**6))))
def test_ties_go_by_the_number_of_the_point(found: list[tuple[float, int]]) -> None:
    scores = sorted((score for score, _ in found), reverse=True)
    points = [number for _, number in found]
    ranking = ranked(points, scores)
    pairs = sorted(zip(scores, points, strict=True), key=lambda pair: (-pair[0], pair[1]))
    assert list(zip(ranking.scores, ranking.points, strict=True)) == pairs
