"""Joins a `documents` table of the retrieval API, filled by another program, to a catalog.

The table is only read. It identifies chunks by id, not by point, so the collection's own catalog
maps points to chunks and keeps their texts.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from surefind.adapters.postgres.connection import Database
from surefind.errors import InputError, StoreError, UnknownDocument
from surefind.model import Chunk, ChunkRecord, DocumentRecord, GenerationRef, Manifest
from surefind.ports import Catalog, JoinedRows, PublishedCatalogs, ReadBytes, VerifiedFiles

RowKey = TypeVar("RowKey", bound=Hashable)

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)
_COLUMNS = ("chunk_id", "source_path", "slug", "title", "order_index", "snippet", "created_at")
_TEXTS = ("chunk_id", "source_path", "slug", "title", "snippet")
_KINDS = {"S": _TEXTS, "N": ("order_index",), "D": ("created_at",)}
_WRITTEN = {"S": "text", "N": "a number", "D": "a timestamp"}
"""PostgreSQL's own categories of types: strings, numbers, dates."""
_RESTORE = "create it again, or correct documents_table"
_ADVICE = {
    "42P01": _RESTORE,
    "42703": _RESTORE,
    "3F000": _RESTORE,
    "42501": "grant the role SELECT on it",
}
"""By SQLSTATE: a missing table, column or schema, and a missing privilege."""
_BETWEEN = "\n\n"
_BATCH = 500
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_FILLED = ("source_path", "title", "position", "created_at")
"""A row fixes the flaws of a payload that begin with one of these."""


class DocumentsTable:
    """One table, read through a pool of its own."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self.name = name
        self._quoted = quoted(name)

    @property
    def place(self) -> str:
        return f"the table {self.name} in PostgreSQL at {self._database.address.where}"

    async def require_columns(self) -> None:
        """Raises StoreError, naming what is missing, unless the table matches the contract."""
        rows = await self._database.fetch(
            "SELECT a.attname, t.typcategory::text, format_type(a.atttypid, a.atttypmod)"
            " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
            " WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped",
            [self._quoted],
        )
        kinds = {name: (kind, written) for name, kind, written in rows}
        if not kinds:
            raise StoreError(
                f"there is no table {self.name} in PostgreSQL at {self._database.address.where}, "
                "or the role can't see its schema; create it, or correct documents_table"
            )
        wrong = [f"no column {name}" for name in _COLUMNS if name not in kinds]
        wrong += [
            f"{name} is {kinds[name][1]}, not {_WRITTEN[kind]}"
            for kind, names in _KINDS.items()
            for name in names
            if name in kinds and kinds[name][0] != kind
        ]
        if wrong:
            raise StoreError(
                f"{self.place} does not match the retrieval API: {'; '.join(wrong)}. Its columns "
                f"must be {', '.join(_COLUMNS)}; correct the table, or documents_table"
            )
        await self.require_rows_readable()

    async def require_rows_readable(self) -> None:
        await self.select("LIMIT 0")

    async def joined(self, chunk_ids: Sequence[str]) -> JoinedRows:
        rows = await self.rows(chunk_ids)
        return JoinedRows(await self.count(), frozenset(rows))

    async def rows(self, chunk_ids: Sequence[str]) -> Mapping[str, Sequence[Any]]:
        if not chunk_ids:
            return {}
        return {row[0]: row for row in await self.select("WHERE chunk_id = ANY(%s)", [*chunk_ids])}

    async def select(self, which: str, *values: object) -> list[tuple[Any, ...]]:
        columns = ", ".join(_COLUMNS)
        return await self._fetch(f"SELECT {columns} FROM {self._quoted} {which}", values)  # noqa: S608

    async def count(self) -> int:
        rows = await self._fetch(f"SELECT count(*) FROM {self._quoted}")  # noqa: S608
        return int(rows[0][0])

    async def documents(self, which: str, *values: object) -> list[DocumentRecord]:
        rows = await self._fetch(
            'SELECT source_path COLLATE "C", (array_agg(slug ORDER BY order_index, chunk_id))[1],'  # noqa: S608
            " (array_agg(title ORDER BY order_index, chunk_id))[1], count(*),"
            f" string_agg(snippet, %s ORDER BY order_index, chunk_id) FROM {self._quoted} {which}"
            " GROUP BY 1 ORDER BY 1 LIMIT %s",
            [_BETWEEN, *values],
        )
        return [
            DocumentRecord(source_path, "", slug, title or "", _hash(text), "", chunks)
            for source_path, slug, title, chunks, text in rows
        ]

    async def close(self) -> None:
        await self._database.close()

    async def _fetch(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Another program owns the table, so the advice for surefind's own tables would mislead."""
        try:
            return await self._database.fetch(statement, values)
        except StoreError as error:
            advice = _ADVICE.get(getattr(error.__cause__, "sqlstate", None) or "")
            if advice is None:
                raise
            reason = str(error.__cause__).partition("\n")[0]
            raise StoreError(f"{self.place} can't be read: {reason}; {advice}") from error


