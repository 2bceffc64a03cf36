"""The FastAPI application."""

from importlib.metadata import version
from typing import Annotated, Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from surefind.bootstrap import Application
from surefind.contracts.api import ErrorResponse, HealthResponse, SearchRequest, SearchResponse
from surefind.errors import StoreError, SurefindError, UnknownCollection
from surefind.interfaces.http.errors import BodyLimit, add_error_handlers
from surefind.interfaces.http.openapi import openapi_of
from surefind.interfaces.http.pages import add_pages
from surefind.interfaces.native import search_json
from surefind.model import Mode, Query
from surefind.services.search import MAX_QUERY_LENGTH, MAX_TOP_K

_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "Invalid request parameters"},
    500: {"model": ErrorResponse, "description": "Unexpected server error"},
    502: {"model": ErrorResponse, "description": "Embedding service failure"},
    503: {"model": ErrorResponse, "description": "Database or vector store unreachable"},
}


class RetrieveRequest(BaseModel):
    """surefind's own search, with everything it can do."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: str = Field(min_length=1, max_length=MAX_QUERY_LENGTH)
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K)
    threshold: float = Field(default=0.0, ge=0, le=1)
    mode: Annotated[Mode, Field(strict=False)] = Mode.HYBRID


def create_app(application: Application) -> FastAPI:
    collection = application.settings.collection
    app = FastAPI(
        title="surefind",
        version=version("surefind"),
        description="Finds the passages an answer needs.",
        docs_url=None,
        redoc_url=None,
    )
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]
    add_error_handlers(app)
    app.add_middleware(BodyLimit)

    @app.post("/search", responses=_ERRORS)
    async def search(request: SearchRequest) -> SearchResponse:
        """The contract's search: dense by default, in the order of the cosine."""
        try:
            return SearchResponse.of(await application.search(request.to_query(collection)))
        except UnknownCollection as error:
            # The client named no collection, so it is not the client's mistake.
            raise StoreError(str(error)) from error

    @app.head("/health", include_in_schema=False)
    @app.get("/health", responses={503: {"model": HealthResponse}})
    async def health(response: Response) -> HealthResponse:
        """Whether the engine and the catalog answer. It embeds nothing."""
        report = await _health(application)
        if report.status != "ok":
            response.status_code = 503
        return report

    @app.post("/retrieve", responses={**_ERRORS, 404: {"model": ErrorResponse}})
    async def retrieve(request: RetrieveRequest) -> JSONResponse:
        """Surefind's own search: hybrid by default, every score of every hit."""
        query = Query(request.query, request.top_k, request.threshold, request.mode, collection)
        return JSONResponse(search_json(await application.search(query)))

    add_pages(app, application)
    return app


async def _health(application: Application) -> HealthResponse:
    try:
        async with application.reader.lease() as generation:
            await generation.index.count()
            try:
                catalog = generation.catalog is not None and await generation.catalog.count() >= 0
            except StoreError:
                catalog = False
            return HealthResponse.of(index=True, catalog=catalog)
    except SurefindError:
        return HealthResponse.of(index=False, catalog=False)
