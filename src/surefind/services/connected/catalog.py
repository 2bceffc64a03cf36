"""Presents the payloads of a connected collection as a catalog of documents and chunks."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from surefind.errors import InputError, UnknownDocument
from surefind.mapping.records import document_of, record_of
from surefind.model import (
    AnyOf,
    ChunkRecord,
    CollectionFacts,
    Condition,
    Connection,
    Document,
    DocumentRecord,
    Role,
    numbered_point,
)
from surefind.ports import ForeignCollection, PointFields
from surefind.services.connected.filters import holds
from surefind.services.connected.sampling import every_point

MAX_SCANNED = 200_000
"""The limit of points to scan for a request that Qdrant can't filter."""

_SEPARATOR = "\n\n"


class ConnectedCatalog:
    """Caches nothing; every call reads the store."""

    is_fixed = False

    def __init__(
        self,
        connection: Connection,
        foreign: ForeignCollection,
        facts: Callable[[], Awaitable[CollectionFacts]],
    ) -> None:
        self._connection = connection
        self._foreign = foreign
        self._facts = facts

    async def check(self) -> None:
        """Always available when the index is: the payloads are part of it."""

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        held = await self._foreign.points(point_ids, PointFields())
        return {point.id: record_of(point.id, point.payload, self._connection) for point in held}

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        return (await self.named([chunk_id])).get(chunk_id)

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        """Chunks by the id in their payload, or else by their point id."""
        found: dict[str, ChunkRecord] = {}
        for key in self._connection.mapping.of(Role.ID):
            where = self._any_of(key, chunk_ids)
            if where:
                async for page in every_point(self._foreign, PointFields(), [where]):
                    for point in page:
                        record = record_of(point.id, point.payload, self._connection)
                        found.setdefault(record.chunk.id, record)
        points = {
            name: point_id
            for name in chunk_ids
            if name not in found and (point_id := _point_id(name))
        }
        held = await self.by_point(list(points.values()))
        found.update(
            (name, held[point_id]) for name, point_id in points.items() if point_id in held
        )
        return {name: found[name] for name in chunk_ids if name in found}

    def _any_of(self, key: str, names: Sequence[str]) -> list[AnyOf]:
        """One condition for all names; none if Qdrant can't filter by the key."""
        tests = [test for name in names for test in holds(key, name, self._connection) or ()]
        values = tuple(value for test in tests for value in test.values)
        return [AnyOf(key, values)] if values else []

    async def document(self, source_path: str) -> DocumentRecord | None:
        chunks = await self.document_chunks(source_path)
        return _document(source_path, chunks[0], len(chunks)) if chunks else None

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        """Points are not ordered by document, so even one page of the list scans them all."""
        await self._check_scannable("list its documents")
        found: dict[str, tuple[ChunkRecord, int]] = {}
        async for record in self.chunks():
            name = record.chunk.source_path
            first, count = found.get(name, (record, 0))
            found[name] = (first, count + 1)
        names = [name for name in sorted(found) if after is None or name > after]
        return [_document(name, *found[name]) for name in names[:limit]]

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        records = await self._filtered_by(source_path)
        if not records and self._needs_scan:
            await self._check_scannable("find a document by a key that Qdrant can't filter by")
            records = [record async for record in self.chunks() if _is_of(record, source_path)]
        if not records:
            chunk = await self.chunk(source_path)  # a chunk without a document is its own document
            records = [chunk] if chunk and _is_of(chunk, source_path) else []
        records.sort(key=lambda record: (record.chunk.position, record.point_id.int))
        return _with_offsets(records)

    async def document_text(self, source_path: str) -> str:
        return (await self.whole_document(source_path)).text

    async def whole_document(self, source_path: str) -> Document:
        chunks = await self.document_chunks(source_path)
        if not chunks:
            raise UnknownDocument(f"there is no document {source_path!r}")
        text = _SEPARATOR.join(record.chunk.text for record in chunks)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        first = chunks[0]
        return Document(source_path, first.url, first.slug, first.title, text, digest)

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        async for page in every_point(self._foreign, PointFields()):
            for point in page:
                yield record_of(point.id, point.payload, self._connection)

    async def count(self) -> int:
        return (await self._facts()).points

    async def close(self) -> None:
        """Nothing to do: the store is shared, and closed with the application."""

    async def _filtered_by(self, source_path: str) -> list[ChunkRecord]:
        """Chunks of the points that have `source_path` in a key for documents.

        A payload may have several such keys; only the first one that has a value counts.
        """
        mapping = self._connection.mapping
        conditions: list[Condition] = []
        for role in (Role.SOURCE_PATH, Role.URL, Role.DOCUMENT):
            for key in mapping.of(role):
                conditions += holds(key, source_path, self._connection) or ()
        if not conditions:
            return []
        records = []
        async for page in every_point(self._foreign, PointFields(), [tuple(conditions)]):
            records += [
                record_of(point.id, point.payload, self._connection)
                for point in page
                if document_of(point.payload, mapping) == source_path
            ]
        return records

    @property
    def _needs_scan(self) -> bool:
        """Whether a filter may miss a document: URLs are stored with their anchors, and Qdrant
        can't filter by a key inside a JSON string.
        """
        mapping = self._connection.mapping
        known = {field.name for field in self._connection.fields}
        named_by = next(
            (role for role in (Role.SOURCE_PATH, Role.URL, Role.DOCUMENT) if mapping.has(role)),
            None,
        )
        if named_by is None:
            return False
        return named_by is Role.URL or not known.issuperset(mapping.of(named_by))

    async def _check_scannable(self, purpose: str) -> None:
        points = await self.count()
        if points > MAX_SCANNED:
            raise InputError(
                f"collection {self._connection.name!r} has {points} points, and surefind scans at "
                f"most {MAX_SCANNED} to {purpose}; ask for chunks by their ids instead"
            )


def _is_of(record: ChunkRecord, source_path: str) -> bool:
    return record.chunk.source_path == source_path


def _point_id(label: str) -> UUID | None:
    if label.isascii() and label.isdecimal() and int(label) < 2**64:
        return numbered_point(int(label))
    try:
        return UUID(label)
    except ValueError:
        return None


def _document(name: str, first: ChunkRecord, chunks: int) -> DocumentRecord:
    return DocumentRecord(
        source_path=name,
        url=first.url,
        slug=first.slug,
        title=first.title,
        content_hash="",
        validator="",
        chunks=chunks,
        attributes=first.attributes,
    )


def _with_offsets(records: Sequence[ChunkRecord]) -> list[ChunkRecord]:
    """Set offsets in the joined texts of the chunks; the original document is not stored."""
    start = 0
    placed = []
    for record in records:
        end = start + len(record.chunk.text)
        placed.append(replace(record, chunk=replace(record.chunk, start=start, end=end)))
        start = end + len(_SEPARATOR)
    return placed
