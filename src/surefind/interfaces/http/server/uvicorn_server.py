"""One process: the application under uvicorn, from its start to a graceful shutdown."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from surefind.bootstrap import Application
from surefind.errors import UnknownCollection
from surefind.interfaces.http.app import create_app
from surefind.interfaces.http.metrics import Metrics
from surefind.interfaces.http.middleware.proxies import TrustedProxies
from surefind.services.serving.worker import ALONE, Worker

_PUBLISHING_S = 0.5
_IDLE_S = 75
"""How long an idle connection stays open: longer than clients and load balancers keep theirs, or
else a request may meet the end of its connection.
"""


async def answer_requests(
    application: Application,
    listener: socket.socket,
    ready: Callable[[str], None],
    worker: Worker = ALONE,
    *,
    public: bool,
) -> None:
    """Serve until SIGINT or SIGTERM; running requests are finished first.

    `ready` gets a description of what is served.
    """
    settings = application.settings
    await application.parts.embedder()  # load the model before the first request
    inner = create_app(application, worker, public=public)
    app: ASGIApp = inner
    if settings.trusted_proxies:
        app = TrustedProxies(app, settings.trusted_proxies)
    config = uvicorn.Config(
        app,
        loop="asyncio",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        http=_protocol(settings.header_timeout_s),
        ws="none",
        proxy_headers=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=settings.shutdown_timeout_s,
    )
    served = await _what_is_served(application)
    server = _Server(config, ready=lambda: ready(served))
    if worker.shared is None:
        await server.serve(sockets=[listener])
        return
    publishing = asyncio.create_task(_publish(inner.state.metrics))
    try:
        await server.serve(sockets=[listener])
    finally:
        publishing.cancel()


async def _publish(metrics: Metrics) -> None:
    """Keep the numbers that other workers report for this one up to date."""
    while True:
        await metrics.refresh()
        await asyncio.sleep(_PUBLISHING_S)


class _Server(uvicorn.Server):
    """Reports when it is ready, and returns after a stop signal, so that resources are released."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def _protocol(header_timeout_s: float) -> type[asyncio.Protocol] | Literal["auto"]:
    if find_spec("httptools") is None:  # pragma: no cover - it is always installed on CPython
        return "auto"
    from surefind.interfaces.http.server.protocol import guarded  # noqa: PLC0415

    return guarded(header_timeout_s)


async def _what_is_served(application: Application) -> str:
    try:
        async with application.parts.reader.lease() as generation:
            manifest = generation.manifest
            return (
                f"generation {manifest.number} of {manifest.collection}, {manifest.chunks} chunks"
            )
    except UnknownCollection as error:
        return f"nothing yet: {error}"
