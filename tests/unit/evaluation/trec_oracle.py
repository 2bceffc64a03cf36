"""trec_eval itself, by which our measures are judged."""

from collections.abc import Mapping, Sequence

import pytrec_eval

from surefind.evaluation.measures.ranking import Judgements, Measure, MeasureKind

_NAMES = {
    MeasureKind.PRECISION: "P",
    MeasureKind.RECALL: "recall",
    MeasureKind.NDCG: "ndcg_cut",
    MeasureKind.NDCG_EXP: "ndcg_cut",
    MeasureKind.AVERAGE_PRECISION: "map_cut",
    MeasureKind.RECIPROCAL_RANK: "recip_rank",
    MeasureKind.HIT: "success",
}
_WHOLE = {
    MeasureKind.NDCG: "ndcg",
    MeasureKind.NDCG_EXP: "ndcg",
    MeasureKind.AVERAGE_PRECISION: "map",
    MeasureKind.RECIPROCAL_RANK: "recip_rank",
    MeasureKind.BPREF: "bpref",
    MeasureKind.R_PRECISION: "Rprec",
}


def trec_eval(
    measure: Measure,
    rankings: Mapping[str, Sequence[str]],
    judgements: Mapping[str, Judgements],
) -> dict[str, float]:
    """What trec_eval says of each query that was asked, judged, and given any result.

    It orders by score alone, so each rank gets a score of its own; it knows neither a reciprocal
    rank with a cutoff nor an exponential gain, so the ranking is cut and the grades are raised.
    """
    cutoff = measure.cutoff
    cut = cutoff if measure.kind is MeasureKind.RECIPROCAL_RANK else None
    if measure.kind is MeasureKind.NDCG_EXP:
        judgements = {
            query: {label: 2**grade - 1 if grade > 0 else grade for label, grade in known.items()}
            for query, known in judgements.items()
        }
    scored = {
        query: {label: float(-rank) for rank, label in enumerate(ranking[:cut])}
        for query, ranking in rankings.items()
        if ranking
    }
    if cutoff is None or cut is not None:
        asked = answered = _WHOLE[measure.kind]
    else:
        asked = f"{_NAMES[measure.kind]}.{cutoff}"
        answered = f"{_NAMES[measure.kind]}_{cutoff}"
    evaluator = pytrec_eval.RelevanceEvaluator(
        {query: dict(known) for query, known in judgements.items() if known}, {asked}
    )
    return {query: values[answered] for query, values in evaluator.evaluate(scored).items()}
