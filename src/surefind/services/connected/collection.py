"""A collection that another program filled, presented as a single generation."""

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
from surefind.services.connected.filters import alternatives, mapped_fields
from surefind.services.connected.model_identity import ModelVerdict, identify
from surefind.services.connected.sampling import sample

_log = logging.getLogger(__name__)
GENERATION = 1
REFRESH_S = 30.0
_SAMPLE = 32


class ConnectedCollection:
    """What the index and the catalog of a connected collection share: its facts and manifest."""

    def __init__(
        self,
        connection: Connection,
        foreign: ForeignCollection,
        embedder: Callable[[], Awaitable[Embedder]],
        analyzer: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`embedder` is opened only if the model that made the vectors is not known yet."""
        self.connection = connection
        self.foreign = foreign
        self._embedder = embedder
        self._analyzer = analyzer
        self._clock = clock
        self._facts: CollectionFacts | None = None
        self._next_refresh = 0.0
        self._made_by = connection.embedder

    async def facts(self) -> CollectionFacts:
        """Refreshed every half minute, because another program may be writing."""
        if self._facts is None or self._clock() >= self._next_refresh:
            try:
                return await self.fresh_facts()
            except StoreError:
                if self._facts is None:
                    raise
                # The next request shows whether the store still answers.
                _log.warning("%s: the facts could not be refreshed", self.connection.collection)
            self._next_refresh = self._clock() + REFRESH_S
        return self._facts

    async def fresh_facts(self) -> CollectionFacts:
        self._facts = await self.foreign.facts()
        self._next_refresh = self._clock() + REFRESH_S
        return self._facts

    async def manifest(self) -> Manifest:
        connection, facts = self.connection, await self.facts()
        self.check_space(facts)
        made_by = await self._verified_embedder(facts)
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
            fields=(*connection.fields, *mapped_fields(connection)),
            connected=connection,
        )

    def check_space(self, facts: CollectionFacts) -> None:
        """Raises StoreError if it no longer has the vectors that it was connected with."""
        space = self.connection.space
        if space not in facts.vectors:
            found = ", ".join(map(str, facts.vectors)) or "no dense vectors"
            raise StoreError(
                f"collection {self.connection.collection!r} has changed since it was connected: "
                f"it had {space}, now it has {found}; run `surefind connect --collection "
                f"{self.connection.collection}` again"
            )

    async def _verified_embedder(self, facts: CollectionFacts) -> EmbedderFingerprint:
        """The embedder that made the vectors. Warns if the sampled points have no mapped text."""
        connection = self.connection
        mapping = connection.mapping
        if self._made_by is None:
            fields = PointFields(vector=connection.space.name)
            points = await sample(self.foreign, facts, fields, _SAMPLE)
        else:
            points, _ = await self.foreign.page(None, _SAMPLE, PointFields())
        has_text = any(text_in(point.payload, mapping) for point in points)
        if points and mapping.has(Role.TEXT) and not has_text:
            keys = " or ".join(mapping.of(Role.TEXT))
            _log.warning(
                "%s: none of %d points has a text in %s any more; run `surefind connect "
                "--collection %s` again",
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

    def refuse(self, operation: str) -> SurefindError:
        return InputError(
            f"{operation}: collection {self.connection.name!r} is connected: another program fills "
            "it, and surefind only reads it"
        )


class ConnectedIndex:
    """Dense search, and lexical search if the collection has a suitable sparse vector."""

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
        return await asyncio.gather(*map(self._search, queries))

    async def _search(self, query: DenseQuery | SparseQuery) -> Ranking:
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
        ranking = _ordered(
            [(point, _higher_is_better(score, space.distance)) for point, score in found]
        )
        return await self._with_cosines(ranking, query)

    async def _with_cosines(self, ranking: Ranking, query: DenseQuery) -> Ranking:
        """Keeps Qdrant's order, and adds the true cosines as similarities."""
        points = await self.point_ids(ranking.points)
        rows = await self._units(points)
        cosines = [float(rows[point] @ query.vector) if point in rows else 0.0 for point in points]
        return ranking._replace(cosines=cosines)

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """A point that was removed since the search gets a record that says so."""
        held = await self._foreign.points(point_ids, PointFields())
        records = {point.id: record_of(point.id, point.payload, self._connection) for point in held}
        for point_id in point_ids:
            if point_id not in records:
                removed = record_of(point_id, None, self._connection)
                records[point_id] = replace(removed, flaws=("it was removed during the search",))
        return records

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        rows = await self._units(point_ids)
        missing = [point for point in point_ids if point not in rows]
        if missing:
            raise StoreError(
                f"collection {self._connection.collection!r} has no vector for the point "
                f"{point_label(missing[0])}; it may just have been removed: try again"
            )
        return np.stack([rows[point] for point in point_ids])

    async def _units(self, point_ids: Sequence[UUID]) -> dict[UUID, Matrix]:
        held = await self._foreign.points(
            point_ids, PointFields(payload=False, vector=self._connection.space.name)
        )
        rows: dict[UUID, Matrix] = {}
        for point in held:
            if point.vector is not None:
                wide = point.vector.astype(np.float64)
                length = float(np.linalg.norm(wide))
                rows[point.id] = (wide / length if length else wide).astype(np.float32)
        return rows

    async def count(self) -> int:
        """The count when it was opened; calls the store, so that it fails if the store is down."""
        await self._collection.fresh_facts()
        return self._points

    async def indexed(self) -> int:
        return (await self._collection.facts()).approximated

    async def close(self) -> None:
        """Nothing to do: the store is shared, and closed with the application."""


def _cosine(score: float, distance: Distance) -> float:
    """For vectors of length 1, the cosine is 1 - distance² / 2."""
    return 1.0 - score * score / 2.0 if distance is Distance.EUCLID else score


def _higher_is_better(score: float, distance: Distance) -> float:
    """Negates distances, of which the lowest is best."""
    return -score if distance in {Distance.EUCLID, Distance.MANHATTAN} else score


def _ordered(found: Sequence[tuple[UUID, float]]) -> Ranking:
    numbered = ((point.int, score) for point, score in found)
    pairs = sorted(numbered, key=lambda pair: (-pair[1], pair[0]))
    return Ranking([point for point, _ in pairs], [score for _, score in pairs])
