"""A catalog in memory, which can be unavailable."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from surefind.errors import StoreError, UnknownDocument, UnknownGeneration
from surefind.model import (
    ChunkRecord,
    Document,
    DocumentRecord,
    GenerationRef,
    Manifest,
    point_id,
)
from surefind.ports import ReadBytes, StoreFacts, VerifiedFiles


@dataclass
class MemoryCatalogStore:
    """`away` makes every open fail, as a database does that can't be reached."""

    documents: dict[GenerationRef, dict[str, tuple[Document, list[ChunkRecord]]]] = field(
        default_factory=dict
    )
    sealed: dict[GenerationRef, Manifest] = field(default_factory=dict)
    pointers: dict[str, int] = field(default_factory=dict)
    away: bool = False

    async def facts(self) -> StoreFacts:
        if self.away:
            raise StoreError("the catalog is unavailable")
        return StoreFacts("in memory", "exact")

    async def identity(self) -> str:
        return f"{id(self):032x}"

    async def collections(self) -> list[str]:
        return sorted(self.pointers)

    async def current(self, collection: str) -> int | None:
        return self.pointers.get(collection)

    async def token(self, collection: str) -> object:
        return self.pointers.get(collection)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        if ref not in self.sealed:
            raise UnknownGeneration(f"there is no generation {ref}")
        return self.sealed[ref]

    async def manifests(self, collection: str) -> list[Manifest]:
        found = [m for ref, m in self.sealed.items() if ref.collection == collection]
        return sorted(found, key=lambda manifest: manifest.number)

    async def complete(self, collection: str) -> list[GenerationRef]:
        return [manifest.ref for manifest in await self.manifests(collection)]

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        return [r for r in self.documents if r.collection == collection and r not in self.sealed]

    async def next_ref(self, collection: str) -> GenerationRef:
        numbers = [ref.number for ref in self.documents if ref.collection == collection]
        return GenerationRef(collection, max(numbers, default=0) + 1)

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> "MemoryCatalog":
        self.documents[ref] = dict(self.documents[copy_of]) if copy_of else {}
        return MemoryCatalog(self.documents[ref], self)

    async def open(self, ref: GenerationRef) -> "MemoryCatalog":
        if self.away:
            raise StoreError("the catalog is unavailable")
        return MemoryCatalog(dict(self.documents[ref]), self)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return None

    async def seal(self, manifest: Manifest) -> None:
        self.sealed[manifest.ref] = manifest

    async def point_to(self, ref: GenerationRef) -> None:
        await self.manifest(ref)
        self.pointers[ref.collection] = ref.number

    async def drop(self, ref: GenerationRef) -> None:
        self.sealed.pop(ref, None)
        self.documents.pop(ref, None)

    async def unpublish(self, collection: str) -> None:
        self.pointers.pop(collection, None)

    @asynccontextmanager
    async def writing(self, purpose: str) -> AsyncIterator[None]:
        yield

    async def require_writing(self) -> None:
        pass

    async def close(self) -> None:
        pass


class MemoryCatalog:
    is_fixed = False

    def __init__(
        self,
        documents: dict[str, tuple[Document, list[ChunkRecord]]],
        store: MemoryCatalogStore,
    ) -> None:
        self._documents = documents
        self._store = store

    async def check(self) -> None:
        if self._store.away:
            raise StoreError("the catalog is unavailable")

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        if self._store.away:
            raise StoreError("the catalog is unavailable")
        records = {record.chunk.point_id: record for record in self._records()}
        return {point: records[point] for point in point_ids if point in records}

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        return next((r for r in self._records() if r.chunk.id == chunk_id), None)

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        found = await self.by_point([point_id(chunk_id) for chunk_id in chunk_ids])
        return {record.chunk.id: record for record in found.values()}

    async def document(self, source_path: str) -> DocumentRecord | None:
        return next((d for d in await self.documents() if d.source_path == source_path), None)

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        following = sorted(path for path in self._documents if path > (after or ""))
        return [
            DocumentRecord(
                d.source_path,
                d.url,
                d.slug,
                d.title,
                d.content_hash,
                d.validator,
                len(records),
                d.attributes,
            )
            for d, records in map(self._documents.__getitem__, following[:limit])
        ]

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        return list(self._documents[source_path][1]) if source_path in self._documents else []

    async def document_text(self, source_path: str) -> str:
        if source_path not in self._documents:
            raise UnknownDocument(f"there is no document {source_path!r}")
        return self._documents[source_path][0].text

    async def whole_document(self, source_path: str) -> Document:
        if source_path not in self._documents:
            raise UnknownDocument(f"there is no document {source_path!r}")
        return self._documents[source_path][0]

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        for record in self._records():
            yield record

    async def count(self) -> int:
        return len(self._records())

    async def close(self) -> None:
        pass

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        self._documents[document.source_path] = (document, list(chunks))

    async def remove(self, source_path: str) -> None:
        self._documents.pop(source_path, None)

    async def total_terms(self) -> int:
        return sum(record.term_count for record in self._records())

    async def finish(self) -> int:
        return len(self._records())

    async def abandon(self) -> None:
        pass

    def _records(self) -> list[ChunkRecord]:
        return [record for _, (_, records) in sorted(self._documents.items()) for record in records]
