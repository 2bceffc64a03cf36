"""The query log: a bounded SQLite file that the processes of a server write in the background.

A request only puts its searches into a queue in memory. A thread writes them in batches; if it
can't keep up or the file can't be written, searches are left out of the log.
"""

import fcntl
import logging
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes

from surefind.adapters.files.data_folder import storing
from surefind.errors import StoreError
from surefind.model import LoggedSearch

_log = logging.getLogger(__name__)

NAME = "queries.sqlite"
MAX_ROWS = 100_000
MAX_CHARS = 1_000
_QUEUED = 2_000
_BATCH = 500
_PAUSE_S = 0.5
_BUSY_S = 5.0
_COLUMNS = (
    "at",
    "collection",
    "text",
    "mode",
    "hits",
    "confidence",
    "similarity",
    "filtered",
    "url",
    "title",
    "client",
)
_TABLES = """
CREATE TABLE IF NOT EXISTS search (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, collection TEXT NOT NULL, text TEXT NOT NULL,
    mode TEXT NOT NULL, hits INTEGER NOT NULL, confidence REAL, similarity REAL,
    filtered INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, client TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS search_at ON search (at);
CREATE TABLE IF NOT EXISTS salt (day TEXT PRIMARY KEY, salt BLOB NOT NULL);
"""


class QueryLogFile:
    """Opened for each batch, so the file can be copied, moved or deleted at any time."""

    def __init__(self, path: Path, days: int, most: int = MAX_ROWS) -> None:
        self._path = path
        self._days = days
        self._most = most

    def add(self, searches: Sequence[LoggedSearch]) -> None:
        """Add searches, and remove those that are too old or too many. Clients are hashed."""
        with storing(self._path), self._only_writer(), _translated(self._path):
            try:
                self._write(searches)
            except sqlite3.OperationalError:  # a full disk or a lock: the file may be intact
                raise
            except (sqlite3.DatabaseError, ValueError) as error:
                aside = self._path.with_suffix(".damaged")
                self._path.replace(aside)
                self._path.with_name(f"{NAME}-journal").unlink(missing_ok=True)
                _log.warning("%s is damaged (%s); moved to %s", self._path, error, aside.name)
                self._write(searches)

    def read(self, collection: str, since: datetime) -> list[LoggedSearch]:
        """The searches of a collection, oldest first; none if nothing was ever logged."""
        if not self._path.exists():
            return []
        uri = f"{self._path.absolute().as_uri()}?mode=ro"
        with (
            _translated(self._path),
            closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S)) as connection,
        ):
            rows = connection.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM search "  # noqa: S608 - fixed names
                "WHERE collection = ? AND at >= ? ORDER BY at, id",
                (collection, since.timestamp()),
            ).fetchall()
            return [_search(row) for row in rows]

    @contextmanager
    def _only_writer(self) -> Iterator[None]:
        """One process writes at a time; the kernel releases the lock of a killed one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, searches: Sequence[LoggedSearch]) -> None:
        now = datetime.now(UTC)
        self._path.touch(0o600)
        with closing(sqlite3.connect(self._path, timeout=_BUSY_S)) as connection, connection:
            connection.execute("PRAGMA secure_delete = ON")  # removed questions leave no trace
            connection.executescript(_TABLES)
            salt = _salt(connection, now) if any(one.client for one in searches) else b""
            connection.executemany(
                f"INSERT INTO search ({', '.join(_COLUMNS)}) "  # noqa: S608 - fixed names
                f"VALUES ({', '.join('?' * len(_COLUMNS))})",
                [_row(one, salt) for one in searches],
            )
            oldest = (now - timedelta(days=self._days)).timestamp()
            connection.execute("DELETE FROM search WHERE at < ?", (oldest,))
            connection.execute(
                "DELETE FROM search WHERE id <= (SELECT max(id) FROM search) - ?", (self._most,)
            )


class QueryLogWriter:
    """Logs searches without waiting: `add` never blocks and never raises."""

    def __init__(self, file: QueryLogFile) -> None:
        self._file = file
        self._queue: queue.Queue[LoggedSearch | None] = queue.Queue(_QUEUED)
        self._failure = ""
        self._left_out = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="query-log", daemon=True)
        self._thread.start()

    def add(self, search: LoggedSearch) -> None:
        try:
            self._queue.put_nowait(search)
        except queue.Full:
            self._left_out += 1

    def close(self) -> None:
        """Write what is queued, for at most a few seconds."""
        self._ending.set()
        self.wake()
        self._thread.join(_BUSY_S)

    def wake(self) -> None:
        """End a wait for searches; a full queue needs no waking."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return

    def _run(self) -> None:
        while True:
            batch = [self._queue.get()]
            self._ending.wait(_PAUSE_S)  # more arrive meanwhile, and are written together
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            searches = [one for one in batch if one is not None]
            if searches:
                self._write(searches)
            if self._ending.is_set() and self._queue.empty():
                return

    def _write(self, searches: Sequence[LoggedSearch]) -> None:
        try:
            self._file.add(searches)
        except StoreError as error:
            self._left_out += len(searches)
            if str(error) != self._failure:  # once for each cause, not for each batch
                self._failure = str(error)
                _log.warning("searches are not logged: %s", error)
            return
        if self._left_out:
            _log.warning("%d searches were left out of the query log", self._left_out)
        self._failure, self._left_out = "", 0


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise StoreError(
            f"the query log {path}: {error}; if it is damaged, delete it, and the server starts "
            "another one"
        ) from error


def _row(search: LoggedSearch, salt: bytes) -> tuple[object, ...]:
    client = search.client and blake2b(search.client.encode(), key=salt, digest_size=8).hexdigest()
    kept = replace(search, text=search.text[:MAX_CHARS], client=client)
    values = (getattr(kept, name) for name in _COLUMNS[1:])
    return (search.at.timestamp(), *values)


def _search(row: tuple[float, ...]) -> LoggedSearch:
    values = dict(zip(_COLUMNS, row, strict=True))
    at = datetime.fromtimestamp(values.pop("at"), UTC)
    return LoggedSearch(at=at, **{**values, "filtered": bool(values["filtered"])})  # type: ignore[arg-type]


def _salt(connection: sqlite3.Connection, now: datetime) -> bytes:
    """Today's secret. Earlier ones are deleted, so that no one can test a guess of a client."""
    day = f"{now:%Y-%m-%d}"
    connection.execute("DELETE FROM salt WHERE day <> ?", (day,))
    connection.execute("INSERT OR IGNORE INTO salt VALUES (?, ?)", (day, token_bytes(32)))
    [(salt,)] = connection.execute("SELECT salt FROM salt WHERE day = ?", (day,))
    return bytes(salt)
