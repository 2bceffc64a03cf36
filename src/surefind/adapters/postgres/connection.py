"""A bounded pool of connections to PostgreSQL: reads try twice, writes are transactions.

Every wait ends: for a place in the pool, for a connection, for a statement. Timeouts are kept by
our own clock, since a setting of the session would stay behind in a pooler's server.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from surefind.adapters.postgres.address import Address, address_of
from surefind.adapters.postgres.connect_timeout import connect_timeouts, count_addresses
from surefind.adapters.postgres.errors import (
    ConnectingTookTooLong,
    TookTooLong,
    connection_is_gone,
    naming_faults,
    statement_was_lost,
)
from surefind.adapters.postgres.queue import Connection, Queue

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

WRITE_TIMEOUT_S = 900.0
"""Of a whole transaction: long enough to copy a generation of millions of chunks."""
_CLOSE_S = 2.0

# What it warns of reaches the caller as an error, and says there what to do.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Limits:
    pool_size: int = 10
    connect_timeout_s: float = 5.0
    timeout_s: float = 5.0


class Database:
    def __init__(self, url: str, schema: str, limits: Limits | None = None) -> None:
        self.address: Address = address_of(url)
        self.schema = schema
        self._limits = limits or Limits()
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._opening = asyncio.Lock()
        self._prepares = not self.address.pooled
        self._queue = Queue(self._limits.timeout_s)
        self._statements: dict[str, bytes] = {}

    @property
    def place_name(self) -> str:
        """For a folder: readable, and another one for another host, database or schema.

        A host and the pooler before it are one, and so are several hosts in any order.
        """
        _, _, database = self.address.where.rpartition("/")
        hosts = ",".join(sorted(host.replace("-pooler.", ".") for host in self.address.hosts))
        place = f"{hosts}/{database}/{self.schema}"
        readable = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
        return f"{readable[-60:]}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"

    def statement(self, template: str) -> bytes:
        """`{s}` stands for the schema: a search path would not outlive a pooler's next turn."""
        if template not in self._statements:
            composed = sql.SQL(template).format(s=sql.Identifier(self.schema))
            self._statements[template] = composed.as_bytes(None)
        return self._statements[template]

    async def fetch(self, template: str, values: Values = ()) -> list[TupleRow]:
        """Rows of one statement, in one round trip; once more where the connection was dead."""
        with naming_faults(self.address):
            try:
                return await self._fetch(template, values)
            except _Again:
                await self._discard_dead()
                try:
                    return await self._fetch(template, values)
                except _Again as error:
                    raise error.reason from error

    @asynccontextmanager
    async def transaction(self, timeout_s: float = WRITE_TIMEOUT_S) -> AsyncIterator[Connection]:
        """All or nothing. It begins on a connection that has just been seen to live."""
        with naming_faults(self.address):
            async with (
                self._live_connection() as connection,
                self.ending(connection, timeout_s),
                connection.transaction(),
            ):
                yield connection

    async def connect(self) -> Connection:
        """One of the caller's own, outside the pool."""
        with naming_faults(self.address):
            return await self._dial(AsyncConnection.connect, self.address.conninfo, autocommit=True)

    async def execute(
        self, connection: Connection, template: str, values: Values = ()
    ) -> list[TupleRow]:
        """Inside a transaction, where nothing is prepared: a lost statement would end it."""
        cursor = await connection.execute(self.statement(template), values, prepare=False)
        return await cursor.fetchall() if cursor.description else []

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close(timeout=_CLOSE_S)
            self._pool = None

    async def _fetch(self, template: str, values: Values) -> list[TupleRow]:
        async with self._connection() as connection:
            try:
                async with self.ending(connection, self._limits.timeout_s):
                    cursor = await connection.execute(
                        self.statement(template),
                        values,
                        prepare=None if self._prepares else False,
                        binary=True,
                    )
                    return await cursor.fetchall()
            except psycopg.Error as error:
                if statement_was_lost(error):
                    self._prepares = False
                    raise _Again(error) from error
                if connection_is_gone(error, connection):
                    raise _Again(error) from error
                raise

    @asynccontextmanager
    async def _live_connection(self) -> AsyncIterator[Connection]:
        async with self._connection() as connection:
            if await self._lives(connection):
                yield connection
                return
        await self._discard_dead()
        async with self._connection() as connection:
            yield connection

    async def _lives(self, connection: Connection) -> bool:
        try:
            async with self.ending(connection, self._limits.timeout_s):
                await connection.execute("", prepare=False)
        except psycopg.OperationalError:
            return False
        return True

    async def _discard_dead(self) -> None:
        """After a restart all idle connections are dead, not only the one that was tried."""
        pool = await self._opened()
        async with asyncio.timeout(self._limits.timeout_s):
            await pool.check()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        pool = await self._opened()
        connection = await self._queue.take(pool)
        try:
            with self._queue.using():
                yield connection
        finally:
            await pool.putconn(connection)

    async def _opened(self) -> AsyncConnectionPool[Connection]:
        if self._pool is None:
            async with self._opening:
                if self._pool is None:
                    pool = self._new_pool()
                    await pool.open()
                    self._pool = pool
        return self._pool

    def _new_pool(self) -> AsyncConnectionPool[Connection]:
        return AsyncConnectionPool(
            self.address.conninfo,
            connection_class=self._pooled_class,
            kwargs={
                "autocommit": True,
                "prepare_threshold": 5 if self._prepares else None,
            },
            min_size=0,
            max_size=self._limits.pool_size,
            open=False,
            name="surefind",
            timeout=self._limits.timeout_s,
            reconnect_timeout=0,
        )

    @cached_property
    def _pooled_class(self) -> type[Connection]:
        database = self

        class PooledConnection(AsyncConnection[TupleRow]):
            @classmethod
            async def connect(cls, *arguments: Any, **options: Any) -> Connection:  # type: ignore[override]
                with database._queue.connecting():
                    return await database._dial(super().connect, *arguments, **options)

        return PooledConnection

    async def _dial(
        self, connect: Callable[..., Awaitable[Connection]], *arguments: Any, **options: Any
    ) -> Connection:
        allowed_s = self._limits.connect_timeout_s
        addresses = await count_addresses(self.address, allowed_s)
        plan = connect_timeouts(self.address, allowed_s, addresses)
        try:
            async with asyncio.timeout(plan.limit_s):
                return await connect(*arguments, **(plan.options | options))
        except TimeoutError as error:
            slow = f"connecting took more than {plan.limit_s:g} s"
            raise ConnectingTookTooLong(slow) from error

    @asynccontextmanager
    async def ending(self, connection: Connection, timeout_s: float) -> AsyncIterator[None]:
        """Where time runs out the connection is cut, so that no answer is waited for."""
        clock = _Clock(connection)
        alarm = asyncio.get_running_loop().call_later(timeout_s, clock.cut)
        try:
            yield
        except psycopg.OperationalError as error:
            if clock.ran_out:
                raise TookTooLong(f"it did not answer within {timeout_s:g} s") from error
            raise
        finally:
            alarm.cancel()


class _Clock:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ran_out = False

    def cut(self) -> None:
        """The descriptor stays open, as the loop still watches it; what is read is the end."""
        self.ran_out = True
        with suppress(OSError, psycopg.Error), _socket_of(self._connection) as line:
            line.shutdown(socket.SHUT_RDWR)


@contextmanager
def _socket_of(connection: Connection) -> Iterator[socket.socket]:
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        yield line


class _Again(Exception):  # noqa: N818 - it is a wish, not an error
    def __init__(self, reason: psycopg.Error) -> None:
        self.reason = reason
