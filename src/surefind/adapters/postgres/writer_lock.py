"""The one writer's place of an installation whose catalog is in PostgreSQL.

The place is an advisory lock of a transaction on a connection of its own: it goes with the
connection, however the writer dies, and a pooler can't hand it to somebody else. Whoever takes the
place raises the fence, and nothing is published below it: a writer that lost its connection, and
with it its place, can't undo what its successor did.
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
"""Also keeps awake what would go to sleep, or cut the line, while embedding takes its time."""
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
            await self._take(connection, purpose)
            pinging = asyncio.create_task(self._keep_awake(connection))
            try:
                yield
            finally:
                pinging.cancel()
                with suppress(asyncio.CancelledError):
                    await pinging
                self._fence = self._connection = None
                with suppress(StoreError):  # the lock goes with the connection all the same
                    await self._leave()
        finally:
            await connection.close()

    async def require_held(self, connection: Connection) -> None:
        """In a transaction that writes: StoreError where the place was lost meanwhile."""
        if self._fence is None or self._connection is None:
            return
        await self._require_connected(self._connection)
        [(fence,)] = await self._database.execute(
            connection, "SELECT fence FROM {s}.writer FOR SHARE"
        )
        if fence != self._fence:
            raise self._lost("another writer has taken it")

    async def _take(self, connection: Connection, purpose: str) -> None:
        database = self._database
        with naming_faults(database.address):
            await connection.execute("BEGIN", prepare=False)
            # Nothing but the lock is held, and it is to be held for as long as the run takes.
            await connection.execute(
                "SET LOCAL idle_in_transaction_session_timeout = 0", prepare=False
            )
            [(ours,)] = await database.execute(
                connection,
                "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))",
                [_LOCK + database.schema],
            )
        if not ours:
            raise StoreBusy(
                f"another `surefind {purpose}` ({await self._holder()}) is writing to the catalog "
                f"in PostgreSQL at {database.address.where}; wait for it, or stop it"
            )
        since = datetime.now(UTC)
        holder = f"process {os.getpid()} on {socket.gethostname()}, since {since:%H:%M:%S} UTC"
        async with database.transaction() as other:
            [(self._fence,)] = await database.execute(
                other,
                "UPDATE {s}.writer SET fence = fence + 1, holder = %s RETURNING fence",
                [holder],
            )
        self._connection = connection

    async def _leave(self) -> None:
        async with self._database.transaction() as connection:
            await self._database.execute(connection, "UPDATE {s}.writer SET holder = ''")

    async def _holder(self) -> str:
        [(holder,)] = await self._database.fetch("SELECT holder FROM {s}.writer")
        return holder or "starting"

    async def _keep_awake(self, connection: Connection) -> None:
        with suppress(StoreError):  # it is told where it matters: at the next write
            while True:
                await asyncio.sleep(self._ping_s)
                await self._require_connected(connection)

    async def _require_connected(self, connection: Connection) -> None:
        """Whoever is stopped meanwhile does not stop the question: to cancel it ends the lock."""
        await asyncio.shield(self._answers(connection))

    async def _answers(self, connection: Connection) -> None:
        try:
            async with self._database.ending(connection, _PING_TIMEOUT_S):
                await connection.execute("SELECT 1", prepare=False)
        except psycopg.Error as error:
            raise self._lost("the connection that held it broke") from error

    def _lost(self, reason: str) -> StoreError:
        return StoreError(
            f"the catalog in PostgreSQL at {self._database.address.where}: the one writer's place "
            f"was lost ({reason}); nothing was published, run it again"
        )
