"""A Qdrant server or cluster: each generation is a collection `PREFIX` + `NAME--NNNN`.

The alias NAME follows the pointer for other readers; surefind itself never uses it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.server.calls import (
    METADATA,
    QdrantServer,
    RequireWriter,
    ServerAddress,
    guarded,
)
from surefind.adapters.qdrant.server.index_writer import QdrantIndexWriter, create_index
from surefind.adapters.qdrant.server.reader import QdrantIndex, ReadConsistency
from surefind.adapters.qdrant.server.replicas import ReplicaCheck, replication_of
from surefind.adapters.qdrant.server.schema import (
    CollectionShape,
    check_collection,
    computes_idf,
    dense_params,
    indexed_front_matter,
    lexical_params,
    made_by,
    mark,
    mark_key,
    own_indexes,
)
from surefind.adapters.qdrant.server.statistics_collection import (
    load_statistics,
    statistics_name,
)
from surefind.adapters.remote_calls import CallPolicy
from surefind.errors import StoreChanged, StoreError, StoreRefused
from surefind.model import GenerationRef, Replication
from surefind.ports import ReadBytes, StoreFacts

_NEVER_FILLED = models.PayloadSchemaType.KEYWORD
Owner = Callable[[], Awaitable[str]]


async def _no_guard() -> None:
    """For stores with a single writer."""


class QdrantIndexStore:
    """`owner` identifies the installation that owns the created collections.

    `guard` raises if the writer's lock was lost: another run may have rebuilt or published the
    collection since.
    """

    def __init__(  # noqa: PLR0913 - the settings of a server, all optional
        self,
        place: ServerAddress,
        policy: CallPolicy,
        owner: Owner,
        shape: CollectionShape | None = None,
        *,
        prefix: str = "",
        indexing_timeout_s: float = 3600.0,
        read_consistency: ReadConsistency | None = None,
        replica_check: ReplicaCheck | None = None,
        guard: RequireWriter = _no_guard,
    ) -> None:
        self._server = QdrantServer(place, policy)
        self._notify = policy.notify
        self._owner = owner
        self._shape = shape or CollectionShape()
        self._prefix = prefix
        self._indexing_timeout_s = indexing_timeout_s
        self._read_consistency = read_consistency
        self._replica_check = replica_check or ReplicaCheck()
        self._guard = guard

    async def facts(self) -> StoreFacts:
        await self._aliases()
        version, ahead_s = await self._server.reported_version(), await self._server.clock_ahead_s()
        return StoreFacts(self._server.name, f"Qdrant {version}", clock_ahead_s=ahead_s)

    async def held(self) -> list[GenerationRef]:
        answer = await self._server.read(lambda client: client.get_collections())
        named = sorted(collection.name for collection in answer.collections)
        refs = {name: ref for name in named if (ref := self._ref(name)) is not None}
        if not refs:
            return []  # determining the owner might create the catalog's tables
        owner, found = await self._owner(), []
        for name, ref in refs.items():
            info = await self._info(name)
            if info is not None and made_by(info) == owner:
                found.append(ref)
        return found

    async def require_room(self, points: int, dimensions: int) -> None:  # noqa: ARG002
        """Servers don't report free disk space. This checks early that the server is available, new
        enough and accepts the API key.
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
        await self._make_way(statistics_name(name))
        await self._make_way(name)
        await self._create(name, ref, dimensions)
        if self._shape.is_sharded:
            await self._create_statistics(statistics_name(name), ref)
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
            replica_check=self._replica_check,
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
                f"{self._server.name} has a collection {name}, but another installation or program "
                "created it; check QDRANT_URL, or run `surefind ingest` to build a new one"
            )
        return QdrantIndex(
            self._server,
            name,
            dimensions,
            self._shape,
            consistency=self._read_consistency,
            statistics=None if computes_idf(info) else await load_statistics(self._server, name),
        )

    async def replication(self, ref: GenerationRef) -> Replication | None:
        return await replication_of(self._server, self._name(ref))

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> None:
        """Nothing to verify: the server checks its own storage."""

    async def drop(self, ref: GenerationRef) -> None:
        """Collections of other owners are kept and reported."""
        name = self._name(ref)
        for held in (statistics_name(name), name):  # `held` finds the second one after a kill
            await self._drop(held)

    async def _drop(self, name: str) -> None:
        info = await self._info(name)
        if info is None:
            return
        if made_by(info) != await self._owner():
            self._notify(
                f"{self._server.name}: kept the collection {name}, because another installation or "
                "program created it"
            )
            return
        await self._server.change(lambda client: client.delete_collection(name), name)

    async def published(self, ref: GenerationRef) -> None:
        """Move the alias for other readers; a failure is reported, never raised."""
        alias = f"{self._prefix}{ref.collection}"
        try:
            obstacle = await self._alias_obstacle(alias)
            if obstacle is None:
                await self._move_alias(alias, self._name(ref))
        except StoreError as error:
            obstacle = str(error)
        if obstacle is not None:
            self._notify(
                f"the alias {alias} was not moved to {self._name(ref)}: {obstacle}. surefind's own "
                "searches are not affected"
            )

    async def close(self) -> None:
        await self._server.close()

    async def _known_owner(self, info: models.CollectionInfo) -> str | None:
        """While the catalog is unavailable, the owner is unknown; searches continue without it."""
        try:
            return await self._owner()
        except StoreError:
            return made_by(info)

    def _name(self, ref: GenerationRef) -> str:
        return f"{self._prefix}{ref}"

    def _ref(self, name: str) -> GenerationRef | None:
        """The generation of a collection name; None if this store did not choose the name."""
        collection, _, number = name.removeprefix(self._prefix).rpartition("--")
        if not number.isdecimal() or not collection:
            return None
        ref = GenerationRef(collection, int(number))
        return ref if self._name(ref) == name else None

    # --- creating collections -----------------------------------------------------------------

    async def _info(self, name: str) -> models.CollectionInfo | None:
        try:
            return await self._server.read(lambda client: client.get_collection(name), name)
        except StoreChanged:
            return None

    async def _inherit(self, name: str, source: str, known: set[str]) -> set[str]:
        """Copied points keep their payload indexes; their payloads are not read."""
        info = await self._server.read(lambda client: client.get_collection(source), source)
        indexed = indexed_front_matter(info)
        for key in indexed.keys() - known:
            await create_index(self._server, name, key, indexed[key], self._shape)
        return set(indexed)

    async def _read_as(self, name: str) -> str | None:
        held = await self._server.read(lambda client: client.get_collection_aliases(name), name)
        return held.aliases[0].alias_name if held.aliases else None

    async def _make_way(self, name: str) -> None:
        """Remove a leftover of an earlier run of this installation; reject any other collection."""
        info = await self._info(name)
        if info is None:
            return
        if made_by(info) != await self._owner():
            raise StoreRefused(
                f"{self._server.name} already has a collection {name} that another installation or "
                "program created; set SUREFIND_QDRANT_PREFIX to separate the two, or delete it"
            )
        alias = await self._read_as(name)
        if alias is not None:
            raise StoreRefused(
                f"{self._server.name}: the alias {alias} points to the collection {name}, so it is "
                "not replaced; delete it, or set SUREFIND_QDRANT_PREFIX"
            )
        delete = guarded(self._guard, lambda client: client.delete_collection(name))
        await self._server.change(delete, name)

    async def _create(self, name: str, ref: GenerationRef, dimensions: int) -> None:
        """Create a collection without HNSW, which the writer builds after the last point."""
        shape = self._shape

        async def create(client: AsyncQdrantClient, metadata: models.Payload | None) -> None:
            await client.create_collection(
                name,
                vectors_config=dense_params(dimensions, shape),
                sparse_vectors_config=lexical_params(shape),
                shard_number=shape.shards,
                replication_factor=shape.replicas,
                write_consistency_factor=shape.write_consistency,
                on_disk_payload=True,
                hnsw_config=models.HnswConfigDiff(m=0),
                metadata=metadata,
            )

        await self._create_marked(name, ref, create)
        indexes = own_indexes().items()
        await asyncio.gather(
            *(create_index(self._server, name, key, kind, shape) for key, kind in indexes)
        )

    async def _create_statistics(self, name: str, ref: GenerationRef) -> None:
        async def create(client: AsyncQdrantClient, metadata: models.Payload | None) -> None:
            await client.create_collection(
                name,
                vectors_config={},
                shard_number=1,
                replication_factor=self._shape.replicas,
                write_consistency_factor=self._shape.write_consistency,
                on_disk_payload=True,
                metadata=metadata,
            )

        await self._create_marked(name, ref, create)

    async def _create_marked(
        self,
        name: str,
        ref: GenerationRef,
        create: Callable[[AsyncQdrantClient, models.Payload | None], Awaitable[None]],
    ) -> None:
        owner = await self._owner()
        marked = await self._server.has(METADATA)
        lost: list[bool] = []

        async def attempt(client: AsyncQdrantClient) -> None:
            if lost and await client.collection_exists(name):
                return  # the first attempt succeeded, but its response was lost
            lost.append(True)
            await create(client, mark(owner, ref) if marked else None)

        await self._server.write(attempt)
        if not marked:
            await create_index(self._server, name, mark_key(owner), _NEVER_FILLED, self._shape)

    # --- the alias ----------------------------------------------------------------------------

    async def _alias_obstacle(self, alias: str) -> str | None:
        if alias in await self._aliases():
            info = await self._info(alias)
            if info is not None and made_by(info) != await self._owner():
                return "it points to a collection that another installation or program created"
        elif await self._server.read(lambda client: client.collection_exists(alias)):
            return f"there is a collection with the name {alias}"
        return None

    async def _aliases(self) -> set[str]:
        held = await self._server.read(lambda client: client.get_aliases())
        return {one.alias_name for one in held.aliases}

    async def _move_alias(self, alias: str, name: str) -> None:
        """Move the alias atomically, so that it always points to a collection."""
        create = models.CreateAlias(collection_name=name, alias_name=alias)
        actions: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=create)]
        if alias in await self._aliases():
            delete = models.DeleteAlias(alias_name=alias)
            actions.insert(0, models.DeleteAliasOperation(delete_alias=delete))
        await self._server.change(lambda client: client.update_collection_aliases(actions))
