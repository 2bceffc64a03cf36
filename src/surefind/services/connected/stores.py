"""The index and the catalog of a connected collection as stores that hold one generation.

Every operation that would write raises InputError.
"""

from contextlib import AbstractAsyncContextManager

from surefind.errors import UnknownGeneration
from surefind.model import GenerationRef, Manifest
from surefind.ports import (
    CatalogWriter,
    IndexWriter,
    ReadBytes,
    StoreFacts,
    VerifiedFiles,
    WholeCatalog,
)
from surefind.services.connected.catalog import ConnectedCatalog
from surefind.services.connected.collection import GENERATION, ConnectedCollection, ConnectedIndex


class ConnectedIndexes:
    """An `IndexStore` of one collection with one generation."""

    def __init__(self, collection: ConnectedCollection) -> None:
        self._collection = collection

    async def facts(self) -> StoreFacts:
        return await _facts_of(self._collection)

    async def held(self) -> list[GenerationRef]:
        return [GenerationRef(self._collection.connection.name, GENERATION)]

    async def require_room(self, points: int, dimensions: int) -> None:
        raise self._collection.refuse("ingest")

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter:
        raise self._collection.refuse("ingest")

    async def open(self, ref: GenerationRef) -> ConnectedIndex:
        return ConnectedIndex(self._collection, (await self._collection.facts()).points)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return None

    async def replication(self, ref: GenerationRef) -> None:
        """Other programs maintain the collection."""

    async def drop(self, ref: GenerationRef) -> None:
        raise self._collection.refuse("drop")

    async def published(self, ref: GenerationRef) -> None:
        raise self._collection.refuse("publish")

    async def close(self) -> None:
        await self._collection.foreign.close()


class ConnectedCatalogs:
    """A `CatalogStore` of one collection, whose payloads are the catalog."""

    def __init__(self, collection: ConnectedCollection) -> None:
        self._collection = collection

    async def facts(self) -> StoreFacts:
        return await _facts_of(self._collection)

    async def identity(self) -> str:
        raise self._collection.refuse("ingest")

    async def collections(self) -> list[str]:
        return [self._collection.connection.name]

    async def current(self, collection: str) -> int | None:
        return GENERATION

    async def token(self, collection: str) -> object:
        return await self._collection.facts()

    async def manifest(self, ref: GenerationRef) -> Manifest:
        if ref.number != GENERATION:
            raise UnknownGeneration(
                f"generation {ref.number}: the connected collection {ref.collection!r} has no "
                "generations; leave the number out"
            )
        return await self._collection.manifest()

    async def manifests(self, collection: str) -> list[Manifest]:
        return [await self._collection.manifest()]

    async def complete(self, collection: str) -> list[GenerationRef]:
        return [GenerationRef(collection, GENERATION)]

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        return []

    async def next_ref(self, collection: str) -> GenerationRef:
        raise self._collection.refuse("ingest")

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> CatalogWriter:
        raise self._collection.refuse("ingest")

    async def open(self, ref: GenerationRef) -> WholeCatalog:
        collection = self._collection
        return ConnectedCatalog(collection.connection, collection.foreign, collection.facts)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return None

    async def seal(self, manifest: Manifest) -> None:
        raise self._collection.refuse("publish")

    async def point_to(self, ref: GenerationRef) -> None:
        raise self._collection.refuse("rollback")

    async def drop(self, ref: GenerationRef) -> None:
        raise self._collection.refuse("drop")

    async def unpublish(self, collection: str) -> None:
        raise self._collection.refuse("delete")

    def writing(self, purpose: str) -> AbstractAsyncContextManager[None]:
        raise self._collection.refuse(purpose)

    async def require_writing(self) -> None:
        raise self._collection.refuse("ingest")

    async def close(self) -> None:
        await self._collection.foreign.close()


async def _facts_of(collection: ConnectedCollection) -> StoreFacts:
    found = await collection.facts()
    return StoreFacts(
        f"the connected collection {collection.connection.name}", f"{found.points} points"
    )
