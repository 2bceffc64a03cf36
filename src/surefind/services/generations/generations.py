"""List, compare, publish, roll back and prune the generations of a collection."""

from dataclasses import dataclass

from surefind.errors import InputError, UnknownCollection, UnknownGeneration
from surefind.model import DEFAULT_COLLECTION, GenerationRef, Manifest
from surefind.ports import CatalogStore, IndexStore, PublishedCatalogs
from surefind.services.generations.cleanup import drop, surplus_of
from surefind.services.generations.history import GenerationDiff, difference
from surefind.services.generations.index_building import both_stores
from surefind.services.generations.integrity import require_complete

MAX_NUMBER = 10**9


@dataclass(frozen=True, slots=True)
class GenerationChanges:
    """How the pages of a generation differ from the earlier generation `compared_with`.

    `compared_with` is None for the first generation.
    """

    generation: GenerationRef
    compared_with: int | None
    pages: GenerationDiff


async def current_number(collection: str, catalogs: PublishedCatalogs) -> int:
    number = await catalogs.current(collection)
    if number is None:
        option = "" if collection == DEFAULT_COLLECTION else f" --collection {collection}"
        raise UnknownCollection(
            f"there is no collection {collection!r} yet; create it with "
            f"`surefind ingest FOLDER{option}`"
        )
    return number


def check_number(number: object) -> int:
    """Return the number of a generation; InputError if it can't be one."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_NUMBER:
        raise InputError(
            f"generation must be a whole number from 1 to {MAX_NUMBER}, not {number!r}"
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
        """Every complete generation, oldest first, including those that a gate held back."""
        if await self.seen() is None and not await self._catalogs.complete(self._collection):
            await self.current()
        return await self._catalogs.manifests(self._collection)

    async def seen(self) -> int | None:
        """The current one; None if nothing has been published yet."""
        return await self._catalogs.current(self._collection)

    async def one(self, number: int | None = None) -> Manifest:
        """A generation's manifest, by default the current one."""
        if number is None:
            number = await self.current()
        return await self._catalogs.manifest(GenerationRef(self._collection, number))

    async def rollback(self, to: int | None = None) -> Manifest:
        """Make generation `to` the current one, by default the previous one."""
        async with self._catalogs.writing("ingest"):
            ref = (
                GenerationRef(self._collection, check_number(to))
                if to is not None
                else await self._before_current()
            )
            manifest = await self._catalogs.manifest(ref)
            # Readers must be able to open it, and it must be intact.
            await self._catalogs.verify(ref, lambda _: None)
            await self._index.verify(ref, lambda _: None)
            async with both_stores(ref, self._index, self._catalogs) as (points, catalog):
                await require_complete(manifest, points, catalog)
            await self._catalogs.point_to(ref)
            await self._index.published(ref)
            return manifest

    async def prune(self, keep: int) -> tuple[int, ...]:
        """Remove old generations; keep the current one and the `keep` - 1 newest others."""
        if keep < 1:
            raise InputError(f"keep must be 1 or more, not {keep}; the current one is always kept")
        async with self._catalogs.writing("ingest"):
            manifest = await self._catalogs.manifest(
                GenerationRef(self._collection, await self.current())
            )
            surplus = await surplus_of(manifest, keep, self._catalogs)
            for ref in surplus:
                await drop(ref, self._index, self._catalogs)
        return tuple(sorted(ref.number for ref in surplus))

    async def delete(self) -> int:
        """Delete the collection with all its generations, and return how many there were.

        Readers lose it first, so an interrupted run leaves no broken collection; run it again.
        """
        complete = await self._catalogs.complete(self._collection)
        if not complete:
            await self.current()
        async with self._catalogs.writing("ingest"):
            await self._catalogs.unpublish(self._collection)
            for ref in (*complete, *await self._catalogs.unfinished(self._collection)):
                await drop(ref, self._index, self._catalogs)
        return len(complete)

    async def changes(self, number: int) -> GenerationChanges:
        """The changes since the previous generation. In the oldest one, all pages are added."""
        ref = GenerationRef(self._collection, check_number(number))
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
                f"can't roll back: generation {current} of {self._collection!r} is the oldest one; "
                "`surefind generations list` shows all of them"
            )
        return earlier

    async def _before(self, ref: GenerationRef) -> GenerationRef | None:
        before = (await self._catalogs.manifest(ref)).follows
        complete = await self._catalogs.complete(self._collection)
        earlier = [other for other in complete if other.number == before] or [
            other for other in complete if other.number < ref.number
        ]
        return earlier[-1] if earlier else None
