"""The FastAPI application."""

from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware import Middleware

from surefind.bootstrap import Application
from surefind.interfaces.http.checked_route import CheckedRoute
from surefind.interfaces.http.errors import add_error_handlers
from surefind.interfaces.http.metrics import Metrics
from surefind.interfaces.http.middleware.access import Access
from surefind.interfaces.http.middleware.cors import Cors
from surefind.interfaces.http.middleware.hosts import AllowedHosts
from surefind.interfaces.http.middleware.limits import BodyLimit, Deadline
from surefind.interfaces.http.middleware.query_log import logging_queries
from surefind.interfaces.http.middleware.request_log import Observe, RequestLog, note_search
from surefind.interfaces.http.middleware.security import SecurityHeaders
from surefind.interfaces.http.openapi import openapi_of, operation_id
from surefind.interfaces.http.routes.assistants import add_assistants
from surefind.interfaces.http.routes.catalog import add_catalog
from surefind.interfaces.http.routes.collections import add_collections
from surefind.interfaces.http.routes.contracts import add_contracts
from surefind.interfaces.http.routes.llms_txt import add_llms_txt
from surefind.interfaces.http.routes.pages import add_pages
from surefind.interfaces.http.routes.probes import add_probes
from surefind.interfaces.http.routes.reference import add_reference
from surefind.interfaces.http.routes.rendered_pages import add_reader
from surefind.interfaces.http.routes.retrieval import add_retrieval
from surefind.interfaces.http.routes.vector_stores import add_vector_stores
from surefind.services.serving.concurrency_limiter import ConcurrencyLimiter
from surefind.services.serving.rate_limiter import RateLimiter
from surefind.services.serving.worker import ALONE, Worker


def _layers(
    application: Application,
    metrics: Metrics,
    limiter: ConcurrencyLimiter,
    rates: RateLimiter,
    *,
    public: bool,
) -> list[Middleware]:
    """The middleware, outermost first, so the outer layers see every response of the inner ones."""
    settings = application.settings
    observe: Observe = metrics.observe
    if application.serving.query_log is not None:
        log = application.serving.query_log
        observe = logging_queries(observe, log.add, with_clients=settings.query_log_clients)
    return [
        Middleware(SecurityHeaders),
        Middleware(RequestLog, observe=observe, log_queries=settings.log_queries),
        Middleware(AllowedHosts, names=settings.allowed_hosts, public=public),
        Middleware(Cors, settings=settings),
        Middleware(Access, keyring=application.serving.keyring, rates=rates),
        Middleware(BodyLimit, timeout_s=settings.body_timeout_s),
        Middleware(Deadline, limiter=limiter, timeout_s=settings.request_timeout_s),
    ]


def create_app(
    application: Application, worker: Worker = ALONE, *, public: bool = False
) -> FastAPI:
    """Build the application; `public` means that other machines can reach it."""
    settings = application.settings
    limiter = ConcurrencyLimiter(
        worker.share(settings.max_concurrency), worker.share(settings.max_queue)
    )
    metrics = Metrics(application, limiter, worker)
    buckets = application.serving.buckets(worker)
    rates = RateLimiter(settings.rate_limit_per_minute, buckets=buckets)
    app = FastAPI(
        title="surefind",
        version=version("surefind"),
        description="Search documentation for the passages that answer a question.",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=operation_id,
        redirect_slashes=False,  # a redirect would echo the client's Host header
        middleware=_layers(application, metrics, limiter, rates, public=public),
    )
    app.state.metrics = metrics
    app.router.route_class = CheckedRoute
    application.parts.observers.append(note_search)
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]
    add_error_handlers(app)

    add_contracts(app, application, metrics)
    add_retrieval(app, application)
    add_catalog(app, application)
    add_collections(app, application)
    add_vector_stores(app, application)
    add_assistants(app, application)
    add_probes(app, application, metrics)
    add_pages(app)
    add_reader(app, application)
    add_llms_txt(app, application)
    if settings.docs or (settings.docs is None and not public):
        add_reference(app)
    return app
