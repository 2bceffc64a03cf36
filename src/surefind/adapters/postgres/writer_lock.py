"""The lock that lets one process at a time write to a catalog in PostgreSQL.

It is a transaction's advisory lock on a connection of its own, so it ends with that connection,
however the writer dies, and a pooler can't hand it to another client. Each holder raises the fence,
and writes below the current fence are refused: a writer that lost its connection, and with it the
lock, can't undo what its successor did.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import psycopg

from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.errors import naming_faults
from surefind.adapters.postgres.pool import Connection
from surefind.errors import StoreBusy, StoreError

_LOCK = "surefind writer of "
_PING_S = 10.0
"""Also keeps a serverless database awake, and the connection open, while passages are embedded."""
_PING_TIMEOUT_S = 10.0


class WriterLock:
    def __init__(self, database: Database, ping_s: float = _PING_S) -> None:
        self._database = database
        self._ping_s = ping_s
        self._fence: int | None = None
        self._connection: Connection | None = None

    @asynccontextmanager
    async def held(self, purpose: str) -> AsyncIterator[None]:
        connection = await self._database.connect()
        try:
            await self._acquire(connection, purpose)
            pinging = asyncio.create_task(self._keep_awake(connection))
            try:
                yield
            finally:
                pinging.cancel()
                with suppress(asyncio.CancelledError):
                    await pinging
                self._fence = self._connection = None
                with suppress(StoreError):  # closing the connection releases the lock anyway
                    await self._clear_holder()
        finally:
            await connection.close()

    async def require_held(self, connection: Connection) -> None:
        """Call it in a transaction that writes. Raises StoreError if the lock was lost."""
        if self._fence is None or self._connection is None:
            return
        await self._require_connected(self._connection)
        [(fence,)] = await self._database.execute(
            connection, "SELECT fence FROM {s}.writer FOR SHARE"
        )
        if fence != self._fence:
            raise self._lost("another writer holds it")

    async def _acquire(self, connection: Connection, purpose: str) -> None:
        database = self._database
        with naming_faults(database.address):
            await connection.execute("BEGIN", prepare=False)
            # The transaction holds only the lock, for as long as the run takes.
            await connection.execute(
                "SET LOCAL idle_in_transaction_session_timeout = 0", prepare=False
            )
            [(acquired,)] = await database.execute(
                connection,
                "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))",
                [_LOCK + database.schema],
            )
        if not acquired:
            raise StoreBusy(
                f"another `surefind {purpose}` ({await self._holder()}) is writing to the catalog "
                f"in PostgreSQL at {database.address.where}; wait for it, or stop it"
            )
        since = datetime.now(UTC)
        holder = f"process {os.getpid()} on {socket.gethostname()}, since {since:%H:%M:%S} UTC"
        async with database.transaction() as writing:
            [(self._fence,)] = await database.execute(
                writing,
                "UPDATE {s}.writer SET fence = fence + 1, holder = %s RETURNING fence",
                [holder],
            )
        self._connection = connection

    async def _clear_holder(self) -> None:
        async with self._database.transaction() as connection:
            await self._database.execute(connection, "UPDATE {s}.writer SET holder = ''")

    async def _holder(self) -> str:
        [(holder,)] = await self._database.fetch("SELECT holder FROM {s}.writer")
        return holder or "starting"

    async def _keep_awake(self, connection: Connection) -> None:
        with suppress(StoreError):  # the next write reports it
            while True:
                await asyncio.sleep(self._ping_s)
                await self._require_connected(connection)

    async def _require_connected(self, connection: Connection) -> None:
        """Shielded: cancelling the query would end the transaction, and with it the lock."""
        await asyncio.shield(self._ping(connection))

    async def _ping(self, connection: Connection) -> None:
        try:
            async with self._database.ending(connection, _PING_TIMEOUT_S):
                await connection.execute("SELECT 1", prepare=False)
        except psycopg.Error as error:
            raise self._lost("the connection that held it broke") from error

    def _lost(self, reason: str) -> StoreError:
        return StoreError(
            f"the catalog in PostgreSQL at {self._database.address.where}: the writer's lock "
            f"was lost ({reason}); nothing was published, run it again"
        )
