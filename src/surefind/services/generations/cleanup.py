"""Removes old, held-back and unfinished generations."""

from contextlib import suppress

from surefind.errors import StoreChanged, StoreError, StoreFull
from surefind.model import GenerationRef, Manifest
from surefind.ports import CatalogStore, IndexStore


async def drop(ref: GenerationRef, index: IndexStore, catalogs: CatalogStore) -> None:
    """Remove a generation, index first: while the catalog lists it, a later run can finish the job.

    A run that has lost the write lock removes nothing, because another run may own the generation.
    """
    await catalogs.require_writing()
    await index.drop(ref)
    await catalogs.drop(ref)


async def surplus_of(manifest: Manifest, keep: int, catalogs: CatalogStore) -> list[GenerationRef]:
    """The oldest generations beyond `keep`, and those that a gate held back."""
    complete = await catalogs.complete(manifest.collection)
    kept = {manifest.number} if keep == 1 else {manifest.number, manifest.follows}
    held = await held_back(manifest, catalogs)
    others = [ref for ref in complete if ref.number not in kept and ref not in held]
    room = keep - len(kept & {ref.number for ref in complete})
    return [*others[: max(0, len(others) - room)], *held]


async def held_back(manifest: Manifest, catalogs: CatalogStore) -> list[GenerationRef]:
    """Generations held back by a gate since the one that `manifest` follows."""
    found = []
    for ref in await catalogs.complete(manifest.collection):
        if (manifest.follows or 0) < ref.number < manifest.number:
            with suppress(StoreError):  # a damaged one is removed when it gets old enough
                gate = (await catalogs.manifest(ref)).gate
                found += [ref] if gate is not None and gate.held else []
    return found


async def remove_unfinished(collection: str, index: IndexStore, catalogs: CatalogStore) -> None:
    """Remove what interrupted runs left behind. Requires the write lock."""
    try:
        current = await catalogs.current(collection)
    except StoreChanged:  # the pointer is damaged, so any of them may be current
        return
    for ref in await catalogs.unfinished(collection):
        if ref.number != current:
            await drop(ref, index, catalogs)


async def make_room(collection: str, index: IndexStore, catalogs: CatalogStore) -> None:
    """Remove unfinished generations. Raises StoreFull if there is still no room to build one."""
    async with catalogs.writing("ingest"):
        await remove_unfinished(collection, index, catalogs)
        await require_room(collection, index, catalogs)


async def require_room(
    collection: str,
    index: IndexStore,
    catalogs: CatalogStore,
    points: int = 0,
    dimensions: int = 0,
) -> None:
    """Raises StoreFull if the points don't fit, even after removing unfinished generations."""
    try:
        await index.require_room(points, dimensions)
    except StoreFull:
        for other in {ref.collection for ref in await index.held()} - {collection}:
            await remove_unfinished(other, index, catalogs)
        await index.require_room(points, dimensions)
