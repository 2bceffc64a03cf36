"""Two legs become one order.

Scores are fused, not ranks, over the union of both legs' candidates: each has its true score in
both legs, each leg is scaled to 0..1 over the union, and the fused score is their weighted sum.

The scale is that of the first fifty of each leg. Who asks for more gets the next fifty, the next
hundred and so on appended, on the same scale: asking for more never reorders what came first.

A search looks at some eighty candidates and returns five. So candidates are rows of columns
here, and what the legs say of one is told when it is asked for.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from surefind.model import LegScore, Ranking

DENSE_WEIGHT = 0.6
"""Measured flat from .5 to .7; see `make bench-quality`."""

DEPTH = 50
"""Measured flat from 30 to 200; see `make bench-fusion`."""

LONGEST_TIE = 500
"""A tie of more passages than this tells none of them from the others."""

_ENOUGH = 0.6
"""The share of a look that may stand for all of it: 30 candidates answer as well as 50."""

_POINT_BITS = 128
_POINT = (1 << _POINT_BITS) - 1
_NOTHING = 1e-100
"""Scores that differ by less are alike: what is divided by so little overflows."""

Scale = tuple[float, float]
"""Where a leg's share begins to grow, and how far it is from there to the full share."""


class LegResults(NamedTuple):
    """What the legs found in one collection; `other_…` are scores of what only one leg found.

    `exhausted` says that a deeper look would find nothing more.
    """

    collection: str
    dense: Ranking | None
    lexical: Ranking | None
    other_dense: Ranking | None = None
    other_lexical: Ranking | None = None
    exhausted: bool = False


@dataclass(slots=True)
class Leg:
    """One leg: every row's score, and the keys that it found itself in each collection.

    `cosines` are those of each key, where the scores of a dense leg are none.
    """

    scores: list[float] = field(default_factory=list)
    found: list[list[int]] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    weight: float = 1.0
    cosines: dict[int, float] = field(default_factory=dict)
    _ranks: dict[int, int] = field(default_factory=dict)

    @property
    def ranks(self) -> dict[int, int]:
        """By key, for those that it found itself; made when they are first asked for."""
        if not self._ranks:
            for keys in self.found:
                self._ranks.update(zip(keys, range(1, len(keys) + 1), strict=True))
        return self._ranks

    def contribution(self, score: float, collection: int = 0) -> float:
        """A raw score's part of the fused one. Below the scale's low end there is nothing."""
        low, width = self.scales[collection]
        return self.weight * _clamped((score - low) / width)

    def of(self, row: int, key: int) -> LegScore:
        score = self.scores[row]
        share = self.contribution(score, key >> _POINT_BITS)
        cosine = self.cosines.get(key) if self.cosines else None
        return LegScore(score, self.ranks.get(key), share, cosine)

    def similarities(self, keys: Sequence[int]) -> Sequence[float]:
        """The cosine of every row."""
        return [self.cosines.get(key, 0.0) for key in keys] if self.cosines else self.scores


