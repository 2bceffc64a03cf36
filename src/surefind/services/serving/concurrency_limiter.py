"""Limits how many searches run at once and how many wait; refuses the rest at once."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from surefind.errors import Overloaded

_LONGEST_RETRY_S = 60
_NEWEST = 0.05  # what one search weighs in the mean of how long they take


class ConcurrencyLimiter:
    """First come, first served. A queue without an end would only make everybody wait.

    A search that is answered from memory or by the lexical leg alone never gives the event loop
    away. If it began at once, the loop would answer one after the other, see nobody else waiting,
    and refuse nobody however many there are. So one search begins per turn of the loop: between
    two of them the loop accepts new requests, which join the queue or are refused.
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
    async def passed(self) -> AsyncIterator[None]:
        if self._places.locked() and self.queued >= self._most_waiting:
            refusal = Overloaded("too many searches are waiting already; try again in a moment")
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
        """When those who wait now will have been answered, as far as the last searches tell."""
        drained_s = self.queued / self._at_once * self._mean_s
        return min(max(1, math.ceil(drained_s)), _LONGEST_RETRY_S)
