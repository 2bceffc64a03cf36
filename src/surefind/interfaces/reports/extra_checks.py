"""What a report says beyond its tests, line by line: the index, a load, a threshold."""

from collections.abc import Iterator

from surefind.evaluation.measures.index_recall import IndexRecall
from surefind.evaluation.measures.latency import LoadResult
from surefind.evaluation.measures.thresholds import Separation
from surefind.evaluation.report.report import Report
from surefind.evaluation.report.wording import in_short
from surefind.model import Rate

_A_FEW = 4


def beyond_tests(report: Report) -> list[list[str]]:
    """A paragraph for each that was measured."""
    parts: list[list[str]] = []
    if report.separation is not None and _worth_telling(report.separation):
        parts.append(list(_separation(report.separation)))
    if report.index_recall is not None:
        parts.append(list(_index_recall(report.index_recall)))
    if report.load is not None:
        parts.append(list(_load(report.load)))
    return parts


def _worth_telling(told: Separation) -> bool:
    """With a negative or two, nobody has asked for a threshold."""
    return told.similarity is not None or min(told.positives, told.negatives) >= _A_FEW


def _separation(told: Separation) -> Iterator[str]:
    if told.similarity is None:
        yield f"threshold: none, {told.message}"
        return
    weight = "" if told.false_accept_cost == 1 else f", at {told.false_accept_cost:g} to 1"
    yield f"threshold: a question is answered from a similarity of {told.similarity:.3f} on{weight}"
    yield f"false accepts {rate(told.false_accepts)}, of {told.negatives} negatives"
    yield f"false rejects {rate(told.false_rejects)}, of {told.positives} positives"


def _index_recall(told: IndexRecall) -> Iterator[str]:
    if not told.exercised:
        yield (
            f"index recall: not exercised; none of the {told.points} vectors is indexed, every "
            "search looks at all of them"
        )
        return
    yield f"index recall@{told.k}, {told.indexed} of {told.points} vectors indexed:"
    for one in told.under:
        share = "" if one.share is None or not one.condition else f", {one.share:.1%} of the chunks"
        yield (
            f"  {one.recall:.4f} ({one.low:.4f} to {one.high:.4f}) "
            f"{one.condition or 'without a filter'}{share}, {one.queries} queries"
        )
        for query in one.worst:
            yield f"    {query.recall:.2f} {query.test_id}: {in_short(query.query_text)}"


def _load(told: LoadResult) -> Iterator[str]:
    offered = (
        "as fast as they are answered"
        if told.offered_per_s is None
        else f"{told.offered_per_s:g} a second offered"
    )
    yield (
        f"load: {told.sent} searches in {round(told.duration_s, 2):g} s, "
        f"{told.concurrency} at a time, {offered}, {told.achieved_per_s:.1f} a second answered"
    )
    times = {"p50": told.p50_ms, "p95": told.p95_ms, "p99": told.p99_ms, "max": told.max_ms}
    yield ", ".join(f"{name} {value:.1f} ms" for name, value in times.items())
    if told.errors:
        kinds = ", ".join(f"{count} {kind}" for kind, count in told.errors.items())
        yield f"errors: {kinds} ({told.error_rate:.1%})"
    if told.waiting:
        yield f"not answered yet when it was stopped: {told.waiting}"


def rate(told: Rate) -> str:
    """With its interval: few tests say little."""
    return f"{told.value:.1%} ({told.low:.1%} to {told.high:.1%})"
