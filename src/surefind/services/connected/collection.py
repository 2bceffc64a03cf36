"""A collection that something else filled, seen as one generation of ours: never written to."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from surefind.errors import InputError, StoreError, SurefindError
from surefind.mapping.records import record_of, text_in
from surefind.model import (
    ChunkerSettings,
    ChunkRecord,
    CollectionFacts,
    Connection,
    Distance,
    EmbedderFingerprint,
    LexicalSettings,
    Manifest,
    Ranking,
    Role,
    point_label,
)
from surefind.ports import (
    DenseQuery,
    Embedder,
    ForeignCollection,
    Matrix,
    PointFields,
    SparseQuery,
)
from surefind.services.connected.filters import alternatives, house_fields
from surefind.services.connected.model_identity import ModelVerdict, identify
from surefind.services.connected.sampling import sample

_log = logging.getLogger(__name__)
GENERATION = 1
LOOK_AGAIN_S = 30.0
_LOOKED_AT = 32


class ConnectedCollection:
    """What the index and the catalog of one such collection share: its facts, and its manifest."""

    def __init__(
        self,
        connection: Connection,
        foreign: ForeignCollection,
        embedder: Callable[[], Awaitable[Embedder]],
        analyzer: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`embedder` is asked for only where nobody has checked yet who made the vectors."""
        self.connection = connection
        self.foreign = foreign
        self._embedder = embedder
        self._analyzer = analyzer
        self._clock = clock
        self._facts: CollectionFacts | None = None
        self._next_look = 0.0
        self._made_by = connection.embedder

    async def facts(self) -> CollectionFacts:
        """Looked at again every half minute: somebody else may be writing."""
        if self._facts is None or self._clock() >= self._next_look:
            try:
                return await self.fresh_facts()
            except StoreError:
                if self._facts is None:
                    raise
                # What is asked next will fail by itself, or not.
                _log.warning("%s can't be looked at anew", self.connection.collection)
            self._next_look = self._clock() + LOOK_AGAIN_S
        return self._facts

    async def fresh_facts(self) -> CollectionFacts:
        """Asked now, whatever is known."""
        self._facts = await self.foreign.facts()
        self._next_look = self._clock() + LOOK_AGAIN_S
        return self._facts

    async def manifest(self) -> Manifest:
        connection, facts = self.connection, await self.facts()
        self.check_space(facts)
        made_by = await self._checked_embedder(facts)
        return Manifest(
            collection=connection.name,
            number=GENERATION,
            created_at=datetime.now(UTC),
            surefind_version="",
            embedder=made_by,
            chunker=ChunkerSettings(),
            lexical=LexicalSettings(self._analyzer if connection.lexical else "", 1.0),
            sources=(connection.collection,),
            sites=(),
            source_digest="",
            documents=0,
            chunks=facts.points,
            fields=(*connection.fields, *house_fields(connection)),
            connected=connection,
        )

    def check_space(self, facts: CollectionFacts) -> None:
        """StoreError where it no longer has the vectors that it was connected with."""
        wanted = self.connection.space
        if wanted not in facts.vectors:
            found = ", ".join(map(str, facts.vectors)) or "no dense vectors"
            raise StoreError(
                f"collection {self.connection.collection!r} has changed since it was connected: "
                f"it had {wanted}, now it has {found}; run `surefind connect --collection "
                f"{self.connection.collection}` again"
            )

    async def _checked_embedder(self, facts: CollectionFacts) -> EmbedderFingerprint:
        """Also looks whether points still are as the mapping says."""
        connection = self.connection
        mapping = connection.mapping
        if self._made_by is None:
            wanted = PointFields(vector=connection.space.name)
            points = await sample(self.foreign, facts, wanted, _LOOKED_AT)
        else:
            points, _ = await self.foreign.page(None, _LOOKED_AT, PointFields())
        has_text = any(text_in(point.payload, mapping) for point in points)
        if points and mapping.has(Role.TEXT) and not has_text:
            keys = " or ".join(mapping.of(Role.TEXT))
            _log.warning(
                "%s: none of %d points has a text in %s any more; `surefind connect --collection "
                "%s` looks anew",
                connection.name,
                len(points),
                keys,
                connection.collection,
            )
        if self._made_by is not None:
            return self._made_by
        embedder = await self._embedder()
        identity = await identify(points, mapping, connection.space, embedder, facts)
        if identity.verdict is ModelVerdict.OTHER:
            raise InputError(f"collection {connection.name!r}: {identity.reason}")
        if identity.verdict is not ModelVerdict.SAME:
            _log.warning("%s: %s", connection.name, identity.reason)
        self._made_by = identity.embedder
        return self._made_by

    def refuse(self, what: str) -> SurefindError:
        return InputError(
            f"{what}: collection {self.connection.name!r} is connected, something else fills it; "
            "surefind only reads it"
        )


