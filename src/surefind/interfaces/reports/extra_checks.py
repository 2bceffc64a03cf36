"""The lines of a report on index recall, the load test and the threshold."""

from collections.abc import Iterator

from surefind.evaluation.measures.index_recall import IndexRecall
from surefind.evaluation.measures.latency import LoadResult
from surefind.evaluation.measures.thresholds import Separation
from surefind.evaluation.report.report import Report
from surefind.evaluation.report.wording import in_short
from surefind.model import Rate

_A_FEW = 4


def extra_check_lines(report: Report) -> list[list[str]]:
    """A paragraph for each additional measurement."""
    parts: list[list[str]] = []
    if report.separation is not None and _is_informative(report.separation):
        parts.append(list(_separation(report.separation)))
    if report.index_recall is not None:
        parts.append(list(_index_recall(report.index_recall)))
    if report.load is not None:
        parts.append(list(_load(report.load)))
    return parts


def _is_informative(result: Separation) -> bool:
    """Whether there are enough tests to mention the threshold."""
    return result.similarity is not None or min(result.positives, result.negatives) >= _A_FEW


def _separation(result: Separation) -> Iterator[str]:
    if result.similarity is None:
        yield f"threshold: none, because {result.message}"
        return
    cost = result.false_accept_cost
    weight = "" if cost == 1 else f", with a false accept cost of {cost:g}"
    yield f"threshold: answer from a similarity of {result.similarity:.3f}{weight}"
    yield f"false accepts {rate(result.false_accepts)} of {result.negatives} negatives"
    yield f"false rejects {rate(result.false_rejects)} of {result.positives} positives"


def _index_recall(result: IndexRecall) -> Iterator[str]:
    if not result.exercised:
        yield (
            f"index recall: not measured; none of the {result.points} vectors is indexed, so every "
            "search is exact"
        )
        return
    yield f"index recall@{result.k}, {result.indexed} of {result.points} vectors indexed:"
    for one in result.under:
        share = "" if one.share is None or not one.condition else f", {one.share:.1%} of the chunks"
        yield (
            f"  {one.recall:.4f} ({one.low:.4f} to {one.high:.4f}) "
            f"{one.condition or 'without a filter'}{share}, {one.queries} queries"
        )
        for query in one.worst:
            yield f"    {query.recall:.2f} {query.test_id}: {in_short(query.query_text)}"


def _load(result: LoadResult) -> Iterator[str]:
    offered = (
        "unlimited rate"
        if result.offered_per_s is None
        else f"target rate {result.offered_per_s:g}/s"
    )
    yield (
        f"load: {result.sent} searches in {round(result.duration_s, 2):g} s, "
        f"concurrency {result.concurrency}, {offered}, achieved {result.achieved_per_s:.1f}/s"
    )
    times = {"p50": result.p50_ms, "p95": result.p95_ms, "p99": result.p99_ms, "max": result.max_ms}
    yield ", ".join(f"{name} {value:.1f} ms" for name, value in times.items())
    if result.errors:
        kinds = ", ".join(f"{count} {kind}" for kind, count in result.errors.items())
        yield f"errors: {kinds} ({result.error_rate:.1%})"
    if result.waiting:
        yield f"unanswered when stopped: {result.waiting}"


def rate(result: Rate) -> str:
    """A rate with its confidence interval."""
    return f"{result.value:.1%} ({result.low:.1%} to {result.high:.1%})"
