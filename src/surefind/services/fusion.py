"""Two legs become one order.

Scores are fused, not ranks, over the union of both legs' candidates: each has its true score in
both legs, each leg is scaled to 0..1 over the union, and the fused score is their weighted sum.

The scale is that of the first hundred of each leg. Who asks for more gets the next hundred, the
next two hundred and so on appended, on the same scale: asking for more never reorders what came
first.

A search looks at some two hundred candidates and returns five. So candidates are columns here,
keyed by an integer, and only those that are returned become objects.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from uuid import UUID

from surefind.model import Candidate, LegScore, Ranking

DENSE_WEIGHT = 0.6
"""Measured flat from .5 to .7; see `make bench-quality`."""

DEPTH = 100
_POINT_BITS = 128

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class Found:
    """What the legs found in one collection; `other_…` are scores of what only one leg found."""

    collection: str
    dense: Ranking | None
    lexical: Ranking | None
    other_dense: Ranking | None = None
    other_lexical: Ranking | None = None

    @property
    def deepest(self) -> int:
        return max(len(leg.points) for leg in (self.dense, self.lexical) if leg is not None)


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg's scores and ranks, and for each collection the scale on which they are fused."""

    scores: Scores
    ranks: dict[int, int]
    scales: Sequence[tuple[float, float]]
    weight: float = 1.0

    def share(self, key: int) -> float:
        return self.worth(self.scores[key], key >> _POINT_BITS)

    def worth(self, score: float, collection: int = 0) -> float:
        """A raw score's part of the fused one. Below the scale's low end there is nothing."""
        low, width = self.scales[collection]
        return self.weight * min(1.0, max(0.0, (score - low) / width))

    def of(self, key: int) -> LegScore:
        return LegScore(self.scores[key], self.ranks.get(key), self.share(key))


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates in their order: keys and scores, what each leg says, whose each key is."""

    keys: list[int]
    scores: list[float]
    dense: Leg | None
    lexical: Leg | None
    owners: dict[int, tuple[str, UUID]]

    @property
    def best_similarity(self) -> float | None:
        """None where nothing was embedded, or nothing found."""
        return _clamped(max(self.dense.scores.values())) if self.dense and self.keys else None

    def candidates(self, threshold: float = 0.0) -> Iterator[Candidate]:
        """Those whose similarity reaches the threshold, in their order."""
        cosines = self.dense.scores if self.dense is not None and threshold > 0 else None
        for key, score in zip(self.keys, self.scores, strict=True):
            if cosines is None or cosines[key] >= threshold:
                yield self.candidate(key, score)

    def candidate(self, key: int, score: float) -> Candidate:
        collection, point = self.owners[key]
        return Candidate(
            collection,
            point,
            score,
            None if self.dense is None else self.dense.of(key),
            None if self.lexical is None else self.lexical.of(key),
        )

    def score_of(self, dense: float | None, lexical: float | None) -> float:
        """The fused score that a candidate with these raw scores would have."""
        score = 0.0
        for leg, raw in ((self.dense, dense), (self.lexical, lexical)):
            if leg is not None and raw is not None:
                score += leg.worth(raw)
        return score


def depth_for(wanted: int) -> int:
    """How deep each leg is asked, so that at least so many candidates come: 100, 200, 400 …"""
    depth = DEPTH
    while depth < wanted:
        depth *= 2
    return depth


def dense_pool(found: Sequence[Found]) -> Pool:
    """Dense alone: the order is the cosine's, and so is the score."""
    owners, scores, ranks = _merged((one, one.dense) for one in found)
    keys = sorted(scores, key=lambda key: (-scores[key], key))
    leg = Leg(scores, ranks, [(0.0, 1.0)] * len(found))
    return Pool(keys, [_clamped(scores[key]) for key in keys], leg, None, owners)


def lexical_pool(found: Sequence[Found]) -> Pool:
    """Lexical alone: BM25 has no upper end, so the best of the answer is the measure."""
    owners, scores, ranks = _merged((one, one.lexical) for one in found)
    best = [max(one.lexical.scores, default=1.0) if one.lexical else 1.0 for one in found]
    leg = Leg(scores, ranks, [(0.0, high) for high in best])
    keys = sorted(scores, key=lambda key: (-leg.share(key), key))
    return Pool(keys, [leg.share(key) for key in keys], None, leg, owners)


