"""One generation in a Qdrant server while it is built.

Points are uploaded in concurrent batches while the caller prepares the next ones, so a later call
may raise the failure of an earlier one. HNSW is built after the last point. Unchanged points are
copied from the previous generation at the end; copying everything and deleting changed points would
distort BM25, because the server's term statistics keep counting deleted points.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.payload import to_payload
from surefind.adapters.qdrant.points import DENSE, LEXICAL, check_vector, point_uuid
from surefind.adapters.qdrant.server.calls import Call, QdrantServer, RequireWriter, guarded
from surefind.adapters.qdrant.server.reader import sparse_vector
from surefind.adapters.qdrant.server.replicas import ReplicaCheck, check_replicas
from surefind.adapters.qdrant.server.schema import (
    MAX_FRONT_MATTER_INDEXES,
    CollectionShape,
    front_matter_indexes,
    index_params,
    indexed_vectors,
    is_sound,
    own_indexes,
)
from surefind.adapters.qdrant.server.statistics_collection import (
    counted_again,
    save_statistics,
    terms_of,
)
from surefind.adapters.qdrant.server.term_statistics import TermCounter
from surefind.errors import StoreChanged, StoreError, StoreUnreachable
from surefind.ports import IndexEntry, Notify

T = TypeVar("T")

AT_ONCE = 4
"""Concurrent uploads: Qdrant recommends two to four."""
POINTS_PER_PART = 256
BYTES_PER_PART = 4 * 2**20
_NUMBER_BYTES = 21  # of one vector component, as text
_TERM_BYTES = 32
_PAYLOAD_BYTES = 1500
_PAGE = POINTS_PER_PART
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0
_REPORT_EVERY_S = 15.0
_LEAVING_S = 2.0


class QdrantIndexWriter:
    def __init__(  # noqa: PLR0913 - the parameters of one build
        self,
        server: QdrantServer,
        name: str,
        dimensions: int,
        shape: CollectionShape,
        *,
        copy_of: str | None,
        indexes: Iterable[str],
        indexing_timeout_s: float,
        replica_check: ReplicaCheck,
        notify: Notify,
        guard: RequireWriter,
    ) -> None:
        """`guard` raises if the writer's lock was lost. It runs before every change, because
        another run may then be writing to the same collection.
        """
        self._server = server
        self._name = name
        self._dimensions = dimensions
        self._shape = shape
        self._copy_of = copy_of
        self._indexes = set(indexes)
        self._room_for_indexes = MAX_FRONT_MATTER_INDEXES - len(
            self._indexes.difference(own_indexes())
        )
        self._indexing_timeout_s = indexing_timeout_s
        self._replica_check = replica_check
        self._notify = notify
        self._guard = guard
        self._under_way: dict[asyncio.Task[None], frozenset[UUID]] = {}
        self._not_copied: set[UUID] = set()
        self._counter = TermCounter() if shape.is_sharded else None

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            check_vector(entry.vector, self._dimensions, entry.record.chunk.id)
        for entry in entries:
            await self._index_front_matter(entry)
        for part in _parts(entries, self._dimensions):
            if self._counter is not None:
                for entry in part:
                    self._counter.add(entry.terms.ids)
            await self._send([_point(entry) for entry in part])
        if self._copy_of is not None:
            self._not_copied.update(entry.record.chunk.point_id for entry in entries)

    async def delete(self, point_ids: Sequence[UUID]) -> None:
        await self._settle()
        if self._copy_of is not None:
            self._not_copied.update(point_ids)
        for start in range(0, len(point_ids), _PAGE):
            wanted = models.PointIdsList(
                points=[str(point_id) for point_id in point_ids[start : start + _PAGE]]
            )
            await self._change(partial(self._delete, wanted))

    async def _delete(
        self, wanted: models.PointIdsList, client: AsyncQdrantClient
    ) -> models.UpdateResult:
        return await client.delete(self._name, wanted, wait=True)

    async def finish(self) -> int:
        if self._copy_of is not None:
            await self._copy(self._copy_of)
        await self._settle()
        await self._change(
            lambda client: client.update_collection(
                self._name, hnsw_config=models.HnswConfigDiff(m=self._shape.graph_links)
            )
        )
        await self._until_indexed()
        await check_replicas(self._server, self._name, self._replica_check, self._notify)
        counted = await self._server.write(
            lambda client: client.count(self._name, exact=True), self._name
        )
        if self._counter is not None:
            # They differ if a point was written twice, or deleted after it was written.
            is_exact = self._counter.added == counted.count
            statistics = (
                self._counter.statistics()
                if is_exact
                else await counted_again(self._server, self._name)
            )
            await save_statistics(self._server, self._name, statistics, self._guard)
        return counted.count

    async def abandon(self) -> None:
        """Let running uploads finish: if cancelled, they could arrive after the next writer's."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LEAVING_S)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._under_way.clear()

    # --- batches ------------------------------------------------------------------------------

    async def _send(self, points: list[models.PointStruct]) -> None:
        """Never upload two versions of a point concurrently: the later one must win."""
        ids = frozenset(point_uuid(point.id) for point in points)
        if any(ids & others for others in self._under_way.values()):
            await self._settle()
        while len(self._under_way) >= AT_ONCE:
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
            self._collect()
        self._under_way[asyncio.ensure_future(self._write(points))] = ids

    async def _write(self, points: list[models.PointStruct]) -> None:
        await self._change(lambda client: client.upsert(self._name, points, wait=True))

    async def _change(self, call: Call[T]) -> T:
        return await self._server.write(guarded(self._guard, call), self._name)

    async def _settle(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way)
        self._collect()

    def _collect(self) -> None:
        done = [task for task in self._under_way if task.done()]
        for task in done:
            del self._under_way[task]
        failed = [error for task in done if (error := task.exception()) is not None]
        if failed:  # the other errors are usually the same
            raise failed[0]

    async def _index_front_matter(self, entry: IndexEntry) -> None:
        """Create indexes as keys appear; reports once if there are too many keys."""
        for key, kind in front_matter_indexes(entry.record.attributes).items():
            if key in self._indexes:
                continue
            self._indexes.add(key)
            self._room_for_indexes -= 1
            if self._room_for_indexes == -1:
                self._notify(
                    f"the front matter has more than {MAX_FRONT_MATTER_INDEXES} keys; filters on "
                    "the others work, but have no index in the Qdrant server"
                )
            if self._room_for_indexes >= 0:
                await create_index(self._server, self._name, key, kind, self._shape)

    # --- the end ------------------------------------------------------------------------------

    async def _copy(self, source: str) -> None:
        """Copy in pages, reading the next one while the previous one is written."""
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._server.write(
                partial(_page, source=source, offset=offset), source
            )
            kept = [record for record in records if point_uuid(record.id) not in self._not_copied]
            if self._counter is not None:
                for record in kept:
                    self._counter.add(terms_of(record))
            if kept:
                await self._send([_copied(record) for record in kept])
            if offset is None:
                return

    async def _until_indexed(self) -> None:
        """Wait until the server reports completion twice: it may not have started at first."""
        began = last_report = time.monotonic()
        pause_s, greens = _FIRST_PAUSE_S, 0
        while greens < 2:
            info = await self._server.write(
                lambda client: client.get_collection(self._name), self._name
            )
            greens = greens + 1 if self._is_done(info) else 0
            now = time.monotonic()
            if now - began > self._indexing_timeout_s:
                raise StoreUnreachable(
                    f"{self._server.name} is still indexing {self._name} after "
                    f"{self._indexing_timeout_s:g} s; raise SUREFIND_QDRANT_INDEXING_TIMEOUT_S, or "
                    "give the server more CPU and memory, and run it again"
                )
            if info.status == models.CollectionStatus.GREY:  # it waits for a trigger
                await self._server.write(
                    lambda client: client.update_collection(
                        self._name, optimizers_config=models.OptimizersConfigDiff()
                    ),
                    self._name,
                )
            if now - last_report > _REPORT_EVERY_S:
                last_report = now
                self._notify(
                    f"{self._server.name} is indexing {self._name}: "
                    f"{indexed_vectors(info)} of {info.points_count or 0} vectors"
                )
            await asyncio.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 1.5)

    def _is_done(self, info: models.CollectionInfo) -> bool:
        if not is_sound(info):
            reason = getattr(info.optimizer_status, "error", "unknown reason")
            raise StoreError(
                f"{self._server.name} could not index {self._name}: {reason}; check its log and "
                "disk, and run it again"
            )
        return info.status == models.CollectionStatus.GREEN


