"""Finds candidates: searches both legs in each collection, and fuses the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surefind.model import Condition, Mode, Ranking, SparseVector
from surefind.ports import DenseQuery, SparseQuery, Vector, VectorIndex
from surefind.services.encoding.unknown_words import ReplacedWord
from surefind.services.search.ranking.depth import cutoff, deeper_limit
from surefind.services.search.ranking.fusion import LegResults, Pool, dense_pool, fuse, lexical_pool


class EncodedQuery(NamedTuple):
    """A query encoded for each leg; None for a leg that is not searched.

    `context` is the share of the conversation before it that was encoded with it. `replaced` are
    its unknown words, for which `terms` has similar ones.
    """

    vector: Vector | None
    terms: SparseVector | None
    context: float = 0.0
    replaced: tuple[ReplacedWord, ...] = ()

    @property
    def mode(self) -> Mode:
        if self.vector is None:
            return Mode.LEXICAL
        return Mode.DENSE if self.terms is None else Mode.HYBRID


@dataclass(frozen=True, slots=True)
class CollectionScope:
    """The index of a collection, and the filter for its passages."""

    collection: str
    index: VectorIndex
    where: tuple[Condition, ...] = ()


class LegRanking(NamedTuple):
    """The results of one leg; `exhausted` if there are no more."""

    ranking: Ranking
    exhausted: bool


async def find(query: EncodedQuery, scopes: Sequence[CollectionScope], depth: int) -> Pool:
    """The candidates of all scopes, in a single ranking."""
    found = [await _search(query, scope, depth) for scope in scopes]
    if query.mode is Mode.HYBRID:
        return fuse(found)
    return dense_pool(found) if query.mode is Mode.DENSE else lexical_pool(found)


async def _search(query: EncodedQuery, scope: CollectionScope, depth: int) -> LegResults:
    if query.vector is not None and query.terms is not None:
        return await _search_both(query.vector, query.terms, scope, depth)
    [ranking] = await scope.index.search(_leg_queries(query, scope, depth))
    exhausted = len(ranking.points) < depth
    if query.vector is None:
        return LegResults(scope.collection, None, ranking, exhausted=exhausted)
    return LegResults(scope.collection, ranking, None, exhausted=exhausted)


async def _search_both(
    vector: Vector, terms: SparseVector, scope: CollectionScope, depth: int
) -> LegResults:
    """Search both legs, then get the missing score of each point that only one of them found."""
    leg_queries = _leg_queries(EncodedQuery(vector, terms), scope, depth + 1)
    rankings = await scope.index.search(leg_queries)
    dense, lexical = [
        await cut_at_depth(leg_query, ranking, scope.index, depth)
        for leg_query, ranking in zip(leg_queries, rankings, strict=True)
    ]
    if not dense.ranking.points and not lexical.ranking.points:  # both consist of a single long tie
        dense, lexical = (LegRanking(ranking, exhausted=False) for ranking in rankings)
    by_dense, by_lexical = frozenset(dense.ranking.points), frozenset(lexical.ranking.points)
    only_lexical = by_lexical - by_dense
    others: list[DenseQuery | SparseQuery] = [DenseQuery(vector, len(only_lexical), only_lexical)]
    if not lexical.exhausted:  # if it is, no other passage has a word of the query
        only_dense = by_dense - by_lexical
        others.append(SparseQuery(terms, len(only_dense), only_dense))
    other_dense, *other_lexical = await scope.index.search(others)
    return LegResults(
        scope.collection,
        dense.ranking,
        lexical.ranking,
        other_dense,
        other_lexical[0] if other_lexical else None,
        dense.exhausted,
    )


def _leg_queries(
    query: EncodedQuery, scope: CollectionScope, limit: int
) -> list[DenseQuery | SparseQuery]:
    leg_queries: list[DenseQuery | SparseQuery] = []
    if query.vector is not None:
        leg_queries.append(DenseQuery(query.vector, limit, where=scope.where))
    if query.terms is not None:
        leg_queries.append(SparseQuery(query.terms, limit, where=scope.where))
    return leg_queries


async def cut_at_depth(
    leg_query: DenseQuery | SparseQuery, ranking: Ranking, index: VectorIndex, depth: int
) -> LegRanking:
    """Cut a ranking at this depth, independently of the order of tied points.

    `ranking` is the result of `leg_query`, with one point beyond the depth if there are more.
    """
    limit = leg_query.limit
    if deeper := deeper_limit(ranking.scores, depth):
        limit = deeper
        [ranking] = await index.search([leg_query._replace(limit=limit)])
    found, end = len(ranking.points), cutoff(ranking.scores, depth)
    if end == found:
        return LegRanking(ranking, exhausted=found < limit)
    cosines = None if ranking.cosines is None else ranking.cosines[:end]
    taken = Ranking(ranking.points[:end], ranking.scores[:end], cosines)
    return LegRanking(taken, exhausted=False)
