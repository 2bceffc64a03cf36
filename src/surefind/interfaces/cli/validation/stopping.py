"""Records Ctrl-C and SIGTERM as a stop request, so that neither can get lost."""

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
    """The first signal is recorded and cancels the running task; the second ends it immediately.

    An exception alone is not enough: Python ignores exceptions raised in callbacks and `__del__`,
    and any code in between may catch them.
    """

    def __init__(self) -> None:
        self._signal = 0
        self._task: asyncio.Task[object] | None = None
        self._raises = False

    def is_made(self) -> bool:
        return self._signal != 0

    def check(self) -> None:
        """If a stop was requested, exit with the shell's code for the signal, 130 or 143."""
        if self.is_made():
            note("stopped before all reports were written")
            raise typer.Exit(128 + self._signal)

    @contextmanager
    def raises_at_once(self) -> Iterator[None]:
        """Make the first signal raise, too, because output may block on a reader forever."""
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
            self._task.get_loop().call_soon_threadsafe(lambda: None)  # wake the loop


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Handle SIGTERM, as sent by schedulers, like Ctrl-C."""
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
