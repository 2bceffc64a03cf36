"""Read-only access to a Qdrant collection that another program filled."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.points import received, reproducible
from surefind.adapters.qdrant.server.calls import QdrantServer
from surefind.errors import StoreChanged, StoreError, UnknownCollection
from surefind.mapping.paths import parts_of
from surefind.model import (
    AnyOf,
    Between,
    CollectionFacts,
    Condition,
    Distance,
    SparseSpace,
    SparseVector,
    VectorSpace,
    numbered_point,
    point_number,
)
from surefind.ports import Alternatives, DenseQuery, ForeignPoint, PointFields, SparseQuery, Vector

T = TypeVar("T")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_AT_ONCE = 500


class QdrantForeignCollection:
    def __init__(self, server: QdrantServer, name: str) -> None:
        self._server = server
        self._name = name

    async def facts(self) -> CollectionFacts:
        await self._server.version()
        try:
            info = await self._server.read(
                lambda client: client.get_collection(self._name), self._name
            )
        except StoreChanged as error:
            raise UnknownCollection(await self._unknown()) from error
        params = info.config.params
        return CollectionFacts(
            name=self._name,
            points=info.points_count or 0,
            vectors=tuple(_spaces(params.vectors)),
            sparse=tuple(
                SparseSpace(name, idf=sparse.modifier == models.Modifier.IDF)
                for name, sparse in sorted((params.sparse_vectors or {}).items())
            ),
            indexed=tuple(sorted(info.payload_schema or {})),
            approximated=info.indexed_vectors_count or 0,
        )

    async def nearest(
        self, leg_query: DenseQuery | SparseQuery, using: str, where: Alternatives
    ) -> list[tuple[UUID, float]]:
        dense = isinstance(leg_query, DenseQuery)
        exact = leg_query.restrict_to is not None or (
            isinstance(leg_query, DenseQuery) and leg_query.exact
        )
        query: Any = (
            leg_query.vector.tolist()
            if isinstance(leg_query, DenseQuery)
            else models.SparseVector(
                indices=list(leg_query.terms.ids), values=list(leg_query.terms.weights)
            )
        )
        answer = await self._read(
            lambda client: client.query_points(
                self._name,
                query,
                using=using or None,
                limit=leg_query.limit,
                query_filter=_filter(where, leg_query.restrict_to),
                search_params=models.SearchParams(exact=True) if exact and dense else None,
                with_payload=False,
                with_vectors=False,
                timeout=self._server.timeout_s,
            )
        )
        scores = [point.score for point in answer.points]
        points = [_uuid(point.id) for point in answer.points]
        return list(zip(points, scores if dense else reproducible(received(scores)), strict=True))

    async def points(self, ids: Sequence[UUID], wanted: PointFields) -> list[ForeignPoint]:
        found: list[ForeignPoint] = []
        for start in range(0, len(ids), _AT_ONCE):
            part = [_written_id(point) for point in ids[start : start + _AT_ONCE]]
            records = await self._read(
                lambda client, part=part: client.retrieve(  # type: ignore[misc]
                    self._name,
                    part,
                    with_payload=wanted.payload,
                    with_vectors=_vectors(wanted),
                    timeout=self._server.timeout_s,
                )
            )
            found += [_point(record, wanted) for record in records]
        return found

    async def page(
        self,
        after: UUID | None,
        limit: int,
        wanted: PointFields,
        where: Alternatives = (),
    ) -> tuple[list[ForeignPoint], UUID | None]:
        records, following = await self._read(
            lambda client: client.scroll(
                self._name,
                scroll_filter=_filter(where, None),
                limit=limit,
                offset=None if after is None else _written_id(after),
                with_payload=wanted.payload,
                with_vectors=_vectors(wanted),
                timeout=self._server.timeout_s,
            )
        )
        points = [_point(record, wanted) for record in records]
        return points, None if following is None else _uuid(following)

    async def close(self) -> None:
        await self._server.close()

    async def _read(self, call: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        try:
            return await self._server.read(call, self._name)
        except StoreChanged as error:
            raise StoreError(
                f"{self._server.name} no longer has the collection {self._name!r}; run `surefind "
                "connect` to connect another one"
            ) from error

    async def _unknown(self) -> str:
        """An error message with similar names, if the server lists its collections."""
        missing = f"{self._server.name} has no collection {self._name!r}"
        try:
            answer = await self._server.read(lambda client: client.get_collections())
        except StoreError:  # the API key may not permit listing
            return f"{missing}; check its name"
        names = sorted(held.name for held in answer.collections)
        near = difflib.get_close_matches(self._name, names, n=3, cutoff=0.4)
        if near:
            return f"{missing}; did you mean {' or '.join(near)}?"
        listed = ", ".join(names[:20]) + (" …" if len(names) > 20 else "")
        return f"{missing}; existing collections: {listed or 'none'}"


# --- conversion to and from the client's types ------------------------------------------------


def _spaces(
    vectors: models.VectorParams | Mapping[str, models.VectorParams] | None,
) -> list[VectorSpace]:
    if vectors is None:
        return []
    named = {"": vectors} if isinstance(vectors, models.VectorParams) else vectors
    return [
        VectorSpace(
            name,
            params.size,
            Distance(params.distance.value.lower()),
            multivector=params.multivector_config is not None,
        )
        for name, params in sorted(named.items())
    ]


def _vectors(wanted: PointFields) -> bool | list[str]:
    names = [name for name in (wanted.vector, wanted.terms) if name is not None]
    return True if "" in names else names or False


def _point(record: models.Record, wanted: PointFields) -> ForeignPoint:
    held = record.vector
    named: Mapping[str, Any] = held if isinstance(held, dict) else {"": held}
    dense = named.get(wanted.vector) if wanted.vector is not None else None
    sparse = named.get(wanted.terms) if wanted.terms is not None else None
    return ForeignPoint(
        _uuid(record.id), record.payload if wanted.payload else None, _dense(dense), _terms(sparse)
    )


def _dense(held: object) -> Vector | None:
    if not isinstance(held, list) or not held or isinstance(held[0], list):
        return None
    return np.array(held, dtype=np.float32)


def _terms(held: object) -> SparseVector | None:
    if not isinstance(held, models.SparseVector):
        return None
    return SparseVector(tuple(held.indices), tuple(held.values))


def _uuid(point_id: object) -> UUID:
    if isinstance(point_id, int):
        return numbered_point(point_id)
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))


def _written_id(point: UUID) -> int | str:
    number = point_number(point)
    return str(point) if number is None else number


# --- conditions -------------------------------------------------------------------------------


def _filter(where: Alternatives, restrict_to: frozenset[int] | None) -> models.Filter | None:
    must: list[models.Condition] = []
    must_not: list[models.Condition] = []
    if restrict_to is not None:
        must.append(
            models.HasIdCondition(has_id=[_written_id(UUID(int=point)) for point in restrict_to])
        )
    for choices in where:
        tests = [test for condition in choices for test in _tests(condition)]
        excluding = any(isinstance(one, AnyOf) and one.exclude for one in choices)
        if excluding:
            must_not += tests
        else:
            must.append(models.Filter(should=tests))
    if not must and not must_not:
        return None
    return models.Filter(must=must or None, must_not=must_not or None)


def _tests(condition: Condition) -> list[models.Condition]:
    """One test per type of value: the engine matches words, numbers and flags differently."""
    key = ".".join(_written_step(step) for step in parts_of(condition.key))
    if isinstance(condition, Between):
        return [_range(key, condition)]
    if not isinstance(condition, AnyOf):
        raise TypeError(f"{condition!r} can't be translated to a test of a payload key")
    tests: list[models.Condition] = []
    words = [value for value in condition.values if isinstance(value, str)]
    if words:
        tests.append(models.FieldCondition(key=key, match=models.MatchAny(any=words)))
    for value in condition.values:
        if isinstance(value, bool):
            tests.append(models.FieldCondition(key=key, match=models.MatchValue(value=value)))
        elif isinstance(value, int | float):
            same = models.Range(gte=float(value), lte=float(value))
            tests.append(models.FieldCondition(key=key, range=same))
    return tests


def _range(key: str, condition: Between) -> models.FieldCondition:
    bounds: dict[str, Any] = {name: getattr(condition, name) for name in ("gte", "gt", "lte", "lt")}
    if any(isinstance(bound, datetime) for bound in condition.bounds):
        return models.FieldCondition(key=key, range=models.DatetimeRange(**bounds))
    return models.FieldCondition(key=key, range=models.Range(**bounds))


def _written_step(step: str) -> str:
    name, inside = (step[:-2], "[]") if step.endswith("[]") else (step, "")
    return (name if _PLAIN_KEY.fullmatch(name) else f'"{name}"') + inside
