"""Measures the recall of the approximate index against exact search.

Filters make a graph harder to search, so recall is measured without filters, with those of the
tests, and with increasingly selective ones derived from the collection.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.evaluation.measures.index_recall import (
    IndexRecall,
    QueryRecall,
    RecallUnder,
    recall_at,
    recall_under,
)
from surefind.model import AnyOf, Attribute, ChunkRecord, Condition, Mode, Query, Under
from surefind.model.filters import path_prefixes
from surefind.ports import Catalog, DenseQuery, Vector
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.filters import checked, describe, read_expressions
from surefind.services.search.ranking.depth import depth_for
from surefind.services.search.search import Searcher

MOST_QUERIES = 200
_SHARES = (0.5, 0.1, 0.02, 0.005)
_NEAR_ENOUGH = 3.0
_MOST_VALUES = 20_000
_OWN = "the tests' own filters"


@dataclass(frozen=True, slots=True)
class _RecallQuery:
    test: GoldenTest
    vector: Vector
    where: tuple[Condition, ...]


class RecallMeter:
    def __init__(self, searcher: Searcher, generation: OpenGeneration, k: int) -> None:
        self._searcher = searcher
        self._generation = generation
        self._k = k
        self._depth = depth_for(k)

    async def measure(self, tests: Sequence[GoldenTest]) -> IndexRecall:
        index = self._generation.index
        points, indexed = await index.count(), await index.indexed()
        result = IndexRecall(self._k, self._depth, points, indexed, exercised=indexed > 0)
        if not result.exercised or not tests:
            return result
        queries = [one for test in _evenly(tests) if (one := await self._encoded(test)) is not None]
        under = [await self._under("", 1.0, [replace(one, where=()) for one in queries])]
        own = [one for one in queries if one.where]
        if own:
            under.append(await self._under(_OWN, None, own))
        for condition, share in await self._suggested(points):
            filtered = [replace(one, where=(condition,)) for one in queries]
            under.append(await self._under(describe(condition), share, filtered))
        return replace(result, under=tuple(one for one in under if one.queries))

    async def _encoded(self, test: GoldenTest) -> _RecallQuery | None:
        """The encoded query, or None for an invalid one, which its test already reports."""
        manifest = self._generation.manifest
        query = Query(test.query_text, mode=Mode.DENSE, collection=manifest.collection)
        try:
            where = checked(read_expressions(test.where), manifest.fields)
            encoded = await self._searcher.encode(query, {query.collection: self._generation})
        except InputError:
            return None
        return None if encoded.vector is None else _RecallQuery(test, encoded.vector, where)

    async def _under(
        self, condition: str, share: float | None, queries: Sequence[_RecallQuery]
    ) -> RecallUnder:
        recalls = []
        for one in queries:
            leg_query = DenseQuery(one.vector, self._depth, where=one.where)
            found, exact = await self._generation.index.search(
                [leg_query, leg_query._replace(exact=True)]
            )
            recall = recall_at(self._k, exact, found)
            if recall is not None:
                recalls.append(QueryRecall(one.test.test_id, one.test.query_text, recall))
            await asyncio.sleep(0)  # a scan blocks the loop: let a stop request through
        return recall_under(condition, share, recalls)

    async def _suggested(self, points: int) -> list[tuple[Condition, float]]:
        return suggested(await _counted(self._generation.require_catalog()), points)


def suggested(counts: Counter[Condition], points: int) -> list[tuple[Condition, float]]:
    """A condition for each target share that keeps about that share of the chunks."""
    chosen: dict[Condition, float] = {}
    shares = {one: count / points for one, count in counts.items() if count < points}
    for target in _SHARES:
        free = [one for one in shares if one not in chosen]
        if free:
            best = min(free, key=lambda one: (_distance(shares[one], target), describe(one)))
            if _distance(shares[best], target) <= math.log(_NEAR_ENOUGH):
                chosen[best] = shares[best]
    return list(chosen.items())


async def _counted(catalog: Catalog) -> Counter[Condition]:
    """How many chunks meet each possible condition."""
    counts: Counter[Condition] = Counter()
    async for record in catalog.chunks():
        for condition in _conditions(record):
            if condition in counts or len(counts) < _MOST_VALUES:
                counts[condition] += 1
    return counts


def _conditions(record: ChunkRecord) -> Iterator[Condition]:
    for folder in path_prefixes(record.chunk.source_path):
        yield Under("source_path", folder)
    yield AnyOf("content_type", (record.chunk.content_type,))
    for key, value in (("version", record.version), ("locale", record.locale)):
        if value:
            yield AnyOf(key, (value,))
    for key, attribute in record.attributes.items():
        for scalar in _scalars(attribute):
            yield AnyOf(key, (scalar,))


def _scalars(attribute: Attribute) -> tuple[str | int | float | bool, ...]:
    values = attribute if isinstance(attribute, tuple) else (attribute,)
    return tuple(dict.fromkeys(values))


def _distance(share: float, target: float) -> float:
    return abs(math.log(share / target))


def _evenly(tests: Sequence[GoldenTest]) -> Sequence[GoldenTest]:
    if len(tests) <= MOST_QUERIES:
        return tests
    return [tests[number * len(tests) // MOST_QUERIES] for number in range(MOST_QUERIES)]
