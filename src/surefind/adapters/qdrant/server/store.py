"""Qdrant, a server or a cluster: a generation is a collection `PREFIX` + `NAME--NNNN`.

The alias NAME follows the pointer for other readers; surefind itself never reads by it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.server.calls import (
    METADATA,
    QdrantServer,
    RequireWriter,
    ServerAddress,
    asking,
)
from surefind.adapters.qdrant.server.index_writer import QdrantIndexWriter, create_index
from surefind.adapters.qdrant.server.reader import QdrantIndex
from surefind.adapters.qdrant.server.schema import (
    CollectionShape,
    check_collection,
    dense_params,
    indexed_front_matter,
    lexical_params,
    made_by,
    mark,
    mark_key,
    own_indexes,
)
from surefind.adapters.remote_calls import CallPolicy
from surefind.errors import StoreChanged, StoreError, StoreRefused
from surefind.model import GenerationRef
from surefind.ports import ReadBytes, StoreFacts

_NEVER_FILLED = models.PayloadSchemaType.KEYWORD
Owner = Callable[[], Awaitable[str]]


async def _unasked() -> None:
    """Nobody else writes there."""


class QdrantIndexStore:
    """`owner` names the installation to which the collections belong that it makes.

    `guard` raises where the one writer's lock was lost: what a writer has made may be another's
    by then: another run may have rebuilt it or published it.
    """

    def __init__(
        self,
        place: ServerAddress,
        policy: CallPolicy,
        owner: Owner,
        shape: CollectionShape | None = None,
        *,
        prefix: str = "",
        indexing_timeout_s: float = 3600.0,
        guard: RequireWriter = _unasked,
    ) -> None:
        self._server = QdrantServer(place, policy)
        self._notify = policy.notify
        self._owner = owner
        self._shape = shape or CollectionShape()
        self._prefix = prefix
        self._indexing_timeout_s = indexing_timeout_s
        self._guard = guard

    async def facts(self) -> StoreFacts:
        await self._aliases()
        version, ahead_s = await self._server.told_version(), await self._server.clock_ahead_s()
        return StoreFacts(self._server.name, f"Qdrant {version}", clock_ahead_s=ahead_s)

    async def held(self) -> list[GenerationRef]:
        answer = await self._server.read(lambda client: client.get_collections())
        named = sorted(collection.name for collection in answer.collections)
        refs = {name: ref for name in named if (ref := self._ref(name)) is not None}
        if not refs:
            return []  # asking who owns them may make the catalog's tables
        owner, found = await self._owner(), []
        for name, ref in refs.items():
            info = await self._info(name)
            if info is not None and made_by(info) == owner:
                found.append(ref)
        return found

    async def require_room(self, points: int, dimensions: int) -> None:  # noqa: ARG002
        """A server does not tell how much room it has. That it is there, new enough, and takes the
        key is known before any work is done.
        """
        await self._server.version()
        await self._aliases()

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> QdrantIndexWriter:
        name = self._name(ref)
        await self._server.version()
        if copy_of is not None:
            await self.open(copy_of)
        indexes = set(own_indexes())
        await self._make_way(name)
        await self._create(name, ref, dimensions)
        if copy_of is not None:
            indexes |= await self._inherit(name, self._name(copy_of), indexes)
        return QdrantIndexWriter(
            self._server,
            name,
            dimensions,
            self._shape,
            copy_of=None if copy_of is None else self._name(copy_of),
            indexes=indexes,
            indexing_timeout_s=self._indexing_timeout_s,
            notify=self._notify,
            guard=self._guard,
        )

    async def open(self, ref: GenerationRef) -> QdrantIndex:
        name = self._name(ref)
        await self._server.version()
        info = await self._server.read(lambda client: client.get_collection(name), name)
        dimensions = check_collection(name, self._server.name, info)
        if made_by(info) != await self._known_owner(info):
            raise StoreRefused(
                f"{self._server.name} has a collection {name}, but it was not made by this "
                "installation of surefind: check QDRANT_URL, or `surefind ingest` makes a new one"
            )
        return QdrantIndex(self._server, name, dimensions, self._shape)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> None:
        """The server keeps what it was given: nothing here could tell."""

    async def drop(self, ref: GenerationRef) -> None:
        """What is not ours is left alone, and told."""
        name = self._name(ref)
        info = await self._info(name)
        if info is None:
            return
        if made_by(info) != await self._owner():
            self._notify(
                f"{self._server.name}: the collection {name} is left as it is, since it was not "
                "made by this installation of surefind"
            )
            return
        await self._server.change(lambda client: client.delete_collection(name), name)

    async def published(self, ref: GenerationRef) -> None:
        """A courtesy for other readers: what keeps the alias from moving is told, never raised."""
        alias = f"{self._prefix}{ref.collection}"
        try:
            hindrance = await self._alias_hindrance(alias)
            if hindrance is None:
                await self._move_alias(alias, self._name(ref))
        except StoreError as error:
            hindrance = str(error)
        if hindrance is not None:
            self._notify(
                f"the alias {alias} was not moved to {self._name(ref)}: {hindrance}. Searches by "
                "surefind are not concerned"
            )

    async def close(self) -> None:
        await self._server.close()

    async def _known_owner(self, info: models.CollectionInfo) -> str | None:
        """While the catalog is away nobody knows who we are, and searching goes on."""
        try:
            return await self._owner()
        except StoreError:
            return made_by(info)

    def _name(self, ref: GenerationRef) -> str:
        return f"{self._prefix}{ref}"

    def _ref(self, name: str) -> GenerationRef | None:
        """None where the name is none that this store would give."""
        collection, _, number = name.removeprefix(self._prefix).rpartition("--")
        if not number.isdecimal() or not collection:
            return None
        ref = GenerationRef(collection, int(number))
        return ref if self._name(ref) == name else None

    # --- making -------------------------------------------------------------------------------

    async def _info(self, name: str) -> models.CollectionInfo | None:
        try:
            return await self._server.read(lambda client: client.get_collection(name), name)
        except StoreChanged:
            return None

    async def _inherit(self, name: str, source: str, known: set[str]) -> set[str]:
        """What is copied is not looked into: its keys have the indexes that they had."""
        info = await self._server.read(lambda client: client.get_collection(source), source)
        indexed = indexed_front_matter(info)
        for key in indexed.keys() - known:
            await create_index(self._server, name, key, indexed[key], self._shape)
        return set(indexed)

    async def _read_as(self, name: str) -> str | None:
        held = await self._server.read(lambda client: client.get_collection_aliases(name), name)
        return held.aliases[0].alias_name if held.aliases else None

    async def _make_way(self, name: str) -> None:
        """What an earlier run of this installation has left under the name goes; nothing else."""
        info = await self._info(name)
        if info is None:
            return
        if made_by(info) != await self._owner():
            raise StoreRefused(
                f"{self._server.name} has a collection {name} already, which was not made by this "
                "installation of surefind: set SUREFIND_QDRANT_PREFIX to keep the two apart, or "
                "delete it yourself"
            )
        alias = await self._read_as(name)
        if alias is not None:
            raise StoreRefused(
                f"{self._server.name}: others read the collection {name} as {alias}, so it is not "
                "replaced; delete it yourself, or set SUREFIND_QDRANT_PREFIX"
            )
        delete = asking(self._guard, lambda client: client.delete_collection(name))
        await self._server.change(delete, name)

    async def _create(self, name: str, ref: GenerationRef, dimensions: int) -> None:
        """The graph waits until all points are there, see the writer."""
        shape, owner = self._shape, await self._owner()
        marked = await self._server.has(METADATA)
        lost: list[bool] = []

        async def create(client: AsyncQdrantClient) -> None:
            if lost and await client.collection_exists(name):
                return  # the first try got through, its answer did not
            lost.append(True)
            await client.create_collection(
                name,
                vectors_config=dense_params(dimensions, shape),
                sparse_vectors_config=lexical_params(shape),
                shard_number=shape.shards,
                replication_factor=shape.replicas,
                write_consistency_factor=shape.write_consistency,
                on_disk_payload=True,
                hnsw_config=models.HnswConfigDiff(m=0),
                metadata=mark(owner, ref) if marked else None,
            )

        await self._server.write(create)
        if not marked:
            await create_index(self._server, name, mark_key(owner), _NEVER_FILLED, shape)
        indexes = own_indexes().items()
        await asyncio.gather(
            *(create_index(self._server, name, key, kind, shape) for key, kind in indexes)
        )

    # --- the alias ----------------------------------------------------------------------------

    async def _alias_hindrance(self, alias: str) -> str | None:
        if alias in await self._aliases():
            info = await self._info(alias)
            if info is not None and made_by(info) != await self._owner():
                return "it leads to a collection that this installation of surefind did not make"
        elif await self._server.read(lambda client: client.collection_exists(alias)):
            return f"there is a collection of the name {alias}"
        return None

    async def _aliases(self) -> set[str]:
        held = await self._server.read(lambda client: client.get_aliases())
        return {one.alias_name for one in held.aliases}

    async def _move_alias(self, alias: str, name: str) -> None:
        """In one step: nobody meets an alias that leads nowhere."""
        create = models.CreateAlias(collection_name=name, alias_name=alias)
        actions: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=create)]
        if alias in await self._aliases():
            delete = models.DeleteAlias(alias_name=alias)
            actions.insert(0, models.DeleteAliasOperation(delete_alias=delete))
        await self._server.change(lambda client: client.update_collection_aliases(actions))
