"""Reads and writes the rows of one generation in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC
from typing import Any
from uuid import UUID

from surefind.adapters.catalog_rows import (
    RECORD_COLUMNS,
    WHOLE_COLUMNS,
    document_of,
    record_of,
    whole_document_of,
)
from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.pool import Connection
from surefind.errors import StoreError, UnknownDocument
from surefind.model import ChunkRecord, Document, DocumentRecord, GenerationRef, point_id

PAGE_ROWS = 1000
_FLUSHED_CHUNKS = 1000
_FLUSHED_CHARACTERS = 4_000_000
_ANALYZED_CHUNKS = 1000

DOCUMENT_COLUMNS = (
    "source_path, url, slug, title, version, locale, content_hash, validator, front_matter,"
    " attributes, text"
)
CHUNK_COLUMNS = (
    "point_id, chunk_id, source_path, position, start_offset, end_offset, text, heading_path,"
    " context, anchor, tokens, term_count, content_hash, has_code, content_type, created_at"
)

# Attributes as text: most pages have no attributes, which skips parsing.
_COLUMNS = RECORD_COLUMNS.replace("d.attributes", "d.attributes::text")
_RECORD = f"""
    SELECT {_COLUMNS}
    FROM {{s}}.chunk c
    JOIN {{s}}.document d ON d.generation_id = c.generation_id AND d.source_path = c.source_path
    WHERE c.generation_id = %s
"""  # noqa: S608 - names of columns
# OFFSET 0 keeps the planner from reading all documents to find a few.
_BY_POINT = f"""
    SELECT {_COLUMNS}
    FROM {{s}}.chunk c
    CROSS JOIN LATERAL (
        SELECT * FROM {{s}}.document o
        WHERE o.generation_id = c.generation_id AND o.source_path = c.source_path OFFSET 0
    ) d
    WHERE c.generation_id = %s AND c.point_id = ANY(%s::uuid[])
"""  # noqa: S608
_DOCUMENT = """
    SELECT d.source_path, d.url, d.slug, d.title, d.content_hash, d.validator,
           (SELECT count(*) FROM {s}.chunk c
            WHERE c.generation_id = d.generation_id AND c.source_path = d.source_path),
           d.attributes::text
    FROM {s}.document d
    WHERE d.generation_id = %s
"""

_WHOLE = f"""
    SELECT {WHOLE_COLUMNS} FROM {{s}}.document WHERE generation_id = %s AND source_path = %s
