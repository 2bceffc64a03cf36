"""Questions that are known in advance are embedded ahead of their search."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np
import pytest

from support.fakes import WordEmbedder
from surefind.errors import EmbeddingError
from surefind.model import Query, SearchResult, Status, Timings
from surefind.ports import EmbeddedQuery, Vector
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.encoding.prefetch import PrefetchingEmbedder


class Groups(WordEmbedder):
    """Notes how it is asked; answers groups when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.batch_size = 4
        self.groups: list[list[str]] = []
        self.alone: list[str] = []
        self.go = asyncio.Event()
        self.go.set()
        self.error: EmbeddingError | None = None

    async def embed_query(self, query: str) -> Vector:
        self.alone.append(query)
        return self.embed(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        self.groups.append(list(queries))
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return [EmbeddedQuery(self.embed(query), 7.0) for query in queries]


QUERIES = [f"question {number}" for number in range(10)]


def answer(query: str, total_ms: float) -> SearchResult:
    timings = Timings(0.0, 1.0, 0.0, 0.0, total_ms)
    return SearchResult(Query(query), (), Status.NO_RESULTS, None, 1, 0, timings)


async def test_each_is_embedded_once_in_a_group_of_the_embedders_size() -> None:
    inner = Groups()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), [*QUERIES, QUERIES[0]])
    vectors = [await ahead.embed_query(query) for query in QUERIES]
    assert inner.groups == [QUERIES[:4], QUERIES[4:8], QUERIES[8:]]
    assert inner.alone == []
    assert all(
        np.array_equal(one, inner.embed(query)) for one, query in zip(vectors, QUERIES, strict=True)
    )
    await ahead.close()


async def test_nothing_is_embedded_before_the_first_is_asked_and_no_more_than_some_ahead() -> None:
    inner = Groups()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES, ahead=4)
    await asyncio.sleep(0)
    assert inner.groups == []
    await ahead.embed_query(QUERIES[0])
    await asyncio.sleep(0)
    assert len(inner.groups) == 1
    await ahead.embed_query(QUERIES[1])
    await asyncio.sleep(0)
    assert len(inner.groups) == 2
    await ahead.close()


async def test_the_first_group_goes_alone_and_the_others_when_one_has_come() -> None:
    inner = Groups()
    inner.go.clear()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES)
    first = asyncio.ensure_future(ahead.embed_query(QUERIES[0]))
    await asyncio.sleep(0.01)
    assert len(inner.groups) == 1
    inner.go.set()
    await first
    await ahead.embed_query(QUERIES[1])
    await asyncio.sleep(0)
    assert len(inner.groups) == 3
    await ahead.close()


async def test_who_gives_up_leaves_the_group_to_the_others() -> None:
    inner = Groups()
    inner.go.clear()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES)
    first, second = (asyncio.ensure_future(ahead.embed_query(query)) for query in QUERIES[:2])
    await asyncio.sleep(0.01)
    first.cancel()
    inner.go.set()
    assert np.array_equal(await second, inner.embed(QUERIES[1]))
    assert inner.alone == []
    await ahead.close()


async def test_a_group_that_fails_is_asked_one_by_one() -> None:
    inner = Groups()
    inner.error = EmbeddingError("too much at once")
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES[:2])
    for query in QUERIES[:2]:
        assert np.array_equal(await ahead.embed_query(query), inner.embed(query))
    assert (len(inner.groups), inner.alone) == (1, QUERIES[:2])
    await ahead.close()


async def test_a_question_that_was_not_announced_is_embedded_too() -> None:
    inner = Groups()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES)
    await ahead.embed_query("something else")
    assert (inner.groups, inner.alone) == ([], ["something else"])
    assert ahead.fingerprint == inner.fingerprint
    assert ahead.batch_size == inner.batch_size
    assert len(await ahead.embed_queries(["a", "b"])) == 2
    await ahead.close()


@pytest.mark.parametrize(("error", "own_ms"), [(None, 7.0), (EmbeddingError("no"), 0.0)])
async def test_a_latency_has_the_own_embedding_and_not_the_wait_for_the_group(
    error: EmbeddingError | None, own_ms: float
) -> None:
    inner = Groups()
    inner.error = error
    inner.go.clear()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES)
    begun = time.perf_counter()
    asked = asyncio.ensure_future(ahead.embed_query(QUERIES[0]))
    await asyncio.sleep(0.05)
    inner.go.set()
    await asked
    total_ms = (time.perf_counter() - begun) * 1000
    latency_ms = ahead.latency_ms(answer(QUERIES[0], total_ms))
    assert own_ms <= latency_ms <= own_ms + total_ms - 50
    assert ahead.latency_ms(answer("something else", 3.0)) == 3.0
    await ahead.close()


async def test_closing_stops_running_work() -> None:
    inner = Groups()
    inner.go.clear()
    ahead = PrefetchingEmbedder(CachedEmbedder(inner, None), QUERIES)
    waiting = asyncio.ensure_future(ahead.embed_query(QUERIES[0]))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    await ahead.close()
    assert len(inner.groups) == 1
    assert all(group.cancelled() for group in ahead._groups)
