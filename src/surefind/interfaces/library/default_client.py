"""Clients that are opened at their first use, for programs that do not call `surefind.open()`.

They stay open until the program ends. The functions of the retrieval layer use the one of the
settings; after a change of folder or settings, the next call opens another one.
"""

from __future__ import annotations

import atexit
import os
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from surefind.interfaces.library.opening import open as open_installation

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from surefind.contracts.layer import Embedding, QueryEmbedding, RetrievalResult
    from surefind.interfaces.library.sync_client import Surefind


def generate_query_embedding(query: str) -> QueryEmbedding:
    """Embed a query of 1 to 1000 characters with the configured model."""
    return _default_client().generate_query_embedding(query)


def retrieve_content_chunks(query_embedding: Embedding, limit: int = 5) -> list[RetrievalResult]:
    """The chunks nearest to a `QueryEmbedding` or a list of floats, best first; may be empty."""
    return _default_client().retrieve_content_chunks(query_embedding, limit)


def opened_once(
    identity: Hashable, opening: Callable[[], AbstractContextManager[Surefind]]
) -> Surefind:
    """The installation or server of this identity, opened by the first call."""
    return _open_clients.get(identity, opening)


def _default_client() -> Surefind:
    from surefind.settings import load  # noqa: PLC0415 - importing surefind stays cheap

    return opened_once(load(), open_installation)


class _OpenClients:
    """What is open, by process, folder and identity, such as its settings.

    A forked child lacks its parent's threads, so it opens its own clients. It never releases
    the parent's, because that would wait forever for those threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Surefind] = {}
        self._closing: dict[int, ExitStack] = {}

    def get(
        self, identity: Hashable, opening: Callable[[], AbstractContextManager[Surefind]]
    ) -> Surefind:
        process = os.getpid()
        # A relative data folder depends on the working directory.
        key = (process, Path.cwd(), identity)
        with self._lock:
            if process not in self._closing:
                self._closing[process] = ExitStack()
                atexit.register(self._close, process)
            if key not in self._open:
                self._open[key] = self._closing[process].enter_context(opening())
            return self._open[key]

    def _close(self, process: int) -> None:
        # Python starts no threads this late; the next reader cleans up what remains.
        if process == os.getpid():
            with suppress(RuntimeError):
                self._closing[process].close()


_open_clients = _OpenClients()