@dataclass(slots=True, eq=False)
class Pool:
    """Candidates: `rows` are their order, with `scores` beside them; `keys` and legs go by row.

    A key is a point's number; that of a further collection has the collection's number above it:
    the same chunk in two collections is two candidates.
    """

    rows: Sequence[int]
    scores: Sequence[float]
    keys: Sequence[int]
    collections: Sequence[str]
    dense: Leg | None
    lexical: Leg | None
    exhausted: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def best_similarity(self) -> float | None:
        """None where nothing was embedded, or nothing found."""
        if not self.dense or not self.rows:
            return None
        return _clamped(max(self.dense.similarities(self.keys)))

    def candidates(self, threshold: float = 0.0) -> Iterator["Candidate"]:
        """Those whose similarity reaches the threshold, in their order."""
        cosines = self.dense.similarities(self.keys) if self.dense and threshold > 0 else None
        for row, score in zip(self.rows, self.scores, strict=True):
            if cosines is None or cosines[row] >= threshold:
                key = self.keys[row]
                collection = self.collections[key >> _POINT_BITS]
                yield Candidate(collection, key & _POINT, score, self, row)

    @property
    def goes_by_cosine(self) -> bool:
        """Whether those that reach a threshold come before those that do not."""
        return self.dense is None or not self.dense.cosines

    def has_all_above(self, threshold: float) -> bool:
        """Whether the dense leg went down to similarities below it: a deeper look finds no more."""
        if self.dense is None or threshold <= 0 or not self.goes_by_cosine:
            return False
        cosines = dict(zip(self.keys, self.dense.scores, strict=True))
        return all(found and cosines[found[-1]] < threshold for found in self.dense.found)

    def is_certain_of(self, count: int) -> bool:
        """Whether a deeper look would leave the first so many as they are.

        Two legs are fused on the scale of the first look, which stays. One leg alone may have ties
        that reach beyond its end, and who comes first among them is only known once all are seen.
        """
        if self.dense is not None and self.lexical is not None:
            return True
        return len(self) <= count or self.scores[count - 1] > self.scores[-1]

    def place(self, point: int) -> int | None:
        """Where a point of the first collection stands, from 1; None where it is no candidate."""
        for place, row in enumerate(self.rows, start=1):
            if self.keys[row] == point:
                return place
        return None

    def score_of(self, dense: float | None, lexical: float | None) -> float:
        """The fused score that a candidate with these raw scores would have."""
        score = 0.0
        for leg, raw in ((self.dense, dense), (self.lexical, lexical)):
            if leg is not None and raw is not None:
                score += leg.contribution(raw)
        return score


@dataclass(slots=True, eq=False)
class Candidate:
    """A row of a pool: `point` is its number, `score` its place in the order, in 0..1.

    It is not frozen, since that doubles what it costs, and every search makes many.
    """

    collection: str
    point: int
    score: float
    pool: Pool = field(repr=False)
    row: int

    @property
    def dense(self) -> LegScore | None:
        return self._said_by(self.pool.dense)

    @property
    def lexical(self) -> LegScore | None:
        return self._said_by(self.pool.lexical)

    @property
    def similarity(self) -> float | None:
        """The cosine, clamped to 0..1; None where the question was never embedded."""
        leg = self.pool.dense
        if leg is None:
            return None
        return _clamped(leg.cosines.get(self.pool.keys[self.row], leg.scores[self.row]))

    def _said_by(self, leg: Leg | None) -> LegScore | None:
        return None if leg is None else leg.of(self.row, self.pool.keys[self.row])


def depth_for(wanted: int) -> int:
    """How deep each leg is asked, so that at least so many candidates come: 50, 100, 200 …"""
    depth = DEPTH
    while depth < wanted:
        depth *= 2
    return depth


def look_end(scores: Sequence[float], depth: int) -> int:
    """How many of a leg's scores, best first, a look of this depth takes.

    Which of several tied points an engine returns is left to chance, so a tie that continues
    beyond the end is not cut: it is left out. Where that would leave too few, all of it is taken,
    unless it is so long that it tells nothing. `scores` must reach beyond the depth by one, and to
    the end of a tie that is taken.
    """
    if len(scores) <= depth or scores[depth - 1] > scores[depth]:
        return min(depth, len(scores))
    start = tie_start(scores, depth)
    if start >= _ENOUGH * depth:
        return start
    longest = min(len(scores), start + LONGEST_TIE + 1)
    end = next((row for row in range(depth, longest) if scores[row] < scores[depth]), longest)
    return end if end - start <= LONGEST_TIE else start


def tie_start(scores: Sequence[float], row: int) -> int:
    """The first row with the same score."""
    return bisect_left(scores, -scores[row], key=lambda score: -score)


def must_ask_deeper(scores: Sequence[float], depth: int) -> int:
    """How many to ask for to see the end of a tie that counts; 0 where it was seen."""
    if look_end(scores, depth) < len(scores) or len(scores) <= depth:
        return 0
    wanted = tie_start(scores, depth) + LONGEST_TIE + 1
    return wanted if len(scores) < wanted else 0


