"""psycopg's pool of connections, with what it leaves out: it reports a failed connect at once.

`AsyncConnectionPool.getconn` hides why connecting failed behind a PoolTimeout, and its timeout also
counts the time that connecting takes. Here a connect has a limit of its own, since several hosts
may have to be tried, and `timeout_s` bounds only the wait for connections that others use.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from surefind.adapters.postgres.address import Address
from surefind.adapters.postgres.errors import ConnectingTookTooLong

Connection: TypeAlias = AsyncConnection[TupleRow]

_CLOSE_S = 2.0
_UNBOUNDED_S = 86_400.0  # getconn has no timeout of its own here: _take bounds the wait

# Its warnings repeat what callers get as an error with advice.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


class ConnectionPool:
    def __init__(
        self, address: Address, *, size: int, connect_timeout_s: float, timeout_s: float
    ) -> None:
        self._address = address
        self._size = size
        self._connect_timeout_s = connect_timeout_s
        self._timeout_s = timeout_s
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._opening = asyncio.Lock()
        self._connecting = 0
        self._in_use = 0
        self._connect_error: Exception | None = None
        self._waiting: set[asyncio.Future[Exception | None]] = set()

    async def connect(self) -> Connection:
        """A connection of the caller's own, outside the pool."""
        return await self._connect(AsyncConnection.connect, self._address.conninfo, autocommit=True)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        pool = await self._opened()
        connection = await self._take(pool)
        self._in_use += 1
        try:
            yield connection
        finally:
            self._in_use -= 1
            await pool.putconn(connection)

    async def discard_dead(self) -> None:
        """After a restart of the server all idle connections are dead, not only the one tried."""
        pool = await self._opened()
        async with asyncio.timeout(self._timeout_s):
            await pool.check()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close(timeout=_CLOSE_S)
            self._pool = None

    async def _take(self, pool: AsyncConnectionPool[Connection]) -> Connection:
        """Waits for a running connect to end, then for others to return theirs.

        A failed connect ends the wait if no connection is in use: none can become free.
        """
        stats = pool.get_stats()
        if stats["pool_available"]:
            return await pool.getconn()
        connects = bool(self._connecting) or stats["pool_size"] < self._size
        connected: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._waiting.add(connected)
        getting = asyncio.create_task(pool.getconn(_UNBOUNDED_S))
        try:
            either: set[asyncio.Future[Any]] = {getting, connected}
            if not connects and stats["pool_size"] > self._in_use:
                # A worker of the pool is about to connect, in place of a connection that was lost.
                await asyncio.wait(
                    either, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
                connects = bool(self._connecting)
            if connects:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            error = connected.result() if connected.done() else None
            if not getting.done() and (error is None or self._in_use):
                await asyncio.wait({getting}, timeout=self._timeout_s)
            if getting.done():
                return getting.result()
            raise error or PoolTimeout(f"no connection was free within {self._timeout_s:g} s")
        except asyncio.CancelledError:
            if getting.done() and not getting.cancelled() and getting.exception() is None:
                await pool.putconn(getting.result())
            raise
        finally:
            self._waiting.discard(connected)
            getting.cancel()

    def _report_connect(self, error: Exception | None) -> None:
        for connected in self._waiting:
            if not connected.done():
                connected.set_result(error)

    async def _report_failure(self, _: object) -> None:
        self._report_connect(self._connect_error)

    async def _opened(self) -> AsyncConnectionPool[Connection]:
        async with self._opening:
            if self._pool is None:
                pool = self._new_pool()
                await pool.open()
                self._pool = pool
        return self._pool

    def _new_pool(self) -> AsyncConnectionPool[Connection]:
        ours = self

        class PooledConnection(AsyncConnection[TupleRow]):
            @classmethod
            async def connect(cls, *arguments: Any, **options: Any) -> Connection:  # type: ignore[override]
                ours._connecting += 1
                try:
                    connection = await ours._connect(super().connect, *arguments, **options)
                except Exception as error:
                    ours._connect_error = error
                    raise
                finally:
                    ours._connecting -= 1
                ours._report_connect(None)
                return connection

        return AsyncConnectionPool(
            self._address.conninfo,
            connection_class=PooledConnection,
            kwargs={"autocommit": True, "prepare_threshold": None if self._address.pooled else 5},
            min_size=0,
            max_size=self._size,
            open=False,
            name="surefind",
            reconnect_timeout=0,  # a caller hears of the failure; the next one tries again
            reconnect_failed=self._report_failure,
        )

    async def _connect(
        self, connect: Callable[..., Awaitable[Connection]], *arguments: Any, **options: Any
    ) -> Connection:
        try:
            attempt_s = attempt_timeout_s(self._address, self._connect_timeout_s)
            if attempt_s is not None:
                return await connect(*arguments, **options, connect_timeout=attempt_s)
            async with asyncio.timeout(self._connect_timeout_s):
                return await connect(*arguments, **options)
        except TimeoutError as error:
            slow = f"connecting took more than {self._connect_timeout_s:g} s"
            raise ConnectingTookTooLong(slow) from error
        except UnicodeError as error:  # a host name that IDNA cannot encode
            raise psycopg.OperationalError(f"failed to resolve the host: {error}") from error


def attempt_timeout_s(address: Address, connect_timeout_s: float) -> int | None:
    """What psycopg may spend on each address it tries, in whole seconds and at least two.

    None where there is one attempt only: our own clock ends that, exactly after
    `connect_timeout_s`.
    """
    if address.connect_timeout_s is None and address.is_single:
        return None
    return max(2, math.ceil(address.connect_timeout_s or connect_timeout_s))
