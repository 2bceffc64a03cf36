"""Reads and writes one generation's catalog in an SQLite file."""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from surefind.adapters.catalog_rows import (
    RECORD_COLUMNS,
    WHOLE_COLUMNS,
    document_of,
    record_of,
    whole_document_of,
)
from surefind.adapters.files.checksums import CHECKED_ON_OPEN_BYTES, Checksums, damaged
from surefind.adapters.files.data_folder import FULL, storing
from surefind.errors import StoreFull, UnknownDocument
from surefind.model import ChunkRecord, Document, DocumentRecord, point_id

T = TypeVar("T")

_PAGE_ROWS = 256
_MAPPED_BYTES = 2**30
_PLAIN = frozenset({str, int})

_RECORD = f"SELECT {RECORD_COLUMNS} FROM chunk c JOIN document d USING (source_path)"  # noqa: S608
_WHOLE = f"SELECT {WHOLE_COLUMNS} FROM document"  # noqa: S608
_DOCUMENT = """
    SELECT source_path, url, slug, title, content_hash, validator,
           (SELECT count(*) FROM chunk c WHERE c.source_path = d.source_path), attributes
    FROM document d
"""


def checksums_of(catalog: Path) -> Checksums:
    return Checksums(catalog, catalog.with_suffix(".checksums"))


class SqliteCatalog:
    """Read-only. The file is immutable, so SQLite needs no locks and any thread can read."""

    is_fixed = True

    def __init__(self, path: Path, checked_on_open_bytes: int = CHECKED_ON_OPEN_BYTES) -> None:
        self._path = path
        self._check(checked_on_open_bytes)
        with _database(path):
            self._connection = self._connect(path)

    def _check(self, limit_bytes: int) -> None:
        with storing(self._path):
            checksums_of(self._path).verify(limit_bytes)

    def _connect(self, path: Path) -> sqlite3.Connection:
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        connection.execute("SELECT count(*) FROM document WHERE source_path = ''")
        connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        return connection

    async def check(self) -> None:
        await self.chunk("")  # one indexed lookup; counting all rows would be slow

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """Runs inline: reading a few rows takes 0.1 ms, less than a thread switch."""
        asked = {point.bytes: point for point in point_ids}
        with _database(self._path):
            marks = ",".join("?" * len(asked))
            rows = self._connection.execute(f"{_RECORD} WHERE c.point_id IN ({marks})", list(asked))
            return {asked[row[-1]]: _record(row) for row in rows}

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        records = await self._fetched(_record, f"{_RECORD} WHERE c.chunk_id = ?", chunk_id)
        return records[0] if records else None

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        found = await self.by_point([point_id(chunk_id) for chunk_id in chunk_ids])
        return {record.chunk.id: record for record in found.values()}

    async def document(self, source_path: str) -> DocumentRecord | None:
        found = await self._fetched(_document, f"{_DOCUMENT} WHERE source_path = ?", source_path)
        return found[0] if found else None

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        return await self._fetched(
            _document,
            f"{_DOCUMENT} WHERE source_path > ? ORDER BY source_path LIMIT ?",
            after or "",
            -1 if limit is None else limit,
        )

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        return await self._fetched(
            _record, f"{_RECORD} WHERE c.source_path = ? ORDER BY c.position", source_path
        )

    async def document_text(self, source_path: str) -> str:
        rows = await self._rows("SELECT text FROM document WHERE source_path = ?", source_path)
        if not rows:
            raise UnknownDocument(f"unknown document: {source_path!r}")
        return str(rows[0][0])

    async def whole_document(self, source_path: str) -> Document:
        found = await self._fetched(_whole_document, f"{_WHOLE} WHERE source_path = ?", source_path)
        if not found:
            raise UnknownDocument(f"unknown document: {source_path!r}")
        return found[0]

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        place: tuple[str, int] = ("", -1)
        while True:
            records = await self._fetched(
                _record,
                f"{_RECORD} WHERE (c.source_path, c.position) > (?, ?)"
                " ORDER BY c.source_path, c.position LIMIT ?",
                *place,
                _PAGE_ROWS,
            )
            for record in records:
                yield record
            if len(records) < _PAGE_ROWS:
                return
            place = (records[-1].chunk.source_path, records[-1].chunk.position)

    async def count(self) -> int:
        return int((await self._rows("SELECT count(*) FROM chunk"))[0][0])

    async def close(self) -> None:
        self._connection.close()

    async def _fetched(
        self, make: Callable[[Sequence[Any]], T], statement: str, *values: object
    ) -> list[T]:
        rows = await self._rows(statement, *values)
        with _database(self._path):
            return [make(row) for row in rows]

    async def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._run(lambda: self._connection.execute(statement, values).fetchall())

    async def _run(self, work: Callable[[], T]) -> T:
        with _database(self._path):
            return await asyncio.to_thread(work)


