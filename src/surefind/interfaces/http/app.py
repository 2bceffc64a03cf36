"""The FastAPI application."""

from importlib.metadata import version
from typing import Annotated

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from surefind.bootstrap import Application
from surefind.interfaces.http.contracts import add_contracts
from surefind.interfaces.http.errors import BodyLimit, add_error_handlers
from surefind.interfaces.http.openapi import ERRORS, NOT_FOUND, openapi_of
from surefind.interfaces.http.pages import add_pages
from surefind.interfaces.native import search_json
from surefind.model import Mode, Query
from surefind.services.search import MAX_QUERY_LENGTH, MAX_TOP_K


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

    add_contracts(app, application)

    @app.post("/retrieve", responses={**ERRORS, **NOT_FOUND})
    async def retrieve(request: RetrieveRequest) -> JSONResponse:
        """Surefind's own search: hybrid by default, every score of every hit."""
        query = Query(request.query, request.top_k, request.threshold, request.mode, collection)
        return JSONResponse(search_json(await application.search(query)))

    add_pages(app, application)
    return app