class ConnectedIndex:
    """The dense leg, and the lexical one where the collection has it."""

    def __init__(self, collection: ConnectedCollection, points: int) -> None:
        self._collection = collection
        self._connection = collection.connection
        self._foreign = collection.foreign
        self._points = points

    def number(self, point_id: UUID) -> int:
        return point_id.int

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        return [UUID(int=number) for number in numbers]

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        return await asyncio.gather(*map(self._probed, queries))

    async def _probed(self, query: DenseQuery | SparseQuery) -> Ranking:
        if not query.limit or (isinstance(query, SparseQuery) and not query.terms.ids):
            return Ranking([], [])
        where = alternatives(query.where, self._connection)
        if isinstance(query, SparseQuery):
            found = await self._foreign.nearest(query, self._connection.lexical, where)
            return _ordered(found)
        space = self._connection.space
        found = await self._foreign.nearest(query, space.name, where)
        if self._connection.gives_cosines:
            return _ordered([(point, _cosine(score, space.distance)) for point, score in found])
        ranking = _ordered([(point, _rising(score, space.distance)) for point, score in found])
        return await self._with_cosines(ranking, query)

    async def _with_cosines(self, ranking: Ranking, query: DenseQuery) -> Ranking:
        """The order is the engine's; what is shown as a similarity is the true cosine."""
        points = await self.point_ids(ranking.points)
        rows = await self._units(points)
        cosines = [float(rows[point] @ query.vector) if point in rows else 0.0 for point in points]
        return ranking._replace(cosines=cosines)

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """A point that is gone by now is shown as what is left of it: that it was found."""
        held = await self._foreign.points(point_ids, PointFields())
        records = {one.id: record_of(one.id, one.payload, self._connection) for one in held}
        for point in point_ids:
            if point not in records:
                gone = record_of(point, None, self._connection)
                records[point] = replace(gone, flaws=("it was removed meanwhile",))
        return records

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        rows = await self._units(point_ids)
        missing = [point for point in point_ids if point not in rows]
        if missing:
            raise StoreError(
                f"collection {self._connection.collection!r} has no vector for the point "
                f"{point_label(missing[0])}; it may just have been removed, try again"
            )
        return np.stack([rows[point] for point in point_ids])

    async def _units(self, point_ids: Sequence[UUID]) -> dict[UUID, Matrix]:
        held = await self._foreign.points(
            point_ids, PointFields(payload=False, vector=self._connection.space.name)
        )
        rows: dict[UUID, Matrix] = {}
        for one in held:
            if one.vector is not None:
                wide = one.vector.astype(np.float64)
                length = float(np.linalg.norm(wide))
                rows[one.id] = (wide / length if length else wide).astype(np.float32)
        return rows

    async def count(self) -> int:
        """As many as there were when it was opened. The store is asked, so that it can fail."""
        await self._collection.fresh_facts()
        return self._points

    async def indexed(self) -> int:
        return (await self._collection.facts()).approximated

    async def close(self) -> None:
        """The connection to the store is shared, and closed with the application."""


def _cosine(score: float, distance: Distance) -> float:
    """Between vectors of length 1, the square of their distance tells the angle."""
    return 1.0 - score * score / 2.0 if distance is Distance.EUCLID else score


def _rising(score: float, distance: Distance) -> float:
    """Best is highest; a distance is best when it is least."""
    return -score if distance in {Distance.EUCLID, Distance.MANHATTAN} else score


def _ordered(found: Sequence[tuple[UUID, float]]) -> Ranking:
    numbered = ((point.int, score) for point, score in found)
    pairs = sorted(numbered, key=lambda pair: (-pair[1], pair[0]))
    return Ranking([point for point, _ in pairs], [score for _, score in pairs])
