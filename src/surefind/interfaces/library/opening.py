"""`surefind.open()` for scripts and notebooks, `surefind.aopen()` for async code.

`connect_to()` and `aconnect_to()` give the same methods over HTTP.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Unpack

from surefind.bootstrap import Application
from surefind.interfaces.library.async_client import AsyncSurefind
from surefind.interfaces.library.open_options import OpenOptions, OpenRequest
from surefind.interfaces.library.served.server_options import ClientOptions, ServerOptions
from surefind.interfaces.library.sync_client import Surefind


def aopen(**options: Unpack[OpenOptions]) -> AbstractAsyncContextManager[AsyncSurefind]:
    """Open an installation: `async with surefind.aopen(data_dir="…") as docs:`.

    Every setting is an option. `embedder` and `reranker` also accept objects, which are closed at
    the end.
    """
    return _AsyncOpening(_aopened(options), "aopen")


def open(**options: Unpack[OpenOptions]) -> AbstractContextManager[Surefind]:  # noqa: A001 - it is surefind.open
    """Open an installation: `with surefind.open(data_dir="…") as docs:`; see `aopen`."""
    return _Opening(_on_portal(_aopened(options)), "open")


def aconnect_to(
    url: str, **options: Unpack[ClientOptions]
) -> AbstractAsyncContextManager[AsyncSurefind]:
    """Use a server: `async with surefind.aconnect_to("https://…", key="…") as docs:`.

    The first call connects. Reading and searching are as in `aopen`; what needs the data folder,
    such as an ingest, raises an InputError that says so.
    """
    return _AsyncOpening(_aconnected(url, options), "aconnect_to")


def connect_to(url: str, **options: Unpack[ClientOptions]) -> AbstractContextManager[Surefind]:
    """Use a server: `with surefind.connect_to("https://…", key="…") as docs:`."""
    return _Opening(_on_portal(_aconnected(url, options)), "connect_to")


class _Unopened:
    """What `open()` returns: used without `with`, it says how to use it."""

    def __init__(self, function: str, statement: str) -> None:
        self._function = function
        self._statement = statement

    if not TYPE_CHECKING:  # a type checker reports these names anyway

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"surefind.{self._function}() was not entered, so there is no {name!r} yet; write "
                f"`{self._statement} surefind.{self._function}(…) as docs:` and use docs inside"
            )


class _Opening(_Unopened, AbstractContextManager[Surefind]):
    def __init__(self, opening: AbstractContextManager[Surefind], function: str) -> None:
        super().__init__(function, "with")
        self._opening = opening

    def __enter__(self) -> Surefind:
        return self._opening.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._opening.__exit__(kind, error, trace)


class _AsyncOpening(_Unopened, AbstractAsyncContextManager[AsyncSurefind]):
    def __init__(self, opening: AbstractAsyncContextManager[AsyncSurefind], function: str) -> None:
        super().__init__(function, "async with")
        self._opening = opening

    async def __aenter__(self) -> AsyncSurefind:
        return await self._opening.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._opening.__aexit__(kind, error, trace)


@asynccontextmanager
async def _aopened(options: OpenOptions) -> AsyncIterator[AsyncSurefind]:
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


@asynccontextmanager
async def _aconnected(url: str, options: ClientOptions) -> AsyncIterator[AsyncSurefind]:
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
