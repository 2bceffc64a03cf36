"""Many queries' results become one validation report."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from surefind.contracts import rules
from surefind.contracts.validation import (
    CONNECTION_STATUSES,
    RetrievalQuery,
    RetrievalResult,
    ValidationReport,
)
from surefind.errors import InputError

_SHORTEST_S = 1e-6
"""What two datetimes can tell apart: a run that is shorter still took some time."""


def aggregate_results_to_report(
    results: Sequence[RetrievalResult],
    queries: Sequence[RetrievalQuery],
    connection_stats: Mapping[str, Any],
    errors: Mapping[str, str] | Sequence[str],
    started_at: datetime,
    completed_at: datetime,
    *,
    query_times: Sequence[float] = (),
) -> ValidationReport:
    """`errors` are the reasons of the failed queries by query id, or one line for each.

    `query_times` are the seconds that each query took; without them, the run's time is shared out.
    """
    total = len(queries)
    lines = _lines(errors, queries)
    failed = min(len(lines), total)
    scores = [result.similarity_score for result in results]
    complete = sum(result.is_complete for result in results)
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
    strangers = set(errors) - {query.query_id for query in queries}
    if strangers:
        raise InputError(f"errors: no query has the id {min(strangers)!r}")
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
    begun, ended = (
        rules.moment("started_at", started_at),
        rules.moment("completed_at", completed_at),
    )
    return max((ended - begun).total_seconds(), _SHORTEST_S) / total


def _connection(stats: Mapping[str, Any], *, answered: bool) -> str:
    """What was seen, where nobody says: an answer, or the collection itself, needs a connection."""
    status = stats.get("status")
    if status in CONNECTION_STATUSES:
        return str(status)
    return "connected" if answered or stats.get("collection_exists") else "failed"
