"""Ctrl-C and SIGTERM as a request that is recorded, so that it can't get lost."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from surefind.interfaces.cli.console import note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """The first signal is recorded, and cancels the task that runs; the second ends it at once.

    An exception alone is not enough: Python ignores one that is raised in a callback or in
    `__del__`, and any code on the way may catch it.
    """

    def __init__(self) -> None:
        self._signal = 0
        self._task: asyncio.Task[object] | None = None
        self._raises = False

    def is_made(self) -> bool:
        return self._signal != 0

    def check(self) -> None:
        """Exit as shells count a signal, 130 or 143, if a stop was requested."""
        if self.is_made():
            note("stopped before all reports were written")
            raise typer.Exit(128 + self._signal)

    @contextmanager
    def raises_at_once(self) -> Iterator[None]:
        """The first signal raises, too: output may wait for a reader for ever."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    @contextmanager
    def cancels_this_task(self) -> Iterator[None]:
        self._task = asyncio.current_task()
        try:
            self.check()
            yield
        finally:
            self._task = None

    def receive(self, number: int, _frame: FrameType | None) -> None:
        raises = self._raises or self.is_made()
        self._signal = number
        if raises:
            raise KeyboardInterrupt
        if self._task is not None:
            self._task.cancel()
            self._task.get_loop().call_soon_threadsafe(lambda: None)  # wake a loop that sleeps


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """SIGTERM, as schedulers send it, stops a run as Ctrl-C does."""
    request = StopRequest()
    before = {number: signal.signal(number, request.receive) for number in _SIGNALS}
    try:
        yield request
    except (KeyboardInterrupt, asyncio.CancelledError):
        request.check()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
