"""Who waits for a connection of the pool, how long, and what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from surefind.adapters.postgres.errors import ConnectingTookTooLong

Connection: TypeAlias = AsyncConnection[TupleRow]

_A_DAY_S = 86_400.0  # the pool's own clock knows nothing of connecting: ours ends every wait


@dataclass(slots=True)
class _Place:
    """`connected`: one connecting has ended meanwhile, well or with `reason`.

    `hopeless`: it is taken back, as there is nobody to wait for.
    """

    clock: asyncio.Timeout
    connected: bool = False
    reason: BaseException | None = None
    hopeless: bool = False


class Queue:
    """One may wait `timeout_s` for others; while the pool is connecting, that has not begun.

    Connecting keeps a limit of its own, which may be longer, as there may be several hosts. One is
    waited for, not the next ones too, so that every wait ends.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._connecting = 0
        self._in_use = 0
        self._waiting: dict[asyncio.Task[Connection], _Place] = {}

    @contextmanager
    def using(self) -> Iterator[None]:
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1

    @contextmanager
    def connecting(self) -> Iterator[None]:
        self._connecting += 1
        self._stop_clocks()
        try:
            yield
        except (psycopg.Error, OSError) as error:
            self._tell(error)
            raise
        finally:
            self._connecting -= 1
            self._start_clocks()

    async def take(self, pool: AsyncConnectionPool[Connection]) -> Connection:
        """The pool would hide why it can't connect, and try until the wait is over."""
        if pool.get_stats()["pool_available"]:
            return await pool.getconn()
        getting = asyncio.create_task(pool.getconn(_A_DAY_S))
        clock = asyncio.timeout(None if self._connecting else self._timeout_s)
        place = _Place(clock)
        try:
            async with clock:
                self._waiting[getting] = place
                return await self._taken(getting, place, pool)
        except TimeoutError:
            if not clock.expired():
                raise
            raise self._why_not(place) from None

    async def _taken(
        self,
        getting: asyncio.Task[Connection],
        place: _Place,
        pool: AsyncConnectionPool[Connection],
    ) -> Connection:
        try:
            return await getting
        except asyncio.CancelledError:
            if place.reason is not None and place.hopeless:
                raise place.reason from None
            if getting.done() and not getting.cancelled() and getting.exception() is None:
                await pool.putconn(getting.result())
            raise
        finally:
            del self._waiting[getting]

    def _why_not(self, place: _Place) -> BaseException:
        if place.reason is not None:
            return place.reason
        if self._in_use:
            return PoolTimeout(f"no connection was free within {self._timeout_s:g} s")
        return ConnectingTookTooLong(f"nothing was connected within {self._timeout_s:g} s")

    def _tell(self, error: BaseException) -> None:
        """With others in use one may wait for them; with none there is nothing to wait for."""
        for getting, place in self._waiting.items():
            if not getting.done():
                place.reason = error
                if not self._in_use:
                    place.hopeless = True
                    getting.cancel()

    def _stop_clocks(self) -> None:
        for place in self._waiting.values():
            if not place.connected and not place.clock.expired():
                place.clock.reschedule(None)

    def _start_clocks(self) -> None:
        until = asyncio.get_running_loop().time() + self._timeout_s
        for place in self._waiting.values():
            place.connected = True
            if place.clock.when() is None:
                place.clock.reschedule(until)
