"""Catalogs, generations and the current pointer, and documents moving between stores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from surefind.model import (
    ChunkRecord,
    Document,
    DocumentRecord,
    GenerationRef,
    Manifest,
)
from surefind.ports.index import ReadBytes, StoreFacts, VerifiedFiles
from surefind.ports.reading import Matrix

CATALOG_PAUSE_S = 5.0
"""How long readers wait before they retry an unavailable catalog.

In the meantime, searches use the index's copies of the passages. Each attempt can take a full
connect timeout, so retrying on every search would slow all of them down; a longer pause would leave
a recovered catalog unused.
"""


class Catalog(Protocol):
    """One generation's documents and chunks, open for reading.

    A catalog that `is_fixed` is always available and never changes, so answers can be cached.
    """

    @property
    def is_fixed(self) -> bool: ...

    async def check(self) -> None:
        """Raise StoreError if the catalog can't be read now. Cheap enough for health checks."""
        ...

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """Look up points in one round trip; unknown points are omitted."""
        ...

    async def chunk(self, chunk_id: str) -> ChunkRecord | None: ...

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        """Look up chunks by id; unknown ids are omitted."""
        ...

    async def document(self, source_path: str) -> DocumentRecord | None: ...

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        """Documents sorted by source path (by code point, regardless of locale).

        `after` and `limit` restrict the query itself: other documents are not read.
        """
        ...

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        """A document's chunks, sorted by position."""
        ...

    async def document_text(self, source_path: str) -> str:
        """The cleaned text that chunk offsets refer to; UnknownDocument if it does not exist."""
        ...

    def chunks(self) -> AsyncIterator[ChunkRecord]:
        """Stream every chunk, sorted by source path and position, in bounded memory."""
        ...

    async def count(self) -> int: ...

    async def close(self) -> None: ...


class WholeCatalog(Catalog, Protocol):
    """A catalog that can return complete documents."""

    async def whole_document(self, source_path: str) -> Document:
        """A complete document; UnknownDocument if it does not exist."""
        ...


class CatalogWriter(Catalog, Protocol):
    """One generation's catalog while it is being built."""

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        """Replace a document and all its chunks."""
        ...

    async def remove(self, source_path: str) -> None: ...

    async def total_terms(self) -> int:
        """The sum of `term_count` over all chunks."""
        ...

    async def finish(self) -> int:
        """Make the catalog durable, close the writer and return the number of chunks."""
        ...

    async def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """The number of rows in a table, and the requested chunks that have one."""

    rows: int
    found: frozenset[str]


class ChunkTable(Protocol):
    """A read-only table that another program fills, with one row per chunk."""

    @property
    def place(self) -> str: ...

    async def require_columns(self) -> None:
        """Raise StoreError, naming the missing columns, if the table can't be read."""
        ...

    async def joined(self, chunk_ids: Sequence[str]) -> JoinedRows: ...

    async def close(self) -> None: ...


class PublishedCatalogs(Protocol):
    """The part of a catalog store that readers use."""

    async def current(self, collection: str) -> int | None:
        """The number of the current generation; None if nothing is published."""
        ...

    async def token(self, collection: str) -> object:
        """A value that changes on every pointer write, even if the number stays the same."""
        ...

    async def manifest(self, ref: GenerationRef) -> Manifest:
        """Raise UnknownGeneration if it does not exist."""
        ...

    async def open(self, ref: GenerationRef) -> Catalog: ...

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        """Like `IndexStore.verify`, for the catalog and the manifest."""
        ...


class CatalogStore(PublishedCatalogs, Protocol):
    """Catalogs, manifests, and the pointer to the current generation."""

    async def open(self, ref: GenerationRef) -> WholeCatalog: ...

    async def facts(self) -> StoreFacts:
        """Query the store's facts, uncached; StoreError if it is unavailable or refuses."""
        ...

    async def identity(self) -> str:
        """A permanent id of this catalog store, in hexadecimal digits.

        An index server shared by several installations uses it to tell their collections apart.
        """
        ...

    async def collections(self) -> list[str]: ...

    async def manifests(self, collection: str) -> list[Manifest]:
        """Every complete generation, oldest first."""
        ...

    async def complete(self, collection: str) -> list[GenerationRef]:
        """Every complete generation, without reading manifests: damaged ones are included."""
        ...

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        """Leftovers of interrupted runs."""
        ...

    async def next_ref(self, collection: str) -> GenerationRef: ...

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> CatalogWriter: ...

    async def seal(self, manifest: Manifest) -> None:
        """Write the manifest, which makes the generation complete, though not yet current.

        Sealing again replaces the manifest atomically. The first seal records the names of the
        checksum lists that the store keeps with its files.
        """
        ...

    async def point_to(self, ref: GenerationRef) -> None:
        """Move the pointer atomically and durably. Publishing and rolling back both do this."""
        ...

    async def drop(self, ref: GenerationRef) -> None: ...

    async def unpublish(self, collection: str) -> None:
        """Remove the pointer, so that readers find no collection. Its generations stay."""
        ...

    def writing(self, purpose: str) -> AbstractAsyncContextManager[None]:
        """Hold the exclusive writer lock; StoreBusy, naming the holder, if it is taken."""
        ...

    async def require_writing(self) -> None:
        """Raise StoreError if the lock taken by `writing` was lost."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MovedPage:
    """A document in transfer between stores: its chunks, and one vector for each."""

    document: Document
    records: tuple[ChunkRecord, ...]
    vectors: Matrix
