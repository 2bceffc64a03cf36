"""Generations: which there are, which one readers see, and going back."""

from surefind.errors import InputError, UnknownCollection
from surefind.model import GenerationRef, Manifest
from surefind.ports import CatalogStore, IndexStore


async def current_number(collection: str, catalogs: CatalogStore) -> int:
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
        """Every complete generation, oldest first."""
        await self.current()
        return await self._catalogs.manifests(self._collection)

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
            return manifest

    async def _before_current(self) -> GenerationRef:
        current = await self.current()
        complete = await self._catalogs.complete(self._collection)
        before = (await self._catalogs.manifest(GenerationRef(self._collection, current))).follows
        earlier = [ref for ref in complete if ref.number == before] or [
            ref for ref in complete if ref.number < current
        ]
        if not earlier:
            raise InputError(
                f"generation {current} of {self._collection!r} is the oldest one kept: "
                "there is nothing to go back to"
            )
        return earlier[-1]


async def drop(ref: GenerationRef, index: IndexStore, catalogs: CatalogStore) -> None:
    """The index first: while the catalog knows of it, it can still be found and dropped again."""
    await index.drop(ref)
    await catalogs.drop(ref)
