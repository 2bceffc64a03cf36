"""Generations: which there are, which one readers see, and going back."""

from contextlib import suppress
from dataclasses import dataclass

from surefind.errors import InputError, StoreError, UnknownCollection
from surefind.model import GenerationRef, Manifest
from surefind.ports import CatalogStore, IndexStore, PublishedCatalogs
from surefind.services.history import Difference, difference


@dataclass(frozen=True, slots=True)
class Changes:
    """Which pages a generation has that another has not; `compared_with` is None for the first."""

    generation: GenerationRef
    compared_with: int | None
    pages: Difference


async def current_number(collection: str, catalogs: PublishedCatalogs) -> int:
    number = await catalogs.current(collection)
    if number is None:
        raise UnknownCollection(
            f"there is no collection {collection!r} yet; "
            "`surefind ingest FOLDER` makes it from your documentation"
        )
    return number


class Generations:
    def __init__(self, collection: str, index: IndexStore, catalogs: CatalogStore) -> None:
        self._collection = collection
        self._index = index
        self._catalogs = catalogs

    async def current(self) -> int:
        return await current_number(self._collection, self._catalogs)

    async def list(self) -> list[Manifest]:
        """Every complete generation, oldest first, also where a gate held all of them back."""
        if await self.seen() is None and not await self._catalogs.complete(self._collection):
            await self.current()
        return await self._catalogs.manifests(self._collection)

    async def seen(self) -> int | None:
        """The current one; None where nothing was published yet."""
        return await self._catalogs.current(self._collection)

    async def one(self, number: int | None = None) -> Manifest:
        """By default the one that readers see."""
        wanted = await self.current() if number is None else number
        return await self._catalogs.manifest(GenerationRef(self._collection, wanted))

    async def rollback(self, to: int | None = None) -> Manifest:
        """Move the pointer to generation `to`, by default the one before the current one."""
        async with self._catalogs.writing("ingest"):
            ref = (
                GenerationRef(self._collection, to)
                if to is not None
                else await self._before_current()
            )
            manifest = await self._catalogs.manifest(ref)
            # Readers must be able to open what the pointer names.
            await (await self._index.open(ref)).close()
            await (await self._catalogs.open(ref)).close()
            await self._catalogs.point_to(ref)
            await self._index.published(ref)
            return manifest

    async def changes(self, number: int) -> Changes:
        """Against the one that readers saw before it; the oldest one kept added all it has."""
        ref = GenerationRef(self._collection, number)
        earlier = await self._before(ref)
        after = await self._catalogs.open(ref)
        try:
            if earlier is None:
                added = [document.source_path for document in await after.documents()]
                return Changes(ref, None, Difference(added=added))
            before = await self._catalogs.open(earlier)
            try:
                return Changes(ref, earlier.number, await difference(before, after))
            finally:
                await before.close()
        finally:
            await after.close()

    async def _before_current(self) -> GenerationRef:
        current = await self.current()
        earlier = await self._before(GenerationRef(self._collection, current))
        if earlier is None:
            raise InputError(
                f"generation {current} of {self._collection!r} is the oldest one kept: "
                "there is nothing to go back to"
            )
        return earlier

    async def _before(self, ref: GenerationRef) -> GenerationRef | None:
        before = (await self._catalogs.manifest(ref)).follows
        complete = await self._catalogs.complete(self._collection)
        earlier = [other for other in complete if other.number == before] or [
            other for other in complete if other.number < ref.number
        ]
        return earlier[-1] if earlier else None


async def held_back(manifest: Manifest, catalogs: CatalogStore) -> list[GenerationRef]:
    """What gates have held back since the generation that this one follows: their time is over."""
    found = []
    for ref in await catalogs.complete(manifest.collection):
        if (manifest.follows or 0) < ref.number < manifest.number:
            with suppress(StoreError):  # a damaged one goes when its turn comes
                gate = (await catalogs.manifest(ref)).gate
                found += [ref] if gate is not None and gate.held else []
    return found


async def drop(ref: GenerationRef, index: IndexStore, catalogs: CatalogStore) -> None:
    """The index first: while the catalog knows of it, it can still be found and dropped again.

    Whoever has lost the writer's place removes nothing: it may be another writer's by now.
    """
    await catalogs.require_writing()
    await index.drop(ref)
    await catalogs.drop(ref)
