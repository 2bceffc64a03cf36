"""The routes of the published contracts. `surefind.contracts` defines their schemas."""

import logging
from dataclasses import replace

from fastapi import FastAPI, Request, Response

from surefind.bootstrap import Application
from surefind.contracts.api import HealthResponse, SearchRequest, SearchResponse
from surefind.contracts.implementation import SearchQuery, SearchQueryResponse
from surefind.contracts.implementation_tests import ValidateRequest, ValidateResponse
from surefind.contracts.testing import QueryRequest, QueryResponse
from surefind.errors import NothingIngested, SurefindError, UnknownCollection
from surefind.interfaces.failures import public_message
from surefind.interfaces.http.metrics import Metrics
from surefind.interfaces.http.middleware.access import count_searches
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.http.openapi import ERRORS, Responses
from surefind.interfaces.links import linked_hit, with_links
from surefind.model import Query, SearchResult
from surefind.services.validation.chunk_tests import ChunkTestResult, run_chunk_tests

_log = logging.getLogger(__name__)
_UNHEALTHY: Responses = {
    503: {
        "model": HealthResponse,
        "description": "Nothing can be searched; with `strict_health`, also degraded",
    }
}


def add_contracts(app: FastAPI, application: Application, metrics: Metrics) -> None:
    collection = application.settings.collection

    @app.post("/search", responses=ERRORS, tags=["retrieval API"])
    async def search(http: Request, request: SearchRequest) -> SearchResponse:
        """Search as in the contract: dense by default, sorted by cosine similarity."""
        return SearchResponse.of(await _search(application, request.to_query(collection), http))

    @app.post("/query", responses=ERRORS, tags=["retrieval testing"])
    async def query(http: Request, request: QueryRequest) -> QueryResponse:
        """Find passages with their similarity, position and timing."""
        result = await _search(application, request.to_query(collection), http)
        return QueryResponse.of(result, include_metadata=request.include_metadata)

    @app.post("/api/v1/search", responses=ERRORS, tags=["retrieval implementation"])
    async def search_v1(http: Request, request: SearchQuery) -> SearchQueryResponse:
        """Find passages above a similarity threshold, with the status of the search."""
        result = await _search(application, request.to_query(collection), http)
        return SearchQueryResponse.of(result, request)

    @app.post("/api/v1/validate", responses=ERRORS, tags=["retrieval implementation"])
    async def validate_v1(http: Request, request: ValidateRequest) -> ValidateResponse:
        """Test whether queries find their expected chunks; at most 100 queries per request."""
        count_searches(http, len(request.test_queries))
        results = await run_chunk_tests(
            request.to_golden(),
            collection,
            application.searching.search,
            application.parts.reader,
        )
        errors = [result.error for result in results if result.error is not None]
        if len(errors) == len(results):  # nothing was judged
            raise _as_server_error(errors[0])
        embedder = await application.parts.embedder()
        published = [_publishable(result, address_of(http)) for result in results]
        return ValidateResponse.of(published, embedder.fingerprint.model)

    @app.head("/health", include_in_schema=False)
    @app.head("/api/v1/health", include_in_schema=False)
    @app.get("/health", responses=_UNHEALTHY, tags=["retrieval API"])
    @app.get("/api/v1/health", responses=_UNHEALTHY, tags=["retrieval implementation"])
    async def health(response: Response) -> HealthResponse:
        """The health of the index and the catalog, checked separately. Embeds nothing."""
        found = await application.serving.health()
        report = HealthResponse.of(replace(found, embedder=not await metrics.embedder_failing()))
        strict = application.settings.strict_health
        if report.status == "error" or (strict and report.status == "degraded"):
            response.status_code = 503
        return report


async def _search(application: Application, query: Query, http: Request) -> SearchResult:
    try:
        return with_links(await application.searching.search(query), address_of(http))
    except UnknownCollection as error:
        raise _as_server_error(error) from error


def _as_server_error(error: SurefindError) -> SurefindError:
    """A missing collection is a server error here: the client can't choose one."""
    return NothingIngested(str(error)) if isinstance(error, UnknownCollection) else error


def _publishable(result: ChunkTestResult, address: str) -> ChunkTestResult:
    result = replace(result, hits=tuple(linked_hit(hit, address) for hit in result.hits))
    if result.error is None or public_message(result.error) == str(result.error):
        return result
    _log.warning("a test query failed: %s", result.error)
    return replace(result, error=type(result.error)(public_message(result.error)))
