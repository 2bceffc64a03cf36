"""A bounded pool of connections to PostgreSQL: reads try twice, writes are transactions.

Every wait ends: for a place in the pool, for a connection, for a statement. Timeouts are kept by
our own clock, since a setting of the session would stay behind in a pooler's server.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from surefind.adapters.postgres.address import Address, address_of
from surefind.adapters.postgres.errors import (
    TookTooLong,
    connection_is_gone,
    naming_faults,
    statement_was_lost,
)
from surefind.adapters.postgres.pool import Connection, Pool

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

WRITE_TIMEOUT_S = 900.0
"""Of a whole transaction: long enough to copy a generation of millions of chunks."""


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
        self._pool = Pool(
            self.address,
            size=self._limits.pool_size,
            connect_timeout_s=self._limits.connect_timeout_s,
            timeout_s=self._limits.timeout_s,
        )
        self._prepares = not self.address.pooled
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
                await self._pool.discard_dead()
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
            return await self._pool.connect()

    async def execute(
        self, connection: Connection, template: str, values: Values = ()
    ) -> list[TupleRow]:
        """Inside a transaction, where nothing is prepared: a lost statement would end it."""
        cursor = await connection.execute(self.statement(template), values, prepare=False)
        return await cursor.fetchall() if cursor.description else []

    async def close(self) -> None:
        await self._pool.close()

    async def _fetch(self, template: str, values: Values) -> list[TupleRow]:
        async with self._pool.connection() as connection:
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
        async with self._pool.connection() as connection:
            if await self._lives(connection):
                yield connection
                return
        await self._pool.discard_dead()
        async with self._pool.connection() as connection:
            yield connection

    async def _lives(self, connection: Connection) -> bool:
        try:
            async with self.ending(connection, self._limits.timeout_s):
                await connection.execute("", prepare=False)
        except psycopg.OperationalError:
            return False
        return True

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
