"""So many searches at once, so many waiting; whoever comes then is told so at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from surefind.errors import Overloaded


class Turnstile:
    """First come, first served. A queue without an end would only make everybody wait."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._most_waiting = waiting
        self.inside = 0
        self.queued = 0

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        if self._places.locked() and self.queued >= self._most_waiting:
            raise Overloaded("too many searches are waiting already; try again in a moment")
        self.queued += 1
        try:
            await self._places.acquire()
        finally:
            self.queued -= 1
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
            self._places.release()