class DocumentsTableCatalogs:
    """`catalogs`, with the table joined to the catalog of one collection."""

    def __init__(
        self,
        catalogs: PublishedCatalogs,
        collection: str,
        table: Callable[[], DocumentsTable],
    ) -> None:
        """Each opened catalog gets a table of its own and closes it."""
        self._catalogs = catalogs
        self._collection = collection
        self._table = table

    async def current(self, collection: str) -> int | None:
        return await self._catalogs.current(collection)

    async def token(self, collection: str) -> object:
        return await self._catalogs.token(collection)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        return await self._catalogs.manifest(ref)

    async def open(self, ref: GenerationRef) -> Catalog:
        own = await self._catalogs.open(ref)
        if ref.collection != self._collection:
            return own
        table = self._table()
        try:
            await table.require_columns()
        except StoreError:
            await table.close()
            await own.close()
            raise
        return DocumentsTableCatalog(table, own)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return await self._catalogs.verify(ref, read)


class DocumentsTableCatalog:
    is_fixed = False

    def __init__(self, table: DocumentsTable, own: Catalog) -> None:
        """`own` is the catalog that knows the collection's points and texts."""
        self._table = table
        self._own = own
        self._warned = False

    async def check(self) -> None:
        """Checks the table only: `own` may be the index's payloads."""
        await self._table.require_rows_readable()

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """Leaves out chunks without a row, so that the index's own copies replace them."""
        own = await self._own.by_point(point_ids)
        rows = await self._table.rows([record.chunk.id for record in own.values()])
        lacking = [record.chunk.id for record in own.values() if record.chunk.id not in rows]
        if lacking and not self._warned:
            self._warned = True
            _log.warning(
                "%s has no row for chunk %s; the index's own copy is used, here and for every "
                "other chunk without a row. `surefind doctor` counts them",
                self._table.place,
                lacking[0],
            )
        return {
            point: _joined(record, rows[record.chunk.id])
            for point, record in own.items()
            if record.chunk.id in rows
        }

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        return (await self.named([chunk_id])).get(chunk_id)

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        return await self._all_joined(await self._own.named(chunk_ids))

    async def document(self, source_path: str) -> DocumentRecord | None:
        found = await self._table.documents("WHERE source_path = %s", source_path, None)
        return found[0] if found else await self._own.document(source_path)

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        which = 'WHERE %s::text IS NULL OR source_path COLLATE "C" > %s'
        return await self._table.documents(which, after, after, limit)

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        """In the table's order. Documents that the table lacks are read from the index."""
        rows = await self._table.select(
            "WHERE source_path = %s ORDER BY order_index, chunk_id", source_path
        )
        if not rows:
            return await self._own.document_chunks(source_path)
        own = await self._own.named([row[0] for row in rows])
        return list(
            _laid_out(_joined(own[row[0]], row) if row[0] in own else _record(row) for row in rows)
        )

    async def document_text(self, source_path: str) -> str:
        chunks = await self.document_chunks(source_path)
        if not chunks:
            raise UnknownDocument(f"unknown document: {source_path!r}")
        return _BETWEEN.join(record.chunk.text for record in chunks)

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        """In the order of the collection's own catalog, chunks without a row included."""
        batch: dict[UUID, ChunkRecord] = {}
        async for record in self._own.chunks():
            batch[record.point_id] = record
            if len(batch) == _BATCH:
                for joined in (await self._all_joined(batch)).values():
                    yield joined
                batch = {}
        for joined in (await self._all_joined(batch)).values():
            yield joined

    async def count(self) -> int:
        return await self._table.count()

    async def close(self) -> None:
        await self._own.close()
        await self._table.close()

    async def _all_joined(self, own: Mapping[RowKey, ChunkRecord]) -> Mapping[RowKey, ChunkRecord]:
        rows = await self._table.rows([record.chunk.id for record in own.values()])
        return {
            key: _joined(record, rows[record.chunk.id]) if record.chunk.id in rows else record
            for key, record in own.items()
        }