async def create_index(
    server: QdrantServer,
    name: str,
    key: str,
    kind: models.PayloadSchemaType,
    shape: CollectionShape,
) -> None:
    params = index_params(kind, shape)
    await server.write(lambda client: client.create_payload_index(name, key, params), name)


async def _page(
    client: AsyncQdrantClient, source: str, offset: models.ExtendedPointId | None
) -> tuple[list[models.Record], models.ExtendedPointId | None]:
    return await client.scroll(
        source, limit=_PAGE, offset=offset, with_payload=True, with_vectors=True
    )


def _parts(entries: Sequence[IndexEntry], dimensions: int) -> list[list[IndexEntry]]:
    """Split entries into batches, limited by the number of points and by their size in bytes."""
    parts: list[list[IndexEntry]] = []
    held = 0
    for entry in entries:
        text = entry.record.chunk.text
        weight = dimensions * _NUMBER_BYTES + len(entry.terms.ids) * _TERM_BYTES
        weight += _PAYLOAD_BYTES + 2 * len(text)
        full = held + weight > BYTES_PER_PART or (parts and len(parts[-1]) >= POINTS_PER_PART)
        if not parts or full:
            parts.append([])
            held = 0
        parts[-1].append(entry)
        held += weight
    return parts


def _point(entry: IndexEntry) -> models.PointStruct:
    return models.PointStruct(
        id=str(entry.record.chunk.point_id),
        vector={DENSE: entry.vector.tolist(), LEXICAL: sparse_vector(entry.terms)},
        payload=to_payload(entry.record),
    )


def _copied(record: models.Record) -> models.PointStruct:
    if not isinstance(record.vector, dict):
        raise StoreChanged(f"the point {record.id} has no vectors to copy; use --rebuild")
    return models.PointStruct(
        id=record.id, vector=dict(record.vector), payload=record.payload or {}
    )
