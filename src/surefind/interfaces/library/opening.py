"""`surefind.open()` for scripts and notebooks, `surefind.aopen()` for async code.

`connect_to()` and `aconnect_to()` give the same methods over HTTP.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Unpack

from surefind.bootstrap import Application
from surefind.interfaces.library.async_client import AsyncSurefind
from surefind.interfaces.library.open_options import OpenOptions, OpenRequest
from surefind.interfaces.library.served.server_options import ClientOptions, ServerOptions
from surefind.interfaces.library.sync_client import Surefind


@asynccontextmanager
async def aopen(**options: Unpack[OpenOptions]) -> AsyncIterator[AsyncSurefind]:
    """Open an installation: `async with surefind.aopen(data_dir="…") as docs:`.

    Every setting is an option. `embedder` and `reranker` also accept objects, which are closed at
    the end.
    """
    request = OpenRequest.of(options)
    application = Application(
        request.settings, embedder=request.embedder, reranker=request.reranker
    )
    opened_in = os.getpid()
    try:
        yield AsyncSurefind(application)
    finally:
        if os.getpid() == opened_in:
            await application.close()
        else:
            _leak(application)


@contextmanager
def open(**options: Unpack[OpenOptions]) -> Iterator[Surefind]:  # noqa: A001 - it is surefind.open
    """Open an installation: `with surefind.open(data_dir="…") as docs:`; see `aopen`."""
    with _on_portal(aopen(**options)) as docs:
        yield docs


@asynccontextmanager
async def aconnect_to(url: str, **options: Unpack[ClientOptions]) -> AsyncIterator[AsyncSurefind]:
    """Use a server: `async with surefind.aconnect_to("https://…", key="…") as docs:`.

    The first call connects. Reading and searching are as in `aopen`; what needs the data folder,
    such as an ingest, raises an InputError that says so.
    """
    from surefind.interfaces.library.served.served_client import AsyncServedSurefind  # noqa: PLC0415 - importing surefind stays cheap
    from surefind.interfaces.library.served.server_calls import ServerCalls  # noqa: PLC0415

    server = ServerOptions.of(url, options)
    calls, opened_in = ServerCalls(server), os.getpid()
    try:
        yield AsyncServedSurefind(calls, server.collection)
    finally:
        if os.getpid() == opened_in:
            await calls.close()


@contextmanager
def connect_to(url: str, **options: Unpack[ClientOptions]) -> Iterator[Surefind]:
    """Use a server: `with surefind.connect_to("https://…", key="…") as docs:`."""
    with _on_portal(aconnect_to(url, **options)) as docs:
        yield docs


@contextmanager
def _on_portal(opening: AbstractAsyncContextManager[AsyncSurefind]) -> Iterator[Surefind]:
    from surefind.interfaces.library.portal import Portal  # noqa: PLC0415 - importing surefind stays cheap

    with Portal() as portal:
        inner = portal.call(opening.__aenter__)
        try:
            yield Surefind(inner, portal)
        finally:
            if portal.is_running:
                portal.call(opening.__aexit__, None, None, None)


def _leak(application: Application) -> None:
    """Never free it: in a forked child, that would wait for threads of the parent."""
    import ctypes  # noqa: PLC0415 - importing surefind stays cheap

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(application))
