"""Aggregates the results of many queries into one validation report."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from surefind.contracts import rules
from surefind.contracts.validation import (
    CONNECTION_STATUSES,
    RetrievalQuery,
    ValidationReport,
    is_complete,
)
from surefind.errors import InputError

_SHORTEST_S = 1e-6
"""The resolution of a datetime; even a shorter run took some time."""


def aggregate_results_to_report(
    results: Sequence[object],
    queries: Sequence[RetrievalQuery],
    connection_stats: Mapping[str, Any],
    errors: Mapping[str, str] | Sequence[str],
    started_at: datetime,
    completed_at: datetime,
    *,
    query_times: Sequence[float] = (),
) -> ValidationReport:
    """Aggregate the results of many queries into one report.

    `results` are RetrievalResults, or any objects with the same attributes. `errors` maps the ids
    of failed queries to the reasons, or is a list with one line per failed query. `query_times`
    holds the seconds that each query took; the default is the run's duration divided by the number
    of queries.
    """
    total = len(queries)
    lines = _lines(errors, queries)
    failed = min(len(lines), total)
    scores = [_score(result) for result in results]
    complete = sum(map(is_complete, results))
    return ValidationReport(
        run_id=str(uuid.uuid4()),
        total_queries=total,
        successful_queries=total - failed,
        failed_queries=failed,
        avg_similarity_score=min(1.0, sum(scores) / len(scores)) if scores else 0.0,
        avg_query_time=_average_time(query_times, total, started_at, completed_at),
        metadata_completeness=complete / len(results) if results else 1.0,
        total_results_retrieved=len(results),
        connection_status=_connection(connection_stats, answered=total > failed),
        collection_stats=dict(connection_stats),
        errors=lines,
        started_at=started_at,
        completed_at=completed_at,
    )


def _lines(
    errors: Mapping[str, str] | Sequence[str], queries: Sequence[RetrievalQuery]
) -> list[str]:
    if not isinstance(errors, Mapping):
        return list(errors)
    unknown = set(errors) - {query.query_id for query in queries}
    if unknown:
        raise InputError(f"errors: no query has the id {min(unknown)!r}; use ids of `queries`")
    return [
        f"Query '{query.query_text}' failed: {errors[query.query_id]}"
        for query in queries
        if query.query_id in errors
    ]


def _average_time(
    query_times: Sequence[float], total: int, started_at: datetime, completed_at: datetime
) -> float:
    if not total:
        return 0.0
    if query_times:
        return max(sum(query_times) / len(query_times), _SHORTEST_S)
    return max(rules.seconds_between(started_at, completed_at), _SHORTEST_S) / total


def _score(result: object) -> float:
    return rules.cosine("similarity_score", getattr(result, "similarity_score", None))


def _connection(stats: Mapping[str, Any], *, answered: bool) -> str:
    """Unless the stats state it, infer it: an answer or a collection requires a connection."""
    status = stats.get("status")
    if status in CONNECTION_STATUSES:
        return str(status)
    return "connected" if answered or stats.get("collection_exists") else "failed"