"""  # noqa: S608 - names of columns


class PostgresCatalog:
    """Read-only. Reports a generation that was removed while it was read."""

    is_fixed = False

    def __init__(self, database: Database, ref: GenerationRef, generation_id: int) -> None:
        self._database = database
        self._ref = ref
        self._id = generation_id

    async def check(self) -> None:
        await self.chunk("")  # one indexed lookup; counting all rows would be slow

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        if not point_ids:
            return {}
        wanted = f"{{{','.join(map(str, point_ids))}}}"  # faster than adapting a list
        rows = await self._rows(_BY_POINT, wanted)
        return {row[-1]: _record(row) for row in rows}

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        rows = await self._found(f"{_RECORD} AND c.chunk_id = %s", chunk_id)
        return _record(rows[0]) if rows else None

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        found = await self.by_point([point_id(chunk_id) for chunk_id in chunk_ids])
        return {record.chunk.id: record for record in found.values()}

    async def document(self, source_path: str) -> DocumentRecord | None:
        rows = await self._found(f"{_DOCUMENT} AND d.source_path = %s", source_path)
        return _document(rows[0]) if rows else None

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        """In pages, so that each query is fast."""
        found: list[DocumentRecord] = []
        while limit is None or len(found) < limit:
            wanted = PAGE_ROWS if limit is None else min(PAGE_ROWS, limit - len(found))
            rows = await self._rows(
                f"{_DOCUMENT} AND (%s::text IS NULL OR d.source_path > %s)"
                " ORDER BY d.source_path LIMIT %s",
                after,
                after,
                wanted,
            )
            found += map(_document, rows)
            if len(rows) < wanted:
                await self._require_exists()
                break
            after = found[-1].source_path
        return found

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        rows = await self._found(
            f"{_RECORD} AND c.source_path = %s ORDER BY c.position", source_path
        )
        return [_record(row) for row in rows]

    async def document_text(self, source_path: str) -> str:
        rows = await self._found(
            "SELECT text FROM {s}.document WHERE generation_id = %s AND source_path = %s",
            source_path,
        )
        if not rows:
            raise UnknownDocument(f"unknown document: {source_path!r}")
        return str(rows[0][0])

    async def whole_document(self, source_path: str) -> Document:
        rows = await self._found(_WHOLE, source_path)
        if not rows:
            raise UnknownDocument(f"unknown document: {source_path!r}")
        return whole_document_of(rows[0], *rows[0][-2:])

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        """In pages, not by a cursor, so that no connection is held between them."""
        place: tuple[str, int] = ("", -1)
        while True:
            rows = await self._rows(
                f"{_RECORD} AND (c.source_path, c.position) > (%s, %s)"
                " ORDER BY c.source_path, c.position LIMIT %s",
                *place,
                PAGE_ROWS,
            )
            for row in rows:
                yield _record(row)
            if len(rows) < PAGE_ROWS:
                await self._require_exists()
                return
            place = (rows[-1][1], rows[-1][2])

    async def count(self) -> int:
        rows = await self._rows("SELECT count(*) FROM {s}.chunk WHERE generation_id = %s")
        if not rows[0][0]:
            await self._require_exists()
        return int(rows[0][0])

    async def close(self) -> None:
        """The pool owns the connections."""

    async def _rows(self, template: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._database.fetch(template, [self._id, *values])

    async def _found(self, template: str, *values: object) -> list[tuple[Any, ...]]:
        rows = await self._rows(template, *values)
        if not rows:
            await self._require_exists()
        return rows

    async def _require_exists(self) -> None:
        """An empty result must not hide that the generation was removed while it was read."""
        if not await self._database.fetch("SELECT 1 FROM {s}.generation WHERE id = %s", [self._id]):
            raise StoreError(
                f"generation {self._ref} was removed from the catalog while it was read; try again"
            )


RequireWriter = Callable[[Connection], Awaitable[None]]


class PostgresCatalogWriter(PostgresCatalog):
    """Writes in batches, one transaction each, so that none stays open during embedding."""

    def __init__(
        self, database: Database, ref: GenerationRef, generation_id: int, guard: RequireWriter
    ) -> None:
        """`guard` raises if the writer's lock was lost."""
        super().__init__(database, ref, generation_id)
        self._guard = guard
        self._replaced: set[str] = set()
        self._waiting: dict[str, tuple[Document, Sequence[ChunkRecord]]] = {}
        self._waiting_chunks = self._waiting_characters = 0

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        self._replaced.add(document.source_path)
        self._waiting[document.source_path] = (document, chunks)
        self._waiting_chunks += 1 + len(chunks)
        self._waiting_characters += 2 * len(document.text)
        if (
            self._waiting_chunks >= _FLUSHED_CHUNKS
            or self._waiting_characters >= _FLUSHED_CHARACTERS
        ):
            await self._flush()

    async def remove(self, source_path: str) -> None:
        self._replaced.add(source_path)
        self._waiting.pop(source_path, None)

    async def total_terms(self) -> int:
        rows = await self._rows(
            "SELECT coalesce(sum(term_count), 0)::bigint FROM {s}.chunk WHERE generation_id = %s"
        )
        return int(rows[0][0])

    async def finish(self) -> int:
        chunks = await self.count()
        if chunks >= _ANALYZED_CHUNKS:  # so that the first reader gets plans for these rows
            async with self._database.transaction() as connection:
                await self._database.execute(connection, "ANALYZE {s}.document, {s}.chunk")
        return chunks

    async def abandon(self) -> None:
        self._replaced.clear()
        self._waiting.clear()

    async def _rows(self, template: str, *values: object) -> list[tuple[Any, ...]]:
        await self._flush()
        return await super()._rows(template, *values)

    async def _flush(self) -> None:
        if not self._replaced:
            return
        async with self._database.transaction() as connection:
            await self._guard(connection)
            await self._lock_generation(connection)
            for table in ("chunk", "document"):
                await self._database.execute(
                    connection,
                    f"DELETE FROM {{s}}.{table} WHERE generation_id = %s AND source_path = ANY(%s)",  # noqa: S608
                    [self._id, sorted(self._replaced)],
                )
            waiting = self._waiting.values()
            await self._copy(
                connection,
                f"document (generation_id, {DOCUMENT_COLUMNS})",
                [_document_row(document) for document, _ in waiting],
            )
            await self._copy(
                connection,
                f"chunk (generation_id, {CHUNK_COLUMNS})",
                [_chunk_row(record) for _, records in waiting for record in records],
            )
        await self.abandon()
        self._waiting_chunks = self._waiting_characters = 0

    async def _lock_generation(self, connection: Connection) -> None:
        """A concurrent drop waits for us. If it came first, no rows may be written."""
        found = await self._database.execute(
            connection, "SELECT 1 FROM {s}.generation WHERE id = %s FOR KEY SHARE", [self._id]
        )
        if not found:
            raise StoreError(
                f"generation {self._ref} was removed from the catalog while it was written; "
                "run it again. Nothing was published"
            )

    async def _copy(
        self, connection: Connection, target: str, rows: Sequence[tuple[object, ...]]
    ) -> None:
        statement = self._database.statement(f"COPY {{s}}.{target} FROM STDIN")
        async with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                await copy.write_row((self._id, *row))


def _document_row(document: Document) -> tuple[object, ...]:
    return (
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
    )


def _chunk_row(record: ChunkRecord) -> tuple[object, ...]:
    chunk = record.chunk
    return (
        chunk.point_id,
        chunk.id,
        chunk.source_path,
        chunk.position,
        chunk.start,
        chunk.end,
        chunk.text,
        list(chunk.heading_path),
        chunk.context,
        chunk.anchor,
        chunk.tokens,
        record.term_count,
        chunk.content_hash,
        chunk.has_code,
        chunk.content_type,
        record.created_at,
    )


def _record(row: Sequence[Any]) -> ChunkRecord:
    heading_path, attributes, created_at, _ = row[-4:]
    return record_of(row, tuple(heading_path), _json(attributes), created_at.astimezone(UTC))


def _document(row: Sequence[Any]) -> DocumentRecord:
    return document_of(row, _json(row[-1]))


def _json(stored: str) -> dict[str, Any]:
    return {} if stored == "{}" else dict(json.loads(stored))
