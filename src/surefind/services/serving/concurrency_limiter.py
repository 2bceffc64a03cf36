"""Limits how many searches run and how many wait; rejects the others immediately."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from surefind.errors import Overloaded

_LONGEST_RETRY_S = 60
_NEWEST = 0.05  # weight of the newest search in the mean duration


class ConcurrencyLimiter:
    """First come, first served, with a bounded queue.

    A cached or lexical search never yields to the event loop. If each began immediately, the loop
    would run them back to back, never see a queue, and never reject any. So only one search begins
    per turn of the loop, and in between the loop accepts new requests.
    """

    def __init__(
        self, at_once: int, waiting: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once = at_once
        self._places = asyncio.Semaphore(at_once)
        self._beginning = asyncio.Lock()
        self._most_waiting = waiting
        self._now = now
        self._mean_s = 0.0
        self.inside = 0
        self.queued = 0

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        if self._places.locked() and self.queued >= self._most_waiting:
            refusal = Overloaded("too many searches are already waiting; try again in a moment")
            refusal.retry_after_s = self._retry_after_s()
            raise refusal
        self.queued += 1
        try:
            await self._places.acquire()
        finally:
            self.queued -= 1
        self.inside += 1
        began = self._now()
        try:
            async with self._beginning:
                await asyncio.sleep(0)
            yield
        finally:
            self.inside -= 1
            self._mean_s += _NEWEST * (self._now() - began - self._mean_s)
            self._places.release()

    def _retry_after_s(self) -> int:
        """The estimated time until the current queue is empty."""
        drained_s = self.queued / self._at_once * self._mean_s
        return min(max(1, math.ceil(drained_s)), _LONGEST_RETRY_S)
