"""The database of the catalog: reads are retried once, writes are transactions.

Every wait is bounded: for a free connection, for connecting, for a statement. surefind keeps the
timeouts itself, since a session setting would stay behind on a pooler's server.
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
    connection_was_lost,
    naming_faults,
    statement_was_lost,
)
from surefind.adapters.postgres.pool import Connection, ConnectionPool

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

WRITE_TIMEOUT_S = 900.0
"""For a whole transaction: long enough to copy a generation of millions of chunks."""


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
        self._pool = ConnectionPool(
            self.address,
            size=self._limits.pool_size,
            connect_timeout_s=self._limits.connect_timeout_s,
            timeout_s=self._limits.timeout_s,
        )
        self._prepares = not self.address.pooled
        self._statements: dict[str, bytes] = {}

    @property
    def place_name(self) -> str:
        """A readable folder name, different for each database and schema.

        A host and its pooler share one, and so do several hosts in any order.
        """
        _, _, database = self.address.where.rpartition("/")
        hosts = ",".join(sorted(host.replace("-pooler.", ".") for host in self.address.hosts))
        place = f"{hosts}/{database}/{self.schema}"
        readable = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
        return f"{readable[-60:]}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"

    def statement(self, template: str) -> bytes:
        """`{s}` is replaced with the schema: a pooler would drop a search path."""
        if template not in self._statements:
            composed = sql.SQL(template).format(s=sql.Identifier(self.schema))
            self._statements[template] = composed.as_bytes(None)
        return self._statements[template]

    async def fetch(self, template: str, values: Values = ()) -> list[TupleRow]:
        """Runs one statement in one round trip; retries once if the connection was dead."""
        with naming_faults(self.address):
            try:
                return await self._fetch(template, values)
            except _Retry:
                await self._pool.discard_dead()
                try:
                    return await self._fetch(template, values)
                except _Retry as error:
                    raise error.reason from error

    @asynccontextmanager
    async def transaction(self, timeout_s: float = WRITE_TIMEOUT_S) -> AsyncIterator[Connection]:
        """Begins on a connection that was just checked."""
        with naming_faults(self.address):
            async with (
                self._checked_connection() as connection,
                self.ending(connection, timeout_s),
                connection.transaction(),
            ):
                yield connection

    async def connect(self) -> Connection:
        """A connection of the caller's own, outside the pool."""
        with naming_faults(self.address):
            return await self._pool.connect()

    async def execute(
        self, connection: Connection, template: str, values: Values = ()
    ) -> list[TupleRow]:
        """Never prepares a statement: a lost one would end the transaction."""
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
                    raise _Retry(error) from error
                if connection_was_lost(error, connection):
                    raise _Retry(error) from error
                raise

    @asynccontextmanager
    async def _checked_connection(self) -> AsyncIterator[Connection]:
        async with self._pool.connection() as connection:
            if await self._is_alive(connection):
                yield connection
                return
        await self._pool.discard_dead()
        async with self._pool.connection() as connection:
            yield connection

    async def _is_alive(self, connection: Connection) -> bool:
        try:
            async with self.ending(connection, self._limits.timeout_s):
                await connection.execute("", prepare=False)
        except psycopg.OperationalError:
            return False
        return True

    @asynccontextmanager
    async def ending(self, connection: Connection, timeout_s: float) -> AsyncIterator[None]:
        """Cuts the connection after `timeout_s`, so that nothing waits for an answer."""
        cutter = _ConnectionCutter(connection)
        alarm = asyncio.get_running_loop().call_later(timeout_s, cutter.cut)
        try:
            yield
        except psycopg.OperationalError as error:
            if cutter.has_cut:
                raise TookTooLong(f"no answer within {timeout_s:g} s") from error
            raise
        finally:
            alarm.cancel()


class _ConnectionCutter:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.has_cut = False

    def cut(self) -> None:
        """Shuts the socket down and keeps its descriptor open: the event loop still watches it."""
        self.has_cut = True
        with suppress(OSError, psycopg.Error), _socket_of(self._connection) as line:
            line.shutdown(socket.SHUT_RDWR)


@contextmanager
def _socket_of(connection: Connection) -> Iterator[socket.socket]:
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        yield line


class _Retry(Exception):  # noqa: N818 - a request to try again, not an error
    def __init__(self, reason: psycopg.Error) -> None:
        self.reason = reason
