"""Routes each call to the stores of its collection: surefind's own, or a connected one."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from surefind.model import GenerationRef, Manifest, Replication
from surefind.ports import (
    Catalog,
    CatalogStore,
    CatalogWriter,
    IndexStore,
    IndexWriter,
    PublishedCatalogs,
    ReadBytes,
    StoreFacts,
    VectorIndex,
    VerifiedFiles,
    WholeCatalog,
)

Catalogs = TypeVar("Catalogs", bound=PublishedCatalogs)


class RoutedIndexStore:
    def __init__(self, own: IndexStore, connected: Mapping[str, IndexStore]) -> None:
        self._own = own
        self._connected = connected

    def _store_of(self, collection: str) -> IndexStore:
        return self._connected.get(collection, self._own)

    async def facts(self) -> StoreFacts:
        return await self._own.facts()

    async def held(self) -> list[GenerationRef]:
        found = await self._own.held()
        for store in self._connected.values():
            found += await store.held()
        return found

    async def require_room(self, points: int, dimensions: int) -> None:
        await self._own.require_room(points, dimensions)

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter:
        return await self._store_of(ref.collection).create(ref, dimensions, copy_of)

    async def open(self, ref: GenerationRef) -> VectorIndex:
        return await self._store_of(ref.collection).open(ref)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return await self._store_of(ref.collection).verify(ref, read)

    async def replication(self, ref: GenerationRef) -> Replication | None:
        return await self._store_of(ref.collection).replication(ref)

    async def drop(self, ref: GenerationRef) -> None:
        await self._store_of(ref.collection).drop(ref)

    async def published(self, ref: GenerationRef) -> None:
        await self._store_of(ref.collection).published(ref)

    async def close(self) -> None:
        await self._own.close()
        for store in self._connected.values():
            await store.close()


class RoutedPublishedCatalogs(Generic[Catalogs]):
    """The part that readers use, for both kinds of collections."""

    def __init__(self, own: Catalogs, connected: Mapping[str, Catalogs]) -> None:
        self._own = own
        self._connected = connected

    def _store_of(self, collection: str) -> Catalogs:
        return self._connected.get(collection, self._own)

    async def current(self, collection: str) -> int | None:
        return await self._store_of(collection).current(collection)

    async def token(self, collection: str) -> object:
        return await self._store_of(collection).token(collection)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        return await self._store_of(ref.collection).manifest(ref)

    async def open(self, ref: GenerationRef) -> Catalog:
        return await self._store_of(ref.collection).open(ref)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return await self._store_of(ref.collection).verify(ref, read)


class RoutedCatalogStore(RoutedPublishedCatalogs[CatalogStore]):
    async def facts(self) -> StoreFacts:
        return await self._own.facts()

    async def identity(self) -> str:
        return await self._own.identity()

    async def collections(self) -> list[str]:
        own = await self._own.collections()
        return sorted({*own, *self._connected})

    async def manifests(self, collection: str) -> list[Manifest]:
        return await self._store_of(collection).manifests(collection)

    async def complete(self, collection: str) -> list[GenerationRef]:
        return await self._store_of(collection).complete(collection)

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        return await self._store_of(collection).unfinished(collection)

    async def next_ref(self, collection: str) -> GenerationRef:
        return await self._store_of(collection).next_ref(collection)

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> CatalogWriter:
        return await self._store_of(ref.collection).create(ref, copy_of)

    async def open(self, ref: GenerationRef) -> WholeCatalog:
        return await self._store_of(ref.collection).open(ref)

    async def seal(self, manifest: Manifest) -> None:
        await self._store_of(manifest.collection).seal(manifest)

    async def point_to(self, ref: GenerationRef) -> None:
        await self._store_of(ref.collection).point_to(ref)

    async def drop(self, ref: GenerationRef) -> None:
        await self._store_of(ref.collection).drop(ref)

    async def unpublish(self, collection: str) -> None:
        await self._store_of(collection).unpublish(collection)

    def writing(self, purpose: str) -> AbstractAsyncContextManager[None]:
        return self._own.writing(purpose)

    async def require_writing(self) -> None:
        await self._own.require_writing()

    async def close(self) -> None:
        await self._own.close()
        for store in self._connected.values():
            await store.close()