def dense_pool(found: Sequence[LegResults]) -> Pool:
    """Dense alone: the order is the cosine's, and so is the score.

    Where an engine ranks by something else, the order is its own, and the best is the measure.
    """
    leg, keys = Leg(scales=[(0.0, 1.0)] * len(found)), []
    for number, one in enumerate(found):
        keys += _add(leg, number, one.dense)
        _add_cosines(leg, number, one)
    rows = _best_first(leg.scores, keys)
    if leg.cosines:
        leg.scales = [_up_to(leg.scores[rows[0]])] * len(found)
        scores = [leg.contribution(leg.scores[row]) for row in rows]
    else:
        scores = [_clamped(leg.scores[row]) for row in rows]
    return Pool(rows, scores, keys, _names(found), leg, None, _exhausted(found))


def lexical_pool(found: Sequence[LegResults]) -> Pool:
    """Lexical alone: BM25 has no upper end, so the best of the answer is the measure."""
    leg, keys, shares = Leg(), [], []
    for number, one in enumerate(found):
        keys += _add(leg, number, one.lexical)
        own = one.lexical.scores if one.lexical else []
        leg.scales.append((0.0, max(own, default=1.0)))
        shares += [leg.contribution(score, number) for score in own]
    rows = _best_first(shares, keys)
    scores = [shares[row] for row in rows]
    return Pool(rows, scores, keys, _names(found), None, leg, _exhausted(found))


def _add(leg: Leg, number: int, ranking: Ranking | None) -> list[int]:
    keys = [] if ranking is None else _keys(number, ranking)
    leg.found.append(keys)
    leg.scores += [] if ranking is None else ranking.scores
    return keys


def _add_cosines(leg: Leg, number: int, found: LegResults) -> None:
    for ranking in (found.dense, found.other_dense):
        if ranking is not None and ranking.cosines is not None:
            leg.cosines.update(zip(_keys(number, ranking), ranking.cosines, strict=True))


def _up_to(best: float) -> Scale:
    """Of scores that may lie anywhere: it depends on the best alone, not on how many were found."""
    low = 0.0 if best > 0 else 2 * best - 1
    return low, best - low


class _Span(NamedTuple):
    """One collection's rows, and of each leg the scores that its scale reaches over."""

    rows: slice
    dense: Sequence[float]
    lexical: Sequence[float]


def fuse(found: Sequence[LegResults]) -> Pool:
    """Cosines compare across collections. BM25 does not: it depends on how rare a word is in each.

    So the dense leg has one scale for all, and the lexical leg one for each collection.
    """
    dense, lexical = Leg(weight=DENSE_WEIGHT), Leg(weight=1 - DENSE_WEIGHT)
    keys: list[int] = []
    spans: list[_Span] = []
    for number, one in enumerate(found):
        _add_cosines(dense, number, one)
        spans.append(_add_union(keys, dense, lexical, number, one))
    late = _late(keys, found)
    if late:
        spans = [_without(span, dense, lexical, late) for span in spans]
    dense.scales = [_scale([score for span in spans for score in span.dense])] * len(found)
    lexical.scales = [_scale(span.lexical) for span in spans]
    fused: list[float] = []
    for number, span in enumerate(spans):
        fused += _shares(dense, lexical, number, span.rows)
    for row in late:
        number = keys[row] >> _POINT_BITS
        fused[row] = dense.contribution(dense.scores[row], number)
        fused[row] += lexical.contribution(lexical.scores[row], number)
    rows = _best_first(fused, keys)
    scores = [fused[row] for row in rows]
    if late:  # what was appended never outranks what came first, nor does its score
        rows.sort(key=lambda row: late.get(row, 0))
        scores = list(accumulate((fused[row] for row in rows), min))
    return Pool(rows, scores, keys, _names(found), dense, lexical, _exhausted(found))


def _add_union(keys: list[int], dense: Leg, lexical: Leg, number: int, found: LegResults) -> _Span:
    """One collection's rows: what either leg found, each with its score in both."""
    by_dense = _scores_of(dense, number, found.dense, found.other_dense)
    by_lexical = _scores_of(lexical, number, found.lexical, found.other_lexical)
    dense_ends = _ends(found.dense, found.other_dense)
    lexical_ends = _ends(found.lexical, found.other_lexical)
    start, with_words = len(keys), len(by_lexical)
    # One that shares no word with the query has none of the words.
    lexical.scores += [by_lexical.pop(key, 0.0) for key in by_dense]
    if with_words - len(by_lexical) < len(by_dense):
        lexical_ends.append(0.0)
    if by_lexical:
        nothing = min(0.0, *dense_ends) if dense.cosines and dense_ends else 0.0
        by_dense.update(dict.fromkeys(by_lexical, nothing))
        lexical.scores += by_lexical.values()
        dense_ends.append(nothing)
    keys += by_dense
    dense.scores += by_dense.values()
    return _Span(slice(start, len(keys)), dense_ends, lexical_ends)


