"""The functions of the retrieval layer, for programs that do not call `surefind.open()`.

The first call opens the installation of the settings, which stays open until the program ends.
After a change of the working directory or the settings, calls use the installation they then name.
"""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from surefind.interfaces.library.opening import open as open_installation

if TYPE_CHECKING:
    from collections.abc import Hashable

    from surefind.contracts.layer import Embedding, QueryEmbedding, RetrievalResult
    from surefind.interfaces.library.sync_client import Surefind


def generate_query_embedding(query: str) -> QueryEmbedding:
    """The vector of a question of 1 to 1000 characters, by the configured model."""
    return _default_clients.get().generate_query_embedding(query)


def retrieve_content_chunks(query_embedding: Embedding, limit: int = 5) -> list[RetrievalResult]:
    """The chunks nearest to a `QueryEmbedding` or a list of floats; none found, none returned."""
    return _default_clients.get().retrieve_content_chunks(query_embedding, limit)


class _DefaultClients:
    """Installations that are open, by what names them.

    A forked child has none of its parent's threads, so it opens its own. It keeps the parent's,
    which it can't use, since letting go of them would wait for those threads for ever.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Surefind] = {}
        self._closing: dict[int, ExitStack] = {}

    def get(self) -> Surefind:
        from surefind.settings import load  # noqa: PLC0415 - importing surefind stays cheap

        process = os.getpid()
        # The folder belongs to the name: a relative data folder means another one elsewhere.
        key = (process, Path.cwd(), load())
        with self._lock:
            if process not in self._closing:
                self._closing[process] = ExitStack()
                atexit.register(self._close, process)
            if key not in self._open:
                self._open[key] = self._closing[process].enter_context(open_installation())
            return self._open[key]

    def _close(self, process: int) -> None:
        # So late, Python starts no more threads. What then stays behind, the next reader sweeps up.
        if process == os.getpid():
            with suppress(RuntimeError):
                self._closing[process].close()


_default_clients = _DefaultClients()
