"""Looking for candidates: what each leg is asked, and that nothing is lost by not asking."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import WordEmbedder, record, word_terms
from fakes.indexes import MemoryIndex
from surefind.adapters.qdrant_points import ranked
from surefind.model import Ranking
from surefind.ports import DenseProbe, IndexEntry, TermProbe
from surefind.services.candidates import Place, Question, find
from surefind.services.fusion import Found, Pool, fuse

DIMENSIONS = 16
WORDS = ("install", "configure", "search", "passages", "linux", "sunshine")
TEXTS = [f"{one} {other} the program" for one in WORDS for other in WORDS]
EMBEDDER = WordEmbedder(DIMENSIONS)


class ListeningIndex(MemoryIndex):
    """An exact index that remembers what it was asked."""

    def __init__(self, entries: Mapping[UUID, IndexEntry]) -> None:
        super().__init__(entries)
        self.asked: list[DenseProbe | TermProbe] = []

    async def probe(self, probes: Sequence[DenseProbe | TermProbe]) -> list[Ranking]:
        self.asked += probes
        return await super().probe(probes)


@pytest.fixture(scope="module")
def entries() -> dict[UUID, IndexEntry]:
    made = [
        IndexEntry(record(number), EMBEDDER._embed(text), word_terms(text))
        for number, text in enumerate(TEXTS)
    ]
    return {entry.record.chunk.point_id: entry for entry in made}


def question(text: str) -> Question:
    return Question(EMBEDDER._embed(text), word_terms(text))


async def asked_in_full(question: Question, index: MemoryIndex, depth: int) -> Pool:
    """As it would be with every candidate asked for in both legs, whoever found it."""
    assert question.vector is not None
    assert question.terms is not None
    dense, lexical = await index.probe(
        [DenseProbe(question.vector, depth), TermProbe(question.terms, depth)]
    )
    union = frozenset([*dense.points, *lexical.points])
    both = await index.probe(
        [
            DenseProbe(question.vector, len(union), union),
            TermProbe(question.terms, len(union), union),
        ]
    )
    return fuse([Found("docs", dense, lexical, *both)])


@pytest.mark.parametrize("depth", [3, 5, 11, 12, 20, 36, 100])
@pytest.mark.parametrize("text", ["install sunshine", "search", "zebra", "the program on linux"])
async def test_what_is_not_asked_twice_changes_no_score(
    entries: dict[UUID, IndexEntry], text: str, depth: int
) -> None:
    index = ListeningIndex(entries)
    pool = await find(question(text), [Place("docs", index)], depth)
    wanted = await asked_in_full(question(text), index, depth)
    assert told(pool) == told(wanted)


def told(pool: Pool) -> list[tuple[object, ...]]:
    return [(one.point, one.score, one.dense, one.lexical) for one in pool.candidates()]


@pytest.mark.parametrize(("depth", "looks"), [(10, 2), (11, 2), (12, 1)])
async def test_a_lexical_leg_that_told_all_it_knows_is_asked_once(
    entries: dict[UUID, IndexEntry], depth: int, looks: int
) -> None:
    """Eleven texts hold the word: who asks for twelve has seen that there is no other."""
    index = ListeningIndex(entries)
    await find(question("sunshine"), [Place("docs", index)], depth)
    assert sum(isinstance(probe, TermProbe) for probe in index.asked) == looks


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 2.0]), st.integers(0, 10**6))))
def test_ties_go_by_the_number_of_the_point(found: list[tuple[float, int]]) -> None:
    scores = sorted((score for score, _ in found), reverse=True)
    points = [number for _, number in found]
    ranking = ranked(points, scores)
    pairs = sorted(zip(scores, points, strict=True), key=lambda pair: (-pair[0], pair[1]))
    assert list(zip(ranking.scores, ranking.points, strict=True)) == pairs