def _ends(*rankings: Ranking | None) -> list[float]:
    """The best and the last of each: all others lie between them."""
    scores = [ranking.scores for ranking in rankings if ranking is not None and ranking.scores]
    return [end for own in scores for end in (own[0], own[-1])]


def _scores_of(
    leg: Leg, number: int, own: Ranking | None, other: Ranking | None
) -> dict[int, float]:
    keys = [] if own is None else _keys(number, own)
    leg.found.append(keys)
    scores = {} if own is None else dict(zip(keys, own.scores, strict=True))
    if other is not None:
        scores.update(zip(_keys(number, other), other.scores, strict=True))
    return scores


def _shares(dense: Leg, lexical: Leg, number: int, span: slice) -> list[float]:
    """The sum of both shares, for rows that lie within the scales; late ones may not."""
    (dense_low, dense_width), (low, width) = dense.scales[number], lexical.scales[number]
    by_dense, by_lexical = dense.weight, lexical.weight
    return [
        by_dense * ((cosine - dense_low) / dense_width) + by_lexical * ((weight - low) / width)
        for cosine, weight in zip(dense.scores[span], lexical.scores[span], strict=True)
    ]


def _late(keys: Sequence[int], found: Sequence[LegResults]) -> dict[int, int]:
    """The rows that only a deeper look brought in, and which; with one look there are none."""
    legs = [
        (number, ranking, _look_ends(ranking.scores))
        for number, one in enumerate(found)
        for ranking in (one.dense, one.lexical)
        if ranking is not None
    ]
    if all(len(ends) == 1 for _, _, ends in legs):
        return {}
    looks: dict[int, int] = {}
    for number, ranking, ends in legs:
        for rank, key in enumerate(_keys(number, ranking), start=1):
            look = bisect_left(ends, rank)
            looks[key] = min(look, looks.get(key, look))
    return {row: looks[key] for row, key in enumerate(keys) if looks[key]}


def _look_ends(scores: Sequence[float]) -> list[int]:
    """Where each look at a leg ended: those of 50, 100, 200 … and the last."""
    ends, depth = [], DEPTH
    while (end := look_end(scores, depth)) < len(scores):
        ends.append(end)
        depth *= 2
    return [*ends, len(scores)]


def _without(span: _Span, dense: Leg, lexical: Leg, late: Mapping[int, int]) -> _Span:
    """The scales reach over what the first look brought in."""
    rows = [row for row in range(span.rows.start, span.rows.stop) if row not in late]
    return _Span(
        span.rows, [dense.scores[row] for row in rows], [lexical.scores[row] for row in rows]
    )


def _scale(scores: Sequence[float]) -> Scale:
    """Where all are alike they count full, unless all are nothing."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high - low > _NOTHING:
        return low, high - low
    return (0.0, high) if high > _NOTHING else (low, 1.0)


def _best_first(scores: Sequence[float], keys: Sequence[int]) -> list[int]:
    """Rows in their order, ties by key: there are hardly any, so they are looked for first."""
    rows = sorted(range(len(keys)), key=scores.__getitem__, reverse=True)
    if len(set(scores)) < len(rows):
        rows.sort(key=lambda row: (-scores[row], keys[row]))
    return rows


def _keys(number: int, ranking: Ranking) -> list[int]:
    if not number:
        return ranking.points
    offset = number << _POINT_BITS
    return [point + offset for point in ranking.points]


def _names(found: Sequence[LegResults]) -> list[str]:
    return [one.collection for one in found]


def _exhausted(found: Sequence[LegResults]) -> bool:
    return all(one.exhausted for one in found)


def _clamped(score: float) -> float:
    return score if 0.0 < score < 1.0 else min(1.0, max(0.0, score))