def quoted(table: str) -> str:
    parts = table.split(".")
    if len(parts) > 2 or not all(_NAME.fullmatch(part) for part in parts):
        raise InputError(
            f"documents_table must be a table name such as documents or schema.documents, not "
            f"{table!r}"
        )
    return ".".join(f'"{part}"' for part in parts)


def _joined(record: ChunkRecord, row: Sequence[Any]) -> ChunkRecord:
    """The text from the index, the metadata from the table."""
    _, source_path, slug, title, order_index, _, created_at = row
    title = title or ""
    headings = record.chunk.heading_path
    if record.title and headings[:1] == (record.title,):
        headings = ((title,) if title else ()) + headings[1:]
    chunk = replace(
        record.chunk,
        source_path=source_path,
        position=max(order_index - 1, 0),
        heading_path=headings,
    )
    return replace(
        record,
        chunk=chunk,
        slug=slug,
        title=title,
        created_at=_moment(created_at),
        flaws=tuple(flaw for flaw in record.flaws if not flaw.startswith(_FILLED)),
        assumed=_assumed(created_at),
    )


def _record(row: Sequence[Any]) -> ChunkRecord:
    """Built from the row alone: the index no longer has its point."""
    chunk_id, source_path, slug, title, order_index, snippet, created_at = row
    return ChunkRecord(
        chunk=Chunk(
            id=chunk_id,
            source_path=source_path,
            position=max(order_index - 1, 0),
            text=snippet,
            start=0,
            end=len(snippet),
            heading_path=(title,) if title else (),
            context="",
            anchor="",
            tokens=len(snippet) // 4 + 1,  # an estimate
            content_hash=_hash(snippet),
            has_code="```" in snippet,
            content_type="text",
        ),
        url="",
        slug=slug,
        title=title or "",
        created_at=_moment(created_at),
        assumed=_assumed(created_at),
    )


def _assumed(created_at: datetime | None) -> tuple[str, ...]:
    """Only the timestamp of a row may be missing."""
    return ("created_at",) if created_at is None else ()


def _laid_out(records: Iterable[ChunkRecord]) -> Iterable[ChunkRecord]:
    """Sets the offsets in the text that `document_text` returns."""
    start = 0
    for record in records:
        end = start + len(record.chunk.text)
        yield replace(record, chunk=replace(record.chunk, start=start, end=end))
        start = end + len(_BETWEEN)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _moment(stored: datetime | None) -> datetime:
    """Timestamps without a time zone are taken as UTC."""
    if stored is None:
        return _LONG_AGO
    return stored.replace(tzinfo=UTC) if stored.tzinfo is None else stored.astimezone(UTC)
