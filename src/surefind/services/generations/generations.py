"""Generations: which there are, which one readers see, and going back."""

from contextlib import suppress
from dataclasses import dataclass

from surefind.errors import InputError, StoreError, UnknownCollection, UnknownGeneration
from surefind.model import GenerationRef, Manifest
from surefind.ports import CatalogStore, IndexStore, PublishedCatalogs
from surefind.services.generations.history import GenerationDiff, difference


@dataclass(frozen=True, slots=True)
class GenerationChanges:
    """Which pages a generation has that another has not; `compared_with` is None for the first."""

    generation: GenerationRef
    compared_with: int | None
    pages: GenerationDiff


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
            # Readers must be able to open what the pointer names, and find all as it was written.
            await self._catalogs.verify(ref, lambda _: None)
            await self._index.verify(ref, lambda _: None)
            await (await self._index.open(ref)).close()
            await (await self._catalogs.open(ref)).close()
            await self._catalogs.point_to(ref)
            await self._index.published(ref)
            return manifest

    async def prune(self, keep: int) -> tuple[int, ...]:
        """Remove all but the current generation and the `keep` - 1 newest others."""
        if keep < 1:
            raise InputError(f"keep is {keep}, it must be 1 or more: readers need a generation")
        async with self._catalogs.writing("ingest"):
            manifest = await self._catalogs.manifest(
                GenerationRef(self._collection, await self.current())
            )
            surplus = await surplus_of(manifest, keep, self._catalogs)
            for ref in surplus:
                await drop(ref, self._index, self._catalogs)
        return tuple(sorted(ref.number for ref in surplus))

    async def changes(self, number: int) -> GenerationChanges:
        """Against the one that readers saw before it; the oldest one kept added all it has."""
        ref = GenerationRef(self._collection, number)
        earlier = await self._before(ref)
        after = await self._catalogs.open(ref)
        try:
            if earlier is None:
                added = [document.source_path for document in await after.documents()]
                return GenerationChanges(ref, None, GenerationDiff(added=added))
            before = await self._catalogs.open(earlier)
            try:
                return GenerationChanges(ref, earlier.number, await difference(before, after))
            finally:
                await before.close()
        finally:
            await after.close()

    async def _before_current(self) -> GenerationRef:
        current = await self.current()
        earlier = await self._before(GenerationRef(self._collection, current))
        if earlier is None:
            raise UnknownGeneration(
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


async def surplus_of(manifest: Manifest, keep: int, catalogs: CatalogStore) -> list[GenerationRef]:
    """What is too many beside the current generation: the oldest ones, and what was held back."""
    complete = await catalogs.complete(manifest.collection)
    kept = {manifest.number} if keep == 1 else {manifest.number, manifest.follows}
    held = await held_back(manifest, catalogs)
    others = [ref for ref in complete if ref.number not in kept and ref not in held]
    room = keep - len(kept & {ref.number for ref in complete})
    return [*others[: max(0, len(others) - room)], *held]


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
