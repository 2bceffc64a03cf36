"""Hands the searches of answered requests to the query log."""

from collections.abc import Callable
from datetime import UTC, datetime

from surefind.interfaces.http.middleware.request_log import Observe, RequestRecord
from surefind.model import LoggedSearch, SearchResult


def logging_queries(
    observe: Observe, add: Callable[[LoggedSearch], None], *, with_clients: bool
) -> Observe:
    """Observe a request, then log its searches. Runs after the response was sent."""

    def both(record: RequestRecord) -> None:
        observe(record)
        client = (record.key_id or record.client) if with_clients else ""
        for result in record.searches:
            for collection in result.query.collections:
                add(logged_search(result, collection, client))

    return both


def logged_search(result: SearchResult, collection: str, client: str) -> LoggedSearch:
    """What the log keeps of a search in one of its collections."""
    best = next((hit for hit in result.hits if hit.collection == collection), None)
    return LoggedSearch(
        at=datetime.now(UTC),
        collection=collection,
        text=result.query.text,
        mode=result.query.mode.value,
        hits=len(result.hits),
        confidence=None if result.confidence is None else result.confidence.value,
        similarity=result.best_similarity,
        filtered=bool(result.query.where or result.query.threshold),
        url=best.url if best else "",
        title=(best.record.breadcrumb or best.title) if best else "",
        client=client,
    )
