"""The catalog, its generations, and the pointer; and pages on their way between stores."""

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
"""How long readers leave an unavailable catalog alone before they try it again.

Searches meanwhile use the index's own copies of the passages. Each attempt at a server that is down
can take a connect timeout, so trying it on every search would slow all of them; after a longer
pause a catalog that is back would go unused.
"""


class Catalog(Protocol):
    """One generation's documents and chunks, open for reading.

    One that `is_fixed` is never away, and says of a point what it said before: it may be
    remembered.
    """

    @property
    def is_fixed(self) -> bool: ...

    async def check(self) -> None:
        """StoreError if it can't be read now. Cheap: health checks call it."""
        ...

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """In one round trip; a point that the catalog does not know is left out."""
        ...

    async def chunk(self, chunk_id: str) -> ChunkRecord | None: ...

    async def named(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRecord]:
        """Several chunks by their ids; an id that the catalog does not know is left out."""
        ...

    async def document(self, source_path: str) -> DocumentRecord | None: ...

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        """In the order of their source paths, by code points, whatever the machine's language.

        Only those whose path comes after that one, and at most so many; both without reading more.
        """
        ...

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        """In the order of their positions."""
        ...

    async def document_text(self, source_path: str) -> str:
        """The cleaned text that the chunks' offsets count in; UnknownDocument for no document."""
        ...

    def chunks(self) -> AsyncIterator[ChunkRecord]:
        """Every chunk, by source path and position, without holding them all in memory."""
        ...

    async def count(self) -> int: ...

    async def close(self) -> None: ...


class WholeCatalog(Catalog, Protocol):
    """A catalog that gives back all that was put there."""

    async def whole_document(self, source_path: str) -> Document:
        """UnknownDocument for no document."""
        ...


class CatalogWriter(Catalog, Protocol):
    """One generation's catalog while it is being built."""

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        """Replace a document and all of its chunks."""
        ...

    async def remove(self, source_path: str) -> None: ...

    async def total_terms(self) -> int:
        """The sum of every chunk's `term_count`."""
        ...

    async def finish(self) -> int:
        """Make it durable; the number of chunks. The writer is closed."""
        ...

    async def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """How many rows a table has, and for which of some chunks."""

    rows: int
    found: frozenset[str]


class ChunkTable(Protocol):
    """A table that something else fills, with one row per chunk. Nothing here can write."""

    @property
    def place(self) -> str: ...

    async def require_columns(self) -> None:
        """StoreError, naming what is missing, unless it can be read."""
        ...

    async def joined(self, chunk_ids: Sequence[str]) -> JoinedRows: ...

    async def close(self) -> None: ...


class PublishedCatalogs(Protocol):
    """What readers ask of a catalog store."""

    async def current(self, collection: str) -> int | None:
        """The number of the generation that readers see; None where nothing was published."""
        ...

    async def token(self, collection: str) -> object:
        """Changes whenever the pointer is written, also when it names the same number again."""
        ...

    async def manifest(self, ref: GenerationRef) -> Manifest:
        """Raises UnknownGeneration when there is none."""
        ...

    async def open(self, ref: GenerationRef) -> Catalog: ...

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        """As `IndexStore.verify`, of the catalog and the manifest."""
        ...


class CatalogStore(PublishedCatalogs, Protocol):
    """Catalogs, manifests, and the pointer that says which generation readers see."""

    async def open(self, ref: GenerationRef) -> WholeCatalog: ...

    async def facts(self) -> StoreFacts:
        """Asked anew each time; StoreError where it does not answer, or won't."""
        ...

    async def identity(self) -> str:
        """Tells this body of catalogs from all others: hexadecimal digits, kept with it for good.

        An index that several share by one server knows by it whose collections are whose.
        """
        ...

    async def collections(self) -> list[str]: ...

    async def manifests(self, collection: str) -> list[Manifest]:
        """Every complete generation, oldest first."""
        ...

    async def complete(self, collection: str) -> list[GenerationRef]:
        """The same without looking into them, so that a damaged one is no hindrance."""
        ...

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        """What a run that died has left behind."""
        ...

    async def next_ref(self, collection: str) -> GenerationRef: ...

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> CatalogWriter: ...

    async def seal(self, manifest: Manifest) -> None:
        """Write the manifest: from now on the generation is complete, though not yet current.

        Sealing again puts the new manifest in the place of the old one, at once and as a whole.
        The first seal names in it the lists of checksums that the store keeps beside its files.
        """
        ...

    async def point_to(self, ref: GenerationRef) -> None:
        """Move the pointer, atomically and durably. This is publishing, and rolling back."""
        ...

    async def drop(self, ref: GenerationRef) -> None: ...

    def writing(self, purpose: str) -> AbstractAsyncContextManager[None]:
        """Hold the one writer's place; StoreBusy, naming the holder, when it is taken."""
        ...

    async def require_writing(self) -> None:
        """StoreError where the place that `writing` holds was lost meanwhile."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MovedPage:
    """A document on its way from one store to another: its chunks, and one vector for each."""

    document: Document
    records: tuple[ChunkRecord, ...]
    vectors: Matrix
