"""Finding candidates: what each leg has to say to a question, in each collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surefind.model import Condition, Mode, Ranking, SparseVector
from surefind.ports import DenseQuery, SparseQuery, Vector, VectorIndex
from surefind.services.search.fusion import (
    LegResults,
    Pool,
    dense_pool,
    fuse,
    lexical_pool,
    look_end,
    must_ask_deeper,
)


class EncodedQuery(NamedTuple):
    """A question as the legs read it; a leg that is not asked has None."""

    vector: Vector | None
    terms: SparseVector | None

    @property
    def mode(self) -> Mode:
        if self.vector is None:
            return Mode.LEXICAL
        return Mode.DENSE if self.terms is None else Mode.HYBRID


class LegRanking(NamedTuple):
    """What one leg found; `exhausted` where there is nothing more to find."""

    ranking: Ranking
    exhausted: bool


@dataclass(frozen=True, slots=True)
class CollectionScope:
    """Where to look: one collection's index, and what a passage there must meet."""

    collection: str
    index: VectorIndex
    where: tuple[Condition, ...] = ()


async def find(question: EncodedQuery, places: Sequence[CollectionScope], depth: int) -> Pool:
    """The candidates of all places in one order."""
    found = [await _look(question, place, depth) for place in places]
    if question.mode is Mode.HYBRID:
        return fuse(found)
    return dense_pool(found) if question.mode is Mode.DENSE else lexical_pool(found)


async def _look(question: EncodedQuery, place: CollectionScope, depth: int) -> LegResults:
    if question.vector is not None and question.terms is not None:
        return await _look_twice(question.vector, question.terms, place, depth)
    [ranking] = await place.index.search(_queries(question, place, depth))
    exhausted = len(ranking.points) < depth
    if question.vector is None:
        return LegResults(place.collection, None, ranking, exhausted=exhausted)
    return LegResults(place.collection, ranking, None, exhausted=exhausted)


async def _look_twice(
    vector: Vector, terms: SparseVector, place: CollectionScope, depth: int
) -> LegResults:
    """First for what either leg finds, then for the scores of what only one of them found."""
    queries = _queries(EncodedQuery(vector, terms), place, depth + 1)
    raw = await place.index.search(queries)
    dense, lexical = [
        await settled(query, ranking, place.index, depth)
        for query, ranking in zip(queries, raw, strict=True)
    ]
    if not dense.ranking.points and not lexical.ranking.points:  # one endless tie in both
        dense, lexical = (LegRanking(ranking, exhausted=False) for ranking in raw)
    by_dense, by_lexical = frozenset(dense.ranking.points), frozenset(lexical.ranking.points)
    only_lexical = by_lexical - by_dense
    second: list[DenseQuery | SparseQuery] = [DenseQuery(vector, len(only_lexical), only_lexical)]
    if not lexical.exhausted:  # otherwise no other passage shares a word with the question
        only_dense = by_dense - by_lexical
        second.append(SparseQuery(terms, len(only_dense), only_dense))
    others = await place.index.search(second)
    return LegResults(
        place.collection,
        dense.ranking,
        lexical.ranking,
        others[0],
        None if lexical.exhausted else others[1],
        dense.exhausted,
    )


def _queries(
    question: EncodedQuery, place: CollectionScope, limit: int
) -> list[DenseQuery | SparseQuery]:
    queries: list[DenseQuery | SparseQuery] = []
    if question.vector is not None:
        queries.append(DenseQuery(question.vector, limit, where=place.where))
    if question.terms is not None:
        queries.append(SparseQuery(question.terms, limit, where=place.where))
    return queries


async def settled(
    query: DenseQuery | SparseQuery, ranking: Ranking, index: VectorIndex, depth: int
) -> LegRanking:
    """What a look of this depth takes, whichever of several tied points the index returned.

    The ranking is the probe's answer, and reaches beyond the depth by one where there is more.
    """
    limit = query.limit
    deeper = must_ask_deeper(ranking.scores, depth)
    if deeper:
        limit = deeper
        [ranking] = await index.search([query._replace(limit=limit)])
    found, end = len(ranking.points), look_end(ranking.scores, depth)
    if end == found:
        return LegRanking(ranking, exhausted=found < limit)
    cosines = None if ranking.cosines is None else ranking.cosines[:end]
    taken = Ranking(ranking.points[:end], ranking.scores[:end], cosines)
    return LegRanking(taken, exhausted=False)
