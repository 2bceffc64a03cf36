"""One generation in a Qdrant server while it is built.

What is written goes out in parts, several at a time, while the caller makes the next ones ready;
so a failure may be told by a later call. The graph is built when all is there, and what an earlier
generation has is taken over at the end, without what was replaced or removed: the server's word
statistics go on counting points that were deleted.
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
from surefind.adapters.qdrant.server.calls import Call, QdrantServer, RequireWriter, asking
from surefind.adapters.qdrant.server.reader import sparse_vector
from surefind.adapters.qdrant.server.schema import (
    MAX_FRONT_MATTER_INDEXES,
    CollectionShape,
    front_matter_indexes,
    index_params,
    indexed_vectors,
    is_sound,
    own_indexes,
)
from surefind.errors import StoreChanged, StoreError, StoreUnreachable
from surefind.ports import IndexEntry, Notify

T = TypeVar("T")

AT_ONCE = 4
"""Parts under way: Qdrant's own advice is two to four."""
POINTS_PER_PART = 256
BYTES_PER_PART = 4 * 2**20
_NUMBER_BYTES = 21  # of a vector's number, as text
_TERM_BYTES = 32
_PAYLOAD_BYTES = 1500
_PAGE = POINTS_PER_PART
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0
_TELL_EVERY_S = 15.0
_LEAVING_S = 2.0


class QdrantIndexWriter:
    def __init__(  # noqa: PLR0913 - what one build goes by
        self,
        server: QdrantServer,
        name: str,
        dimensions: int,
        shape: CollectionShape,
        *,
        copy_of: str | None,
        indexes: Iterable[str],
        indexing_timeout_s: float,
        notify: Notify,
        guard: RequireWriter,
    ) -> None:
        """`guard` raises where the writer's lock was lost: another run may be writing to the same
        collection by then, so it is asked before every change.
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
        self._notify = notify
        self._guard = guard
        self._under_way: dict[asyncio.Task[None], frozenset[UUID]] = {}
        self._not_copied: set[UUID] = set()

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            check_vector(entry.vector, self._dimensions, entry.record.chunk.id)
        for entry in entries:
            await self._index_front_matter(entry)
        for part in _parts(entries, self._dimensions):
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
        counted = await self._server.write(
            lambda client: client.count(self._name, exact=True), self._name
        )
        return counted.count

    async def abandon(self) -> None:
        """What is under way may end: cut off, it might arrive after what the next writer sends."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LEAVING_S)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._under_way.clear()

    # --- parts --------------------------------------------------------------------------------

    async def _send(self, points: list[models.PointStruct]) -> None:
        """Two versions of one point never travel together: the later one has to win."""
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
        return await self._server.write(asking(self._guard, call), self._name)

    async def _settle(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way)
        self._collect()

    def _collect(self) -> None:
        done = [task for task in self._under_way if task.done()]
        for task in done:
            del self._under_way[task]
        failed = [error for task in done if (error := task.exception()) is not None]
        if failed:  # the others mostly tell the same
            raise failed[0]

    async def _index_front_matter(self, entry: IndexEntry) -> None:
        """As its keys appear; a site that has more of them than there is room is told so once."""
        for key, kind in front_matter_indexes(entry.record.attributes).items():
            if key in self._indexes:
                continue
            self._indexes.add(key)
            self._room_for_indexes -= 1
            if self._room_for_indexes == -1:
                self._notify(
                    f"the front matter has more than {MAX_FRONT_MATTER_INDEXES} keys: the others "
                    "can be filtered by, but have no index in the Qdrant server"
                )
            if self._room_for_indexes >= 0:
                await create_index(self._server, self._name, key, kind, self._shape)

    # --- the end ------------------------------------------------------------------------------

    async def _copy(self, source: str) -> None:
        """Page by page, the next one read while the one before is written."""
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._server.write(
                partial(_page, source=source, offset=offset), source
            )
            kept = [record for record in records if point_uuid(record.id) not in self._not_copied]
            if kept:
                await self._send([_copied(record) for record in kept])
            if offset is None:
                return

    async def _until_indexed(self) -> None:
        """Until the server says so twice: it may not have begun when it is first asked."""
        began = told = time.monotonic()
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
                    "give the server more to work with, and run it again"
                )
            if info.status == models.CollectionStatus.GREY:  # it waits for a word to begin
                await self._server.write(
                    lambda client: client.update_collection(
                        self._name, optimizers_config=models.OptimizersConfigDiff()
                    ),
                    self._name,
                )
            if now - told > _TELL_EVERY_S:
                told = now
                self._notify(
                    f"{self._server.name} is indexing {self._name}: "
                    f"{indexed_vectors(info)} of {info.points_count or 0} vectors"
                )
            await asyncio.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 1.5)

    def _is_done(self, info: models.CollectionInfo) -> bool:
        if not is_sound(info):
            reason = getattr(info.optimizer_status, "error", "it does not say why")
            raise StoreError(
                f"{self._server.name} could not index {self._name}: {reason}; see its log and its "
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
    """None too large: by the number of points, and by what they will weigh on the wire."""
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
        raise StoreChanged(f"the point {record.id} has no vectors to take over; use --rebuild")
    return models.PointStruct(
        id=record.id, vector=dict(record.vector), payload=record.payload or {}
    )
