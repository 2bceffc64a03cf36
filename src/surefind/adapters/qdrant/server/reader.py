"""One generation in a Qdrant server, open for reading. All legs of a search are one round trip."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Literal
from uuid import UUID

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from surefind.adapters.qdrant.conditions import Bounds, KeyTest, excludes, key_tests
from surefind.adapters.qdrant.payload import from_payload
from surefind.adapters.qdrant.points import (
    DENSE,
    LEXICAL,
    finds_nothing,
    point_uuid,
    ranked,
    received,
    reproducible,
)
from surefind.adapters.qdrant.server.calls import QdrantServer
from surefind.adapters.qdrant.server.schema import CollectionShape, indexed_vectors
from surefind.adapters.qdrant.server.term_statistics import TermStatistics
from surefind.errors import StoreChanged, StoreError
from surefind.model import ChunkRecord, Ranking, SparseVector
from surefind.ports import DenseQuery, Matrix, SparseQuery

ReadConsistency = Literal["majority", "quorum", "all"] | int
"""How many replicas answer a read, and how many of them must agree."""

_AT_ONCE = 1000
_NOTHING = Ranking([], [])


class QdrantIndex:
    def __init__(
        self,
        server: QdrantServer,
        name: str,
        dimensions: int,
        shape: CollectionShape,
        *,
        consistency: ReadConsistency | None,
        statistics: TermStatistics | None,
    ) -> None:
        """`statistics` of the terms if the server does not weigh them by their rarity."""
        self._server = server
        self._name = name
        self._dimensions = dimensions
        self._shape = shape
        self._statistics = statistics
        self._consistency = (
            models.ReadConsistencyType(consistency) if isinstance(consistency, str) else consistency
        )

    def number(self, point_id: UUID) -> int:
        return point_id.int

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        return [UUID(int=number) for number in numbers]

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        runnable = [
            number for number, leg_query in enumerate(queries) if not finds_nothing(leg_query)
        ]
        answers = [_NOTHING] * len(queries)
        if not runnable:
            return answers
        requests = [self._request(queries[number]) for number in runnable]
        found = await self._server.read(
            lambda client: client.query_batch_points(
                self._name, requests, self._consistency, timeout=self._server.timeout_s
            ),
            self._name,
        )
        if len(found) != len(runnable):
            raise StoreError(
                f"{self._server.name} answered {len(found)} of {len(runnable)} queries; try again"
            )
        for number, response in zip(runnable, found, strict=True):
            scores = [point.score for point in response.points]
            answers[number] = ranked(
                [self.number(point_uuid(point.id)) for point in response.points],
                reproducible(received(scores))
                if isinstance(queries[number], SparseQuery)
                else scores,
            )
        return answers

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        records = await self._retrieved(point_ids, with_payload=True)
        return {point_uuid(record.id): from_payload(record.payload or {}) for record in records}

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        records = await self._retrieved(point_ids, with_payload=False)
        rows = {
            point_uuid(record.id): record.vector[DENSE]
            for record in records
            if isinstance(record.vector, dict) and DENSE in record.vector
        }
        missing = [point_id for point_id in point_ids if point_id not in rows]
        if missing:
            raise StoreChanged(
                f"the collection {self._name} of {self._server.name} has no point {missing[0]}; "
                "run `surefind ingest --rebuild` to build a new one"
            )
        return np.array([rows[point_id] for point_id in point_ids], dtype=np.float32)

    async def count(self) -> int:
        answer = await self._server.read(
            lambda client: client.count(self._name, exact=True, timeout=self._server.timeout_s),
            self._name,
        )
        return answer.count

    async def indexed(self) -> int:
        info = await self._server.read(lambda client: client.get_collection(self._name), self._name)
        return indexed_vectors(info)

    async def close(self) -> None:
        """Nothing to close: the store owns the connection."""

    async def _retrieved(
        self, point_ids: Sequence[UUID], *, with_payload: bool
    ) -> list[models.Record]:
        """Points with either the payload or the vector."""
        found: list[models.Record] = []
        for start in range(0, len(point_ids), _AT_ONCE):
            found += await self._server.read(
                partial(
                    AsyncQdrantClient.retrieve,
                    collection_name=self._name,
                    ids=[str(point_id) for point_id in point_ids[start : start + _AT_ONCE]],
                    with_payload=with_payload,
                    with_vectors=False if with_payload else [DENSE],
                    consistency=self._consistency,
                    timeout=self._server.timeout_s,
                ),
                self._name,
            )
        return found

    def _request(self, leg_query: DenseQuery | SparseQuery) -> models.QueryRequest:
        if isinstance(leg_query, SparseQuery):
            terms, statistics = leg_query.terms, self._statistics
            weighted = terms if statistics is None else statistics.weighted(terms)
            query, using = sparse_vector(weighted), LEXICAL
            params = _EXACT if leg_query.restrict_to is not None else None
        else:
            if leg_query.vector.shape != (self._dimensions,):
                raise StoreError(
                    f"the query vector has {leg_query.vector.shape[0]} numbers, but the collection "
                    f"{self._name} of {self._server.name} has {self._dimensions} dimensions: it "
                    "was built with another model; configure that one, or use --rebuild"
                )
            query, using = leg_query.vector.tolist(), DENSE
            params = (
                _EXACT
                if leg_query.exact or leg_query.restrict_to is not None
                else self._approximate
            )
        return models.QueryRequest(
            query=query,
            using=using,
            limit=leg_query.limit,
            filter=_filter(leg_query),
            params=params,
            with_payload=False,
            with_vector=False,
        )

    @property
    def _approximate(self) -> models.SearchParams | None:
        searching = self._shape.searching
        return None if searching is None else models.SearchParams(quantization=searching)


_EXACT = models.SearchParams(exact=True, quantization=models.QuantizationSearchParams(ignore=True))


def sparse_vector(terms: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(terms.ids), values=list(terms.weights))


def _filter(leg_query: DenseQuery | SparseQuery) -> models.Filter | None:
    must: list[models.Condition] = []
    if leg_query.restrict_to is not None:
        must.append(
            models.HasIdCondition(
                has_id=[str(UUID(int=number)) for number in leg_query.restrict_to]
            )
        )
    must_not: list[models.Condition] = []
    for condition in leg_query.where:
        holds = models.Filter(should=[_test(test) for test in key_tests(condition)])
        (must_not if excludes(condition) else must).append(holds)
    if not must and not must_not:
        return None
    return models.Filter(must=must or None, must_not=must_not or None)


def _test(test: KeyTest) -> models.FieldCondition:
    if not isinstance(test.test, Bounds):
        match = models.MatchAny(any=list(test.test))
        return models.FieldCondition(key=test.key, match=match)
    bounds = {name: bound for name, bound in asdict(test.test).items() if bound is not None}
    between = models.DatetimeRange(**bounds) if test.test.dated else models.Range(**bounds)
    return models.FieldCondition(key=test.key, range=between)
