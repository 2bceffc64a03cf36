"""The payloads of a stranger's collection as a catalog of documents and chunks."""

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

MOST_READ = 200_000
"""Points that are read through for one answer, where the store can't be asked for it."""

_BETWEEN = "\n\n"


class ConnectedCatalog:
    """Nothing is kept: every answer is what the store says now."""

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
        """Payloads are part of the index: apart from it, nothing can be unavailable."""

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        held = await self._foreign.points(point_ids, PointFields())
        return {one.id: record_of(one.id, one.payload, self._connection) for one in held}

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        return (await self.named([chunk_id])).get(chunk_id)

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        """A point that its payload gives no id is named by its own."""
        found: dict[str, ChunkRecord] = {}
        for key in self._connection.mapping.of(Role.ID):
            where = self._any_of(key, chunk_ids)
            if where:
                async for page in every_point(self._foreign, PointFields(), [where]):
                    for one in page:
                        record = record_of(one.id, one.payload, self._connection)
                        found.setdefault(record.chunk.id, record)
        points = {
            name: point for name in chunk_ids if name not in found and (point := _point(name))
        }
        held = await self.by_point(list(points.values()))
        found.update((name, held[point]) for name, point in points.items() if point in held)
        return {name: found[name] for name in chunk_ids if name in found}

    def _any_of(self, key: str, names: Sequence[str]) -> list[AnyOf]:
        """One condition for all of them; none where the engine can't be asked about the key."""
        tests = [test for name in names for test in holds(key, name, self._connection) or ()]
        values = tuple(value for test in tests for value in test.values)
        return [AnyOf(key, values)] if values else []

    async def document(self, source_path: str) -> DocumentRecord | None:
        chunks = await self.document_chunks(source_path)
        return _document(source_path, chunks[0], len(chunks)) if chunks else None

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        """Payloads are in no order of their documents: all are read for any part of the list."""
        await self._check_readable("its documents")
        found: dict[str, tuple[ChunkRecord, int]] = {}
        async for record in self.chunks():
            name = record.chunk.source_path
            first, count = found.get(name, (record, 0))
            found[name] = (first, count + 1)
        names = [name for name in sorted(found) if after is None or name > after]
        return [_document(name, *found[name]) for name in names[:limit]]

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        records = await self._asked_for(source_path)
        if not records and self._addresses_have_anchors:
            await self._check_readable("a document whose address has anchors")
            records = [record async for record in self.chunks() if _is_of(record, source_path)]
        if not records:
            alone = await self.chunk(source_path)
            records = [alone] if alone and _is_of(alone, source_path) else []
        records.sort(key=lambda record: (record.chunk.position, record.point_id.int))
        return _laid_out(records)

    async def document_text(self, source_path: str) -> str:
        return (await self.whole_document(source_path)).text

    async def whole_document(self, source_path: str) -> Document:
        chunks = await self.document_chunks(source_path)
        if not chunks:
            raise UnknownDocument(f"there is no document {source_path!r}")
        text = _BETWEEN.join(record.chunk.text for record in chunks)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        first = chunks[0]
        return Document(source_path, first.url, first.slug, first.title, text, digest)

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        async for page in every_point(self._foreign, PointFields()):
            for one in page:
                yield record_of(one.id, one.payload, self._connection)

    async def count(self) -> int:
        return (await self._facts()).points

    async def close(self) -> None:
        """The connection to the store is shared, and closed with the application."""

    async def _asked_for(self, source_path: str) -> list[ChunkRecord]:
        """By the keys that name documents; a payload may name its document in another one."""
        mapping = self._connection.mapping
        asked: list[Condition] = []
        for role in (Role.SOURCE_PATH, Role.URL, Role.DOCUMENT):
            for key in mapping.of(role):
                asked += holds(key, source_path, self._connection) or ()
        if not asked:
            return []
        records = []
        async for page in every_point(self._foreign, PointFields(), [tuple(asked)]):
            records += [
                record_of(one.id, one.payload, self._connection)
                for one in page
                if document_of(one.payload, mapping) == source_path
            ]
        return records

    @property
    def _addresses_have_anchors(self) -> bool:
        """Then an address is not what is stored; nor is what lies in JSON in a string."""
        mapping = self._connection.mapping
        known = {field.name for field in self._connection.fields}
        named_by = next(
            (role for role in (Role.SOURCE_PATH, Role.URL, Role.DOCUMENT) if mapping.has(role)),
            None,
        )
        if named_by is None:
            return False
        return named_by is Role.URL or not known.issuperset(mapping.of(named_by))

    async def _check_readable(self, what: str) -> None:
        points = await self.count()
        if points > MOST_READ:
            raise InputError(
                f"collection {self._connection.name!r} has {points} points, too many to read "
                f"through for {what}"
            )


def _is_of(record: ChunkRecord, source_path: str) -> bool:
    return record.chunk.source_path == source_path


def _point(label: str) -> UUID | None:
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


def _laid_out(records: Sequence[ChunkRecord]) -> list[ChunkRecord]:
    """With offsets into the texts put together, which is all that is left of the document."""
    at = 0
    placed = []
    for record in records:
        end = at + len(record.chunk.text)
        placed.append(replace(record, chunk=replace(record.chunk, start=at, end=end)))
        at = end + len(_BETWEEN)
    return placed
