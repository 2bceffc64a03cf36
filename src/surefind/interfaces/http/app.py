"""The FastAPI application."""

from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware import Middleware

from surefind.bootstrap import Application
from surefind.interfaces.http.access import Access
from surefind.interfaces.http.contracts import add_contracts
from surefind.interfaces.http.errors import BodyLimit, add_error_handlers
from surefind.interfaces.http.openapi import openapi_of
from surefind.interfaces.http.pages import add_pages
from surefind.interfaces.http.requests import Requests, note_search
from surefind.interfaces.http.retrieval import add_retrieval
from surefind.interfaces.http.security import SecurityHeaders


def _layers(application: Application) -> list[Middleware]:
    """From the outside in. Whatever an inner one answers, the outer ones have seen."""
    settings = application.settings
    return [
        Middleware(SecurityHeaders),
        Middleware(Requests, observe=lambda _record: None, log_queries=settings.log_queries),
        Middleware(Access, keyring=application.keyring),
        Middleware(BodyLimit),
    ]


def create_app(application: Application) -> FastAPI:
    app = FastAPI(
        title="surefind",
        version=version("surefind"),
        description="Finds the passages an answer needs.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat whatever Host the client names
        middleware=_layers(application),
    )
    application.observers.append(note_search)
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]
    add_error_handlers(app)

    add_contracts(app, application)
    add_retrieval(app, application)
    add_pages(app, application)
    return app
