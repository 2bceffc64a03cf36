"""Fuses the results of the dense and the lexical leg.

The candidates are the union of both legs' results, with their exact score in both legs. The scores
of each leg are scaled to 0..1 over the union, and the fused score is their weighted sum.

The scale is set by the first batch, the best fifty of each leg. A larger `top_k` searches deeper:
the next fifty, the next hundred … are appended as later batches on the same scale, and never
reorder earlier ones.

A search ranks about eighty candidates and returns five. So a pool stores its candidates in columns,
and creates `Candidate` objects only for the few that are used.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import NamedTuple, TypeAlias

from surefind.model import LegScore, PageScore, Ranking
from surefind.services.search.ranking.depth import cutoffs

DENSE_WEIGHT = 0.6
"""Results are equally good from .5 to .7; see `make bench-quality`."""

_NOTHING = 1e-100
"""Smaller differences count as equal, because dividing by them would overflow."""

_EMPTY = Ranking([], [])

Scale: TypeAlias = tuple[float, float]
"""The score that maps to 0, and its distance to the score that maps to 1."""


class LegResults(NamedTuple):
    """The results of both legs in one collection.

    `other_dense` has the dense scores of points that only the lexical leg found, `other_lexical`
    the reverse. `exhausted` means that a deeper search would find nothing more.
    """

    collection: str
    dense: Ranking | None
    lexical: Ranking | None
    other_dense: Ranking | None = None
    other_lexical: Ranking | None = None
    exhausted: bool = False


@dataclass(slots=True, eq=False)
class Leg:
    """A leg: its `scores` by row, and its own ranking and scale for each collection.

    `cosines` are by point, and empty if the dense scores are cosines. A collection whose engine
    ranks by another measure is searched alone.
    """

    weight: float
    rankings: list[Ranking]
    cosines: dict[int, float] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    _ranks: list[dict[int, int]] = field(default_factory=list)

    def rank(self, point: int, origin: int) -> int | None:
        if not self._ranks:  # created on demand, because most searches need few ranks
            self._ranks = [dict(zip(own.points, count(1), strict=False)) for own in self.rankings]
        return self._ranks[origin].get(point)

    def contribution(self, score: float, origin: int = 0) -> float:
        """The part of the fused score, clamped to the scale."""
        low, width = self.scales[origin]
        return self.weight * _clamped((score - low) / width)


@dataclass(slots=True, eq=False)
class Pool:
    """All candidates of a search.

    By row: `points`, `origins` (the number of its collection), and each leg's scores. `order` has
    the rows, best first, and `scores` the final score of each in that order. `later` has the rows
    of later batches, with the number of their batch.
    """

    collections: Sequence[str]
    dense: Leg | None
    lexical: Leg | None
    exhausted: bool
    points: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    later: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def similarities(self) -> list[float]:
        """The cosine of each row."""
        assert self.dense is not None
        cosines = self.dense.cosines
        return [cosines.get(p, 0.0) for p in self.points] if cosines else self.dense.scores

    @property
    def best_similarity(self) -> float | None:
        """None if nothing was embedded or found."""
        if self.dense is None or not self.points:
            return None
        return _clamped(max(self.similarities))

    def ranked(self, threshold: float = 0.0) -> Iterator[tuple[int, float]]:
        """The rows that reach the threshold and their scores, best first."""
        ranked = zip(self.order, self.scores, strict=True)
        if self.dense is None or threshold <= 0:
            return ranked
        similarities = self.similarities
        return ((row, score) for row, score in ranked if similarities[row] >= threshold)

    def candidates(self, threshold: float = 0.0) -> Iterator["Candidate"]:
        """The candidates that reach the threshold, best first."""
        for row, score in self.ranked(threshold):
            yield self.candidate(row, score)

    def candidate(
        self,
        row: int,
        score: float,
        weight: float = 1.0,
        *,
        exact_heading: bool = False,
        page: PageScore | None = None,
    ) -> "Candidate":
        collection = self.collections[self.origins[row]]
        return Candidate(
            collection, self.points[row], score, self, row, weight, exact_heading, page
        )

    def first_batch(self, origin: int) -> tuple[Sequence[int], Sequence[int]]:
        """The rows of a collection that are in no later batch, and their points."""
        if not self.later and len(self.collections) == 1:
            return range(len(self.points)), self.points
        rows = [
            row for row, of in enumerate(self.origins) if of == origin and row not in self.later
        ]
        return rows, [self.points[row] for row in rows]

    def has_all_above(self, threshold: float) -> bool:
        """Whether a deeper search can't find more candidates that reach the threshold.

        True if the dense leg ranks by cosine and got below the threshold in every collection.
        """
        if self.dense is None or threshold <= 0 or self.dense.cosines:
            return False
        return all(own.scores and own.scores[-1] < threshold for own in self.dense.rankings)

    def is_certain_of(self, wanted: int) -> bool:
        """Whether a deeper search can't change the first `wanted` candidates.

        Fused candidates never move. In a single leg, a tie may continue beyond the end, and its
        order is only known once it is complete.
        """
        if self.dense is not None and self.lexical is not None:
            return True
        return len(self) <= wanted or self.scores[wanted - 1] > self.scores[-1]

    def rank(self, point: int) -> int | None:
        """The rank of a point of the first collection; None for other points."""
        for rank, row in enumerate(self.order, start=1):
            if self.points[row] == point and not self.origins[row]:
                return rank
        return None

    def score_for(self, dense: float | None, lexical: float | None) -> float:
        """The score of a candidate with these raw scores in the first collection."""
        score = 0.0
        for leg, raw in ((self.dense, dense), (self.lexical, lexical)):
            if leg is not None and raw is not None:
                score += leg.contribution(raw)
        return score


@dataclass(slots=True, eq=False)
class Candidate:
    """A row of a pool, with its final score in 0..1.

    Not frozen, which would double the time to create the hundreds that a search may need.
    """

    collection: str
    point: int
    score: float
    pool: Pool = field(repr=False)
    row: int = field(repr=False)
    weight: float = 1.0
    exact_heading: bool = False
    page: PageScore | None = None

    @property
    def dense(self) -> LegScore | None:
        return self._leg_score(self.pool.dense)

    @property
    def lexical(self) -> LegScore | None:
        return self._leg_score(self.pool.lexical)

    @property
    def similarity(self) -> float | None:
        """The cosine, clamped to 0..1; None if the query was not embedded."""
        leg = self.pool.dense
        if leg is None:
            return None
        return _clamped(leg.cosines.get(self.point, leg.scores[self.row]))

    def _leg_score(self, leg: Leg | None) -> LegScore | None:
        if leg is None:
            return None
        origin, score = self.pool.origins[self.row], leg.scores[self.row]
        cosine = leg.cosines.get(self.point) if leg.cosines else None
        return LegScore(
            score, leg.rank(self.point, origin), leg.contribution(score, origin), cosine
        )


# --- one leg alone ----------------------------------------------------------------------------


def dense_pool(found: Sequence[LegResults]) -> Pool:
    """Ranked by cosine, or relative to the best score if the engine ranks by another measure."""
    leg = _dense_leg(found, weight=1.0)
    pool = _pool(found, leg, None)
    for origin, ranking in enumerate(leg.rankings):
        _add(pool, origin, ranking.points)
        leg.scores += ranking.scores
    leg.scales = [_up_to(max(leg.scores)) if leg.cosines else (0.0, 1.0)] * len(found)
    pool.order = _best_first(leg.scores, pool)
    score = leg.contribution if leg.cosines else _clamped
    pool.scores = [score(leg.scores[row]) for row in pool.order]
    return pool


def lexical_pool(found: Sequence[LegResults]) -> Pool:
    """BM25 is unbounded, so scores are relative to the best one of each collection."""
    leg = _lexical_leg(found, weight=1.0)
    pool = _pool(found, None, leg)
    scores: list[float] = []
    for origin, ranking in enumerate(leg.rankings):
        _add(pool, origin, ranking.points)
        leg.scores += ranking.scores
        leg.scales.append((0.0, max(ranking.scores, default=1.0)))
        scores += [leg.contribution(score, origin) for score in ranking.scores]
    pool.order = _best_first(scores, pool)
    pool.scores = [scores[row] for row in pool.order]
    return pool


def _up_to(best: float) -> Scale:
    """A scale set by the best score alone, so that deeper searches don't change it."""
    low = 0.0 if best > 0 else 2 * best - 1
    return low, best - low


