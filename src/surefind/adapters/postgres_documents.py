"""The retrieval API's own table `documents`, filled by something else, as a collection's catalog.

It is only read. It knows chunks by their ids and not by their points, so which chunk a point is has
to be asked of what the index keeps with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from surefind.adapters.postgres_connection import Database
from surefind.errors import InputError, StoreError, UnknownDocument
from surefind.model import Chunk, ChunkRecord, DocumentRecord, GenerationRef, Manifest
from surefind.ports import Catalog, PublishedCatalogs

_NAME = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)
_COLUMNS = "chunk_id, source_path, slug, title, order_index, snippet, created_at"
_BETWEEN = "\n\n"
_PAGE_ROWS = 1000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class DocumentsTableCatalogs:
    """`catalogs`, but what one collection's readers open is the table."""

    def __init__(
        self,
        catalogs: PublishedCatalogs,
        collection: str,
        connect: Callable[[], Database],
        table: str,
    ) -> None:
        """What is opened closes what `connect` gave it."""
        self._catalogs = catalogs
        self._collection = collection
        self._connect = connect
        self._table = _quoted(table)

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
        catalog = DocumentsTableCatalog(self._connect(), self._table, own)
        try:
            await catalog.check()
        except StoreError:
            await catalog.close()
            raise
        return catalog


class DocumentsTableCatalog:
    is_fixed = False

    def __init__(self, database: Database, table: str, own: Catalog) -> None:
        """`own` is the catalog that knows the collection's points."""
        self._database = database
        self._table = table
        self._own = own

    async def check(self) -> None:
        try:
            await self._select("LIMIT 0")
        except StoreError as error:
            raise StoreError(
                f"the table {self._table} can't be read as the table of the retrieval API: {error}"
            ) from error

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        known = await self._own.by_point(point_ids)
        ids = [record.chunk.id for record in known.values()]
        rows = await self._select("WHERE chunk_id = ANY(%s)", ids)
        told = {row[0]: row for row in rows}
        return {
            point: _told_anew(record, told[record.chunk.id])
            for point, record in known.items()
            if record.chunk.id in told
        }

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        rows = await self._select("WHERE chunk_id = %s", chunk_id)
        if not rows:
            return None
        of_page = await self.document_chunks(rows[0][1])
        return next((record for record in of_page if record.chunk.id == chunk_id), None)

    async def document(self, source_path: str) -> DocumentRecord | None:
        found = await self._documents("WHERE source_path = %s", source_path, None)
        return found[0] if found else None

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        which = 'WHERE %s::text IS NULL OR source_path COLLATE "C" > %s'
        return await self._documents(which, after, after, limit)

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        return list(_records(await self._page(source_path)))

    async def document_text(self, source_path: str) -> str:
        rows = await self._page(source_path)
        if not rows:
            raise UnknownDocument(f"there is no document {source_path!r}")
        return _BETWEEN.join(row[5] for row in rows)

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        path: str | None = None
        while pages := await self.documents(after=path, limit=_PAGE_ROWS):
            for page in pages:
                for record in await self.document_chunks(page.source_path):
                    yield record
            path = pages[-1].source_path

    async def count(self) -> int:
        rows = await self._database.fetch(f"SELECT count(*) FROM {self._table}")  # noqa: S608
        return int(rows[0][0])

    async def close(self) -> None:
        await self._own.close()
        await self._database.close()

    async def _documents(self, which: str, *values: object) -> list[DocumentRecord]:
        rows = await self._database.fetch(
            'SELECT source_path COLLATE "C", (array_agg(slug ORDER BY order_index, chunk_id))[1],'  # noqa: S608
            " (array_agg(title ORDER BY order_index, chunk_id))[1], count(*),"
            f" string_agg(snippet, %s ORDER BY order_index, chunk_id) FROM {self._table} {which}"
            " GROUP BY 1 ORDER BY 1 LIMIT %s",
            [_BETWEEN, *values],
        )
        return [
            DocumentRecord(source_path, "", slug, title or "", _hash(text), "", chunks)
            for source_path, slug, title, chunks, text in rows
        ]

    async def _page(self, source_path: str) -> list[tuple[Any, ...]]:
        return await self._select(
            "WHERE source_path = %s ORDER BY order_index, chunk_id", source_path
        )

    async def _select(self, which: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._database.fetch(f"SELECT {_COLUMNS} FROM {self._table} {which}", values)  # noqa: S608


def _quoted(table: str) -> str:
    parts = table.split(".")
    if len(parts) > 2 or not all(_NAME.fullmatch(part) for part in parts):
        raise InputError(
            f"documents_table: {table!r} is no name of a table; write documents or schema.documents"
        )
    return ".".join(f'"{part}"' for part in parts)


def _told_anew(record: ChunkRecord, row: Sequence[Any]) -> ChunkRecord:
    """The passage as the index keeps it, and of its place what the table says."""
    _, source_path, slug, title, order_index, _, created_at = row
    chunk = replace(record.chunk, source_path=source_path, position=max(order_index - 1, 0))
    return replace(
        record, chunk=chunk, slug=slug, title=title or "", created_at=_moment(created_at)
    )


def _records(rows: Sequence[Sequence[Any]]) -> Iterable[ChunkRecord]:
    start = 0
    for chunk_id, source_path, slug, title, order_index, snippet, created_at in rows:
        yield ChunkRecord(
            chunk=Chunk(
                id=chunk_id,
                source_path=source_path,
                position=max(order_index - 1, 0),
                text=snippet,
                start=start,
                end=start + len(snippet),
                heading_path=(title,) if title else (),
                context="",
                anchor="",
                tokens=len(snippet) // 4 + 1,  # nobody has counted them
                content_hash=_hash(snippet),
                has_code="```" in snippet,
                content_type="text",
            ),
            url="",
            slug=slug,
            title=title or "",
            created_at=_moment(created_at),
        )
        start += len(snippet) + len(_BETWEEN)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _moment(stored: datetime | None) -> datetime:
    """The table keeps no time zone; UTC is what a server's clock is set to."""
    return _LONG_AGO if stored is None else stored.replace(tzinfo=UTC)
