"""The embedding cache in SQLite, one file for all generations."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from surefind.adapters.files.data_folder import FULL, storing
from surefind.errors import StoreError, StoreFull
from surefind.model import EmbedderFingerprint
from surefind.ports import CacheCheck, Vector

T = TypeVar("T")
_LOOKUP_ROWS = 500
_CHECKED_ROWS = 4096
_GUARDED = b"\xc3\xd1\xff\x7f"
"""Precedes the checksum at a vector's end. It is NaN, so no vector without a checksum ends so."""

_UNIT = 1e-3


class SqliteEmbeddingCache:
    """Keyed by fingerprint, input type and text; committed batch by batch."""

    def __init__(
        self, path: Path, notify: Callable[[str], None], *, read_only: bool = False
    ) -> None:
        """Use `read_only` if the data folder is not writable."""
        self._path = path
        self._notify = notify
        self._read_only = read_only
        if read_only:
            with _database(path):
                self._connection = _connect_read_only(path)
            return
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = _connect(path)
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"the embedding cache {path} can't be opened ({error}); free some space if the "
                "disk is full, or delete the file, which will be rebuilt"
            ) from error
        except (sqlite3.DatabaseError, ValueError) as error:
            self._connection = self._replaced(error)

    async def read(
        self, fingerprint: EmbedderFingerprint, input_type: str, passages: Sequence[str]
    ) -> Mapping[str, Vector]:
        keys = {_key(fingerprint, input_type, passage): passage for passage in passages}
        rows = await self._run(lambda: list(self._lookup(list(keys))))
        vectors = ((keys[key], _vector(key, blob)) for key, blob in rows)
        return {
            passage: vector
            for passage, vector in vectors
            if vector is not None and vector.shape == (fingerprint.dimensions,)
        }

    async def write(
        self, fingerprint: EmbedderFingerprint, input_type: str, vectors: Mapping[str, Vector]
    ) -> None:
        rows = [
            (key, _guarded(key, vector))
            for passage, vector in vectors.items()
            for key in (_key(fingerprint, input_type, passage),)
        ]

        def write() -> None:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?)", rows)

        await self._run(write)

    async def check(self, *, repair: bool) -> CacheCheck:
        damaged: list[bytes] = []

        def read() -> int:
            entries = 0
            damaged.clear()
            for [found] in self._connection.execute("PRAGMA integrity_check(1)"):
                if found != "ok":
                    raise sqlite3.DatabaseError(found)
            rows = self._connection.execute("SELECT key, vector FROM embedding")
            while page := rows.fetchmany(_CHECKED_ROWS):
                damaged.extend(key for key, blob in page if _vector(key, blob) is None)
                entries += len(page)
            return entries

        def remove() -> None:
            with self._connection:
                self._connection.executemany(
                    "DELETE FROM embedding WHERE key IS ?", [(key,) for key in damaged]
                )

        entries = await self._run(read)
        if repair and damaged:
            await self._run(remove)
        return CacheCheck(entries, len(damaged))

    async def close(self) -> None:
        self._connection.close()

    def _lookup(self, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for start in range(0, len(keys), _LOOKUP_ROWS):
            page = keys[start : start + _LOOKUP_ROWS]
            marks = ",".join("?" * len(page))
            yield from self._connection.execute(
                f"SELECT key, vector FROM embedding WHERE key IN ({marks})",  # noqa: S608
                page,
            )

    async def _run(self, work: Callable[[], T]) -> T:
        with _database(self._path):
            try:
                return await asyncio.to_thread(work)
            except sqlite3.OperationalError:  # a full disk or a lock: the file may be intact
                raise
            except (sqlite3.DatabaseError, ValueError) as error:
                if self._read_only:
                    raise
                self._connection.close()
                self._connection = self._replaced(error)
                return await asyncio.to_thread(work)

    def _replaced(self, error: Exception) -> sqlite3.Connection:
        """Move a damaged cache aside and start a new one, because it can be rebuilt."""
        path, aside = self._path, self._path.with_suffix(".damaged")
        self._notify(f"the embedding cache {path} is damaged ({error}); moved to {aside.name}")
        with storing(path):
            path.replace(aside)
            for log in ("-wal", "-shm"):  # they belong to the old file
                path.with_name(path.name + log).unlink(missing_ok=True)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS embedding (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
        )
    except (sqlite3.Error, ValueError):
        connection.close()
        raise
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    try:
        connection.execute("SELECT 1 FROM embedding LIMIT 1")
    except (sqlite3.Error, ValueError):
        connection.close()
        raise
    return connection


def _guarded(key: bytes, vector: Vector) -> bytes:
    """The vector with a checksum over its key and itself."""
    stored = vector.astype(np.float32).tobytes()
    return stored + _GUARDED + zlib.crc32(key + stored).to_bytes(4, "little")


def _vector(key: object, blob: object) -> Vector | None:
    """None if damaged. Vectors of earlier surefind versions have no checksum, but length 1."""
    if not isinstance(key, bytes) or not isinstance(blob, bytes) or len(blob) % 4:
        return None
    if blob[-8:-4] == _GUARDED:
        stored = blob[:-8]
        whole = zlib.crc32(key + stored).to_bytes(4, "little") == blob[-4:]
        return np.frombuffer(stored, dtype=np.float32) if whole else None
    vector = np.frombuffer(blob, dtype=np.float32)
    return vector if abs(float(np.linalg.norm(vector)) - 1) < _UNIT else None


def _key(fingerprint: EmbedderFingerprint, input_type: str, passage: str) -> bytes:
    parts = (
        fingerprint.provider,
        fingerprint.model,
        str(fingerprint.dimensions),
        fingerprint.weights,
        fingerprint.input_types,
        input_type,
        passage,
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


@contextmanager
def _database(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError) as error:  # a damaged header raises ValueError
        if "full" in str(error):
            raise StoreFull(f"the embedding cache {path}: {FULL}") from error
        raise StoreError(f"the embedding cache {path}: {error}") from error