class SqliteCatalogWriter(SqliteCatalog):
    """Builds without a journal: an interrupted build is discarded."""

    is_fixed = False

    def __init__(self, path: Path, *, empty: bool) -> None:
        self._empty = empty
        super().__init__(path)

    def _check(self, limit_bytes: int) -> None:
        """Nothing to check before the catalog is sealed."""

    def _connect(self, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        if self._empty:
            schema = resources.files("surefind.adapters.sqlite").joinpath("catalog.sql").read_text()
            connection.executescript(schema)
        connection.execute("BEGIN")
        return connection

    async def _run(self, work: Callable[[], T]) -> T:
        """Run inline: writes are small and sequential, and this process serves no requests."""
        with _database(self._path):
            return work()

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        def write() -> None:
            self._remove(document.source_path)
            self._connection.execute(
                "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    document.source_path,
                    document.url,
                    document.slug,
                    document.title,
                    document.version,
                    document.locale,
                    document.content_hash,
                    document.validator,
                    json.dumps(document.front_matter, default=str, ensure_ascii=False),
                    json.dumps(document.attributes, ensure_ascii=False),
                    document.text,
                ),
            )
            marks = ",".join("?" * 16)
            self._connection.executemany(
                f"INSERT INTO chunk VALUES ({marks})",  # noqa: S608 - only marks
                [_row(record) for record in chunks],
            )

        await self._run(write)

    async def remove(self, source_path: str) -> None:
        await self._run(lambda: self._remove(source_path))

    async def total_terms(self) -> int:
        rows = await self._rows("SELECT coalesce(sum(term_count), 0) FROM chunk")
        return int(rows[0][0])

    async def finish(self) -> int:
        chunks = await self.count()

        def write() -> None:
            self._connection.execute("COMMIT")
            self._connection.close()
            with self._path.open("rb+") as stream:
                os.fsync(stream.fileno())
            checksums_of(self._path).write()

        with storing(self._path):
            await self._run(write)
        return chunks

    async def abandon(self) -> None:
        self._connection.close()

    def _remove(self, source_path: str) -> None:
        self._connection.execute("DELETE FROM chunk WHERE source_path = ?", (source_path,))
        self._connection.execute("DELETE FROM document WHERE source_path = ?", (source_path,))


def _row(record: ChunkRecord) -> tuple[object, ...]:
    chunk = record.chunk
    return (
        chunk.point_id.bytes,
        chunk.id,
        chunk.source_path,
        chunk.position,
        chunk.start,
        chunk.end,
        chunk.text,
        json.dumps(chunk.heading_path, ensure_ascii=False),
        chunk.context,
        chunk.anchor,
        chunk.tokens,
        record.term_count,
        chunk.content_hash,
        chunk.has_code,
        chunk.content_type,
        record.created_at.isoformat(),
    )


def _record(row: Sequence[Any]) -> ChunkRecord:
    if not _PLAIN.issuperset(map(type, row[:-1])):
        raise TypeError("a column has a value of the wrong type")
    heading_path, attributes, created_at, _ = row[-4:]
    return record_of(row, _heading_path(heading_path), _json(attributes), _moment(created_at))


@lru_cache(maxsize=4096)
def _heading_path(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=1024)
def _moment(stored: str) -> datetime:
    return datetime.fromisoformat(stored)


def _document(row: Sequence[Any]) -> DocumentRecord:
    return document_of(row, _json(row[-1]))


def _whole_document(row: Sequence[Any]) -> Document:
    return whole_document_of(row, *map(_json, row[-2:]))


def _json(stored: str) -> dict[str, Any]:
    return {} if stored == "{}" else dict(json.loads(stored))


@contextmanager
def _database(path: Path) -> Iterator[None]:
    """Translate errors; a damaged file can cause more than SQLite's own exceptions."""
    try:
        yield
    except sqlite3.Error as error:
        if "full" in str(error):
            raise StoreFull(f"the catalog {path}: {FULL}") from error
        raise damaged(f"the catalog {path}", str(error)) from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise damaged(f"the catalog {path}", f"it can't be read: {error}") from error
