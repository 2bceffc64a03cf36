"""Runs the application under uvicorn, from binding the socket to a graceful shutdown."""

import asyncio
import errno
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from surefind.bootstrap import Application
from surefind.errors import AddressInUse, InputError, UnknownCollection
from surefind.interfaces.http.app import create_app
from surefind.interfaces.http.logs import log_as_json
from surefind.interfaces.http.middleware.proxies import TrustedProxies


def _protocol(header_timeout_s: float) -> type[asyncio.Protocol] | Literal["auto"]:
    if find_spec("httptools") is None:  # pragma: no cover - it is always installed on CPython
        return "auto"
    from surefind.interfaces.http.protocol import guarded  # noqa: PLC0415

    return guarded(header_timeout_s)


async def serve_application(application: Application, notify: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; running requests are finished first."""
    settings = application.settings
    log_as_json()
    with application.serving.lock(), _bound(settings.host, settings.port) as listener:
        public = _is_public(listener)
        if public and not settings.allow_open:
            await _require_keys(application, listener)
        await application.parts.embedder()  # load the model before the first request
        app: ASGIApp = create_app(application, public=public)
        if settings.trusted_proxies:
            app = TrustedProxies(app, settings.trusted_proxies)
        server = _Server(
            uvicorn.Config(
                app,
                loop="asyncio",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                http=_protocol(settings.header_timeout_s),
                ws="none",
                proxy_headers=False,
                timeout_graceful_shutdown=settings.shutdown_timeout_s,
            ),
            ready=lambda: notify(welcome),
        )
        welcome = await _welcome(application, listener)
        await server.serve(sockets=[listener])


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


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()  # queue connections while the model loads
        except socket.gaierror as error:
            raise InputError(
                f"can't resolve --host {host}: {error.strerror}; use an address of this machine"
            ) from error
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise InputError(
                    f"{host} is not an address of this machine; choose another --host"
                ) from error
            raise AddressInUse(
                f"port {port} on {host} is not available ({error.strerror}); stop the program that "
                "uses it, or choose another port with --port"
            ) from error
        yield listener


def _is_public(listener: socket.socket) -> bool:
    host: str = listener.getsockname()[0]
    return not ip_address(host.partition("%")[0]).is_loopback


async def _require_keys(application: Application, listener: socket.socket) -> None:
    """A public server requires keys, even after all of them are revoked."""
    if not await application.serving.keyring.requires_key():
        raise InputError(
            f"other machines can reach {listener.getsockname()[0]}, and there are no API keys; "
            "create one with `surefind keys create --name NAME`, or use --allow-open to serve "
            "without keys"
        )
    application.serving.keyring.always_require_key()


async def _welcome(application: Application, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    try:
        async with application.parts.reader.lease() as generation:
            manifest = generation.manifest
            what = (
                f"generation {manifest.number} of {manifest.collection}, {manifest.chunks} chunks"
            )
    except UnknownCollection as error:
        what = f"nothing yet: {error}"
    return f"serving {what}\n\n    {address}/\n\nPress Ctrl-C to stop"