# --- both legs --------------------------------------------------------------------------------


def fuse(found: Sequence[LegResults]) -> Pool:
    """The weighted sum of both legs, each scaled over the candidates of the first batch.

    Cosines compare across collections, so the dense leg has one scale. BM25 scores depend on how
    rare a word is in a collection, so the lexical leg has a scale for each.
    """
    dense, lexical = _dense_leg(found, DENSE_WEIGHT), _lexical_leg(found, 1 - DENSE_WEIGHT)
    pool = _pool(found, dense, lexical)
    spans = [_add_union(pool, dense, lexical, *one) for one in enumerate(found)]
    later = _later_batches(found, pool)
    dense.scales = [_scale(dense.scores, slice(None), later)] * len(found)
    lexical.scales = [_scale(lexical.scores, span, later) for span in spans]
    fused: list[float] = []
    for origin, span in enumerate(spans):
        (dense_low, dense_width), (low, width) = dense.scales[origin], lexical.scales[origin]
        fused += [  # what `contribution` gives for scores within the scale, without its clamp
            dense.weight * ((cosine - dense_low) / dense_width)
            + lexical.weight * ((bm25 - low) / width)
            for cosine, bm25 in zip(dense.scores[span], lexical.scores[span], strict=True)
        ]
    pool.order = _best_first(fused, pool)
    pool.scores = [fused[row] for row in pool.order]
    if later:
        pool.later = later
        _append_later_batches(pool, dense, lexical, fused, later)
    return pool


