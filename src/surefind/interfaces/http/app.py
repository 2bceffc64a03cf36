"""The FastAPI application."""

from importlib.metadata import version

from fastapi import FastAPI

from surefind.bootstrap import Application
from surefind.interfaces.http.contracts import add_contracts
from surefind.interfaces.http.errors import BodyLimit, add_error_handlers
from surefind.interfaces.http.openapi import openapi_of
from surefind.interfaces.http.pages import add_pages
from surefind.interfaces.http.retrieval import add_retrieval


def create_app(application: Application) -> FastAPI:
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
    add_retrieval(app, application)
    add_pages(app, application)
    return app