def fuse(found: Sequence[Found]) -> Pool:
    """Cosines compare across collections. BM25 does not: it depends on how rare a word is in each.

    So the dense leg has one scale for all, and the lexical leg one for each collection.
    """
    owners, dense, dense_ranks = _merged((one, one.dense) for one in found)
    others, lexical, lexical_ranks = _merged((one, one.lexical) for one in found)
    owners.update(others)
    _complete(dense, owners, ((one, one.other_dense) for one in found))
    _complete(lexical, owners, ((one, one.other_lexical) for one in found))
    tiers = _tiers(owners, dense_ranks, lexical_ranks, max(one.deepest for one in found))
    first = [key for key in owners if not tiers.get(key)] if tiers else list(owners)
    one_scale = _scale(dense[key] for key in first)
    own_scales = [
        _scale(lexical[key] for key in first if key >> _POINT_BITS == number)
        for number in range(len(found))
    ]
    dense_leg = Leg(dense, dense_ranks, [one_scale] * len(found), DENSE_WEIGHT)
    lexical_leg = Leg(lexical, lexical_ranks, own_scales, 1 - DENSE_WEIGHT)
    fused = {key: dense_leg.share(key) + lexical_leg.share(key) for key in tiers}
    fused.update(_fused(first, dense_leg, lexical_leg))
    keys = sorted(owners, key=lambda key: (tiers.get(key, 0), -fused[key], key))
    return Pool(keys, _never_rising(fused[key] for key in keys), dense_leg, lexical_leg, owners)


def _fused(keys: Sequence[int], dense: Leg, lexical: Leg) -> Scores:
    """The sum of both shares, for those that the scales were made of: none lies outside of them."""
    dense_low, dense_width = dense.scales[0]
    dense_factor = dense.weight / dense_width
    factors = [(low, lexical.weight / width) for low, width in lexical.scales]
    dense_scores, lexical_scores = dense.scores, lexical.scores
    if len(factors) == 1:
        [(low, factor)] = factors
        return {
            key: (dense_scores[key] - dense_low) * dense_factor
            + (lexical_scores[key] - low) * factor
            for key in keys
        }
    return {key: dense.share(key) + lexical.share(key) for key in keys}


def _tiers(
    keys: Iterable[int], dense: dict[int, int], lexical: dict[int, int], deepest: int
) -> dict[int, int]:
    """Which look brought a candidate in; nothing where there was only one."""
    if deepest <= DEPTH:
        return {}
    found = ((key, _tier(dense.get(key), lexical.get(key))) for key in keys)
    return {key: tier for key, tier in found if tier}


def _merged(
    legs: Iterable[tuple[Found, Ranking | None]],
) -> tuple[dict[int, tuple[str, UUID]], Scores, dict[int, int]]:
    """The same chunk in two collections is two candidates: the collection's number tells them."""
    owners: dict[int, tuple[str, UUID]] = {}
    scores: Scores = {}
    ranks: dict[int, int] = {}
    for number, (found, ranking) in enumerate(legs):
        if ranking is None:
            continue
        offset = number << _POINT_BITS
        collection = found.collection
        keys = [point.int + offset for point in ranking.points]
        scores.update(zip(keys, ranking.scores, strict=True))
        ranks.update(zip(keys, range(1, len(keys) + 1), strict=True))
        owners.update(zip(keys, ((collection, point) for point in ranking.points), strict=True))
    return owners, scores, ranks


def _complete(
    scores: Scores, keys: Iterable[int], others: Iterable[tuple[Found, Ranking | None]]
) -> None:
    """A score for every candidate; one that shares no word with the query has none of the words."""
    for number, (_, ranking) in enumerate(others):
        if ranking is not None:
            offset = number << _POINT_BITS
            for point, score in zip(ranking.points, ranking.scores, strict=True):
                scores[point.int + offset] = score
    for key in keys:
        scores.setdefault(key, 0.0)


def _scale(scores: Iterable[float]) -> tuple[float, float]:
    """(low, width). Where all are alike they count full, unless all are nothing."""
    held = list(scores)
    low, high = min(held, default=0.0), max(held, default=0.0)
    if high > low:
        return low, high - low
    return (0.0, high) if high > 0 else (low, 1.0)


def _tier(*ranks: int | None) -> int:
    best = min(rank for rank in ranks if rank is not None)
    return 0 if best <= DEPTH else ((best - 1) // DEPTH).bit_length()


def _never_rising(scores: Iterable[float]) -> list[float]:
    """What was appended never outranks what came first, nor does its score."""
    return list(accumulate(scores, min, initial=1.0))[1:]


def _clamped(score: float) -> float:
    return min(1.0, max(0.0, score))