def _add_union(pool: Pool, dense: Leg, lexical: Leg, origin: int, found: LegResults) -> slice:
    """Add the rows of a collection. A missing score is the lowest possible one."""
    by_dense = _by_point(dense.rankings[origin], found.other_dense)
    by_lexical = _by_point(lexical.rankings[origin], found.other_lexical)
    lexical.scores += [by_lexical.pop(point, 0.0) for point in by_dense]
    if by_lexical:  # the dense leg has no score for them
        lowest = min([0.0, *by_dense.values()]) if dense.cosines else 0.0
        by_dense |= dict.fromkeys(by_lexical, lowest)
        lexical.scores += by_lexical.values()
    dense.scores += by_dense.values()
    return _add(pool, origin, by_dense)


def _scale(scores: Sequence[float], rows: slice, later: Mapping[int, int]) -> Scale:
    """From the lowest score of the first batch to its highest.

    If all are equal, they map to 1, or to 0 if all are 0.
    """
    first = scores[rows]
    if later:
        first = [scores[row] for row in range(len(scores))[rows] if row not in later]
    low, high = (min(first), max(first)) if first else (0.0, 0.0)
    if high - low > _NOTHING:
        return low, high - low
    return (0.0, high) if high > _NOTHING else (low, 1.0)


def _append_later_batches(
    pool: Pool, dense: Leg, lexical: Leg, fused: list[float], later: Mapping[int, int]
) -> None:
    """Candidates of later batches come after all earlier ones, on the scale of the first batch.

    Their scores never exceed those of earlier candidates, so a larger `top_k` only appends.
    """
    for row in later:
        origin = pool.origins[row]
        fused[row] = dense.contribution(dense.scores[row], origin)
        fused[row] += lexical.contribution(lexical.scores[row], origin)
    pool.order = sorted(_best_first(fused, pool), key=lambda row: later.get(row, 0))
    pool.scores = list(accumulate((fused[row] for row in pool.order), min))


def _later_batches(found: Sequence[LegResults], pool: Pool) -> dict[int, int]:
    """The number of the batch of each row, without the rows of the first batch."""
    legs = [
        (origin, ranking.points, cutoffs(ranking.scores))
        for origin, results in enumerate(found)
        for ranking in (results.dense, results.lexical)
        if ranking is not None
    ]
    if all(len(ends) == 1 for _, _, ends in legs):
        return {}
    batches: dict[tuple[int, int], int] = {}
    for origin, points, ends in legs:
        for rank, point in enumerate(points, start=1):
            batch = bisect_left(ends, rank)
            batches[origin, point] = min(batch, batches.get((origin, point), batch))
    rows = enumerate(zip(pool.origins, pool.points, strict=True))
    return {row: batches[candidate] for row, candidate in rows if batches[candidate]}


# --- parts ------------------------------------------------------------------------------------


def _pool(found: Sequence[LegResults], dense: Leg | None, lexical: Leg | None) -> Pool:
    names = [results.collection for results in found]
    return Pool(names, dense, lexical, all(results.exhausted for results in found))


def _add(pool: Pool, origin: int, points: Collection[int]) -> slice:
    """Add rows for a collection's points, and return their slice."""
    start = len(pool.points)
    pool.points += points
    pool.origins += [origin] * len(points)
    return slice(start, len(pool.points))


def _dense_leg(found: Sequence[LegResults], weight: float) -> Leg:
    leg = Leg(weight, [results.dense or _EMPTY for results in found])
    for results in found:
        for ranking in (results.dense, results.other_dense):
            if ranking is not None and ranking.cosines is not None:
                leg.cosines.update(zip(ranking.points, ranking.cosines, strict=True))
    return leg


def _lexical_leg(found: Sequence[LegResults], weight: float) -> Leg:
    return Leg(weight, [results.lexical or _EMPTY for results in found])


def _by_point(own: Ranking, other: Ranking | None) -> dict[int, float]:
    scores = dict(zip(own.points, own.scores, strict=True))
    if other is not None:
        scores.update(zip(other.points, other.scores, strict=True))
    return scores


def _best_first(scores: Sequence[float], pool: Pool) -> list[int]:
    """Rows by score, ties by collection and point; the second sort runs only for ties."""
    rows = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    if len(set(scores)) < len(rows):
        rows.sort(key=lambda row: (-scores[row], pool.origins[row], pool.points[row]))
    return rows


def _clamped(score: float) -> float:
    return score if 0.0 < score < 1.0 else min(1.0, max(0.0, score))
