"""`serve_application`: from the checks before the start to the end of the last process."""

import socket
from collections.abc import Callable

from surefind.bootstrap import Application
from surefind.errors import InputError
from surefind.interfaces.http.logs import log_as_json
from surefind.interfaces.http.server.listener import address_of_listener, bound, is_public
from surefind.interfaces.http.server.supervisor import serve_with_workers
from surefind.interfaces.http.server.uvicorn_server import answer_requests
from surefind.settings import Settings


async def serve_application(
    application: Application, notify: Callable[[str], None], reload: Callable[[], Settings]
) -> None:
    """Serve until SIGINT or SIGTERM; running requests are finished first.

    `reload` reads the settings again; workers get them at SIGHUP.
    """
    settings = application.settings
    log_as_json()
    with application.serving.lock(), bound(settings.host, settings.port) as listener:
        public = is_public(listener)
        if public and not settings.allow_open:
            await _require_keys(application, listener)

        def welcome(served: str) -> None:
            address = address_of_listener(listener)
            processes = f" with {workers} workers" if workers > 1 else ""
            notify(f"serving {served}{processes}\n\n    {address}/\n\nPress Ctrl-C to stop")

        workers = settings.worker_count
        if workers > 1:
            await serve_with_workers(settings, listener, welcome, reload)
        else:
            await answer_requests(application, listener, welcome, public=public)


async def _require_keys(application: Application, listener: socket.socket) -> None:
    """A public server requires keys, even after all of them are revoked."""
    if not await application.serving.keyring.requires_key():
        raise InputError(
            f"other machines can reach {listener.getsockname()[0]}, and there are no API keys; "
            "create one with `surefind keys create --name NAME`, or use --allow-open to serve "
            "without keys"
        )
    application.serving.keyring.always_require_key()
