"""What a run that died has left of a generation in a Qdrant server, and going on with it.

A point is atomic: it is there with its vectors and its payload, or it is not. By which model and
which rules the vectors and terms were made stands in the collection's mark, and decides before any
of this; so of a point that is there, its payload says whether it is the one to be written.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from uuid import UUID

from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.points import point_uuid
from surefind.adapters.qdrant.server.calls import QdrantServer, RequireWriter, asking

_IDS_AT_ONCE = 10_000
_DELETED_AT_ONCE = 1000


class LeftoverPoints:
    """The points of a collection that was begun earlier, against those that belong there."""

    def __init__(self, server: QdrantServer, name: str, guard: RequireWriter) -> None:
        """`guard` raises where all of this may be another writer's by now."""
        self._server = server
        self._name = name
        self._guard = guard
        self._belonging: set[UUID] = set()

    def belong(self, point_ids: Iterable[UUID]) -> None:
        self._belonging.update(point_ids)

    def gone(self, point_ids: Iterable[UUID]) -> None:
        self._belonging.difference_update(point_ids)

    async def missing(self, points: Sequence[models.PointStruct]) -> list[models.PointStruct]:
        """Those that are not there, or not as they should be."""
        held = await self._server.write(
            lambda client: client.retrieve(
                self._name, [point.id for point in points], with_payload=True, with_vectors=False
            ),
            self._name,
        )
        payloads = {point_uuid(record.id): record.payload for record in held}
        return [point for point in points if payloads.get(point_uuid(point.id)) != point.payload]

    async def remove_others(self) -> None:
        """All that belongs is there by now; where as many are there, nothing else is."""
        counted = await self._server.write(
            lambda client: client.count(self._name, exact=True), self._name
        )
        if counted.count == len(self._belonging):
            return
        others = await self._others()
        for start in range(0, len(others), _DELETED_AT_ONCE):
            part = models.PointIdsList(points=others[start : start + _DELETED_AT_ONCE])
            await self._server.write(asking(self._guard, partial(self._delete, part)), self._name)

    async def _others(self) -> list[models.ExtendedPointId]:
        others: list[models.ExtendedPointId] = []
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._server.write(
                partial(self._page, offset=offset), self._name
            )
            others += [one.id for one in records if point_uuid(one.id) not in self._belonging]
            if offset is None:
                return others

    async def _page(
        self, client: AsyncQdrantClient, offset: models.ExtendedPointId | None
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        return await client.scroll(
            self._name, limit=_IDS_AT_ONCE, offset=offset, with_payload=False, with_vectors=False
        )

    async def _delete(
        self, part: models.PointIdsList, client: AsyncQdrantClient
    ) -> models.UpdateResult:
        return await client.delete(self._name, part, wait=True)
