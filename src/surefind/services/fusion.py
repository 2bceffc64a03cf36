"""Two legs become one order.

Scores are fused, not ranks, over the union of both legs' candidates: each has its true score in
both legs, each leg is scaled to 0..1 over the union, and the fused score is their weighted sum.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from surefind.model import Candidate, LegScore, Scored

DENSE_WEIGHT = 0.5


def one_leg(dense: Sequence[Scored]) -> list[Candidate]:
    """Dense alone: the order is the cosine's, and so is the score."""
    return [
        Candidate(
            scored.point_id, min(1.0, max(0.0, scored.score)), LegScore(scored.score, rank), None
        )
        for rank, scored in enumerate(dense, start=1)
    ]


def lexical_leg(lexical: Sequence[Scored]) -> list[Candidate]:
    """Lexical alone: BM25 has no upper end, so the best of the answer is the measure."""
    best = max((scored.score for scored in lexical), default=0.0)
    return [
        Candidate(scored.point_id, scored.score / best, None, LegScore(scored.score, rank))
        for rank, scored in enumerate(lexical, start=1)
        if scored.score > 0
    ]


def fuse(
    dense: Sequence[Scored],
    lexical: Sequence[Scored],
    other_dense: Sequence[Scored],
    other_lexical: Sequence[Scored],
) -> list[Candidate]:
    """`other_…` hold the scores in a leg of those that only the other leg found."""
    dense_scores = _scores(dense, other_dense)
    lexical_scores = _scores(lexical, other_lexical)
    dense_ranks, lexical_ranks = _ranks(dense), _ranks(lexical)
    union = dense_ranks.keys() | lexical_ranks.keys()
    dense_scaled = _scaled({point: dense_scores.get(point, 0.0) for point in union})
    lexical_scaled = _scaled({point: lexical_scores.get(point, 0.0) for point in union})
    candidates = [
        Candidate(
            point,
            DENSE_WEIGHT * dense_scaled[point] + (1 - DENSE_WEIGHT) * lexical_scaled[point],
            LegScore(dense_scores.get(point, 0.0), dense_ranks.get(point)),
            LegScore(lexical_scores.get(point, 0.0), lexical_ranks.get(point)),
        )
        for point in union
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.point_id.int))


def _scores(found: Sequence[Scored], others: Sequence[Scored]) -> dict[UUID, float]:
    return {scored.point_id: scored.score for scored in (*others, *found)}


def _ranks(found: Sequence[Scored]) -> dict[UUID, int]:
    return {scored.point_id: rank for rank, scored in enumerate(found, start=1)}


def _scaled(scores: Mapping[UUID, float]) -> dict[UUID, float]:
    """Min-max. Where all are alike they all count full, unless there was nothing to count."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    if high == low:
        return dict.fromkeys(scores, 1.0 if high > 0 else 0.0)
    return {point: (score - low) / (high - low) for point, score in scores.items()}
