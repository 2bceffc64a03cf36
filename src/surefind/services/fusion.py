"""Two legs become one order.

Scores are fused, not ranks, over the union of both legs' candidates: each has its true score in
both legs, each leg is scaled to 0..1 over the union, and the fused score is their weighted sum.

A search looks at some two hundred candidates and returns five. So candidates are columns here,
keyed by the point id's integer, and only those that are returned become objects.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from surefind.model import Candidate, LegScore, Ranking

DENSE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates in their order: points, with the score of each and what each leg says of it."""

    points: list[UUID]
    scores: list[float]
    dense: dict[int, float] | None
    lexical: dict[int, float] | None
    dense_ranks: dict[int, int]
    lexical_ranks: dict[int, int]

    @property
    def best_similarity(self) -> float | None:
        """None where nothing was embedded, or nothing found."""
        return _clamped(max(self.dense.values())) if self.dense else None

    def best(self, top_k: int, threshold: float) -> list[Candidate]:
        """The first `top_k` whose similarity reaches the threshold."""
        best: list[Candidate] = []
        for point, score in zip(self.points, self.scores, strict=True):
            key = point.int
            if self.dense is not None and threshold > 0 and self.dense[key] < threshold:
                continue
            best.append(
                Candidate(
                    point,
                    score,
                    _leg(self.dense, self.dense_ranks, key),
                    _leg(self.lexical, self.lexical_ranks, key),
                )
            )
            if len(best) == top_k:
                break
        return best


def dense_pool(dense: Ranking) -> Pool:
    """Dense alone: the order is the cosine's, and so is the score."""
    keys = [point.int for point in dense.points]
    scores = [_clamped(score) for score in dense.scores]
    return Pool(
        dense.points, scores, dict(zip(keys, dense.scores, strict=True)), None, _ranks(keys), {}
    )


def lexical_pool(lexical: Ranking) -> Pool:
    """Lexical alone: BM25 has no upper end, so the best of the answer is the measure."""
    keys = [point.int for point in lexical.points]
    best = max(lexical.scores, default=1.0)
    scores = [score / best for score in lexical.scores]
    raw = dict(zip(keys, lexical.scores, strict=True))
    return Pool(lexical.points, scores, None, raw, {}, _ranks(keys))


def fuse(dense: Ranking, lexical: Ranking, other_dense: Ranking, other_lexical: Ranking) -> Pool:
    """`other_…` hold the scores in a leg of those that only the other leg found."""
    points = {point.int: point for point in (*dense.points, *lexical.points)}
    dense_scores = _completed(points, dense, other_dense)
    lexical_scores = _completed(points, lexical, other_lexical)
    dense_low, dense_span = _span(dense_scores)
    lexical_low, lexical_span = _span(lexical_scores)
    ordered = sorted(
        (
            -DENSE_WEIGHT * (dense_scores[key] - dense_low) / dense_span
            - (1 - DENSE_WEIGHT) * (lexical_scores[key] - lexical_low) / lexical_span,
            key,
        )
        for key in points
    )
    return Pool(
        [points[key] for _, key in ordered],
        [-score for score, _ in ordered],
        dense_scores,
        lexical_scores,
        _ranks(point.int for point in dense.points),
        _ranks(point.int for point in lexical.points),
    )


def _completed(points: Iterable[int], found: Ranking, others: Ranking) -> dict[int, float]:
    """A score for every candidate; one that shares no word with the query has none of the words."""
    scores = dict.fromkeys(points, 0.0)
    for ranking in (others, found):
        for point, score in zip(ranking.points, ranking.scores, strict=True):
            scores[point.int] = score
    return scores


def _span(scores: dict[int, float]) -> tuple[float, float]:
    """(low, width) for scaling. Where all are alike they count full, unless all are nothing."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    if high > low:
        return low, high - low
    return (0.0, high) if high > 0 else (low, 1.0)


def _ranks(keys: Iterable[int]) -> dict[int, int]:
    return {key: rank for rank, key in enumerate(keys, start=1)}


def _leg(scores: dict[int, float] | None, ranks: dict[int, int], key: int) -> LegScore | None:
    return None if scores is None else LegScore(scores[key], ranks.get(key))


def _clamped(score: float) -> float:
    return min(1.0, max(0.0, score))
