"""Nothing is embedded twice."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from support.fakes import MemoryCache, WordEmbedder
from surefind.errors import EmbeddingError
from surefind.ports import EmbeddedQuery, Vector
from surefind.services.encoding.cached_embedder import CachedEmbedder, LazyModel


async def test_a_passage_is_embedded_once_across_calls_and_runs() -> None:
    inner, cache = WordEmbedder(), MemoryCache()
    first = CachedEmbedder(inner, cache)
    rows = await first.embed_passages(["a", "b", "a"])
    assert inner.passages == ["a", "b"]
    assert (first.embedded, first.reused) == (2, 1)
    second = CachedEmbedder(inner, cache)
    again = await second.embed_passages(["b", "c", "a"])
    assert inner.passages == ["a", "b", "c"]
    assert (second.embedded, second.reused) == (1, 2)
    assert np.array_equal(again[[2, 0]], rows[[0, 1]])


async def test_another_model_shares_nothing() -> None:
    cache, other = MemoryCache(), WordEmbedder(weights="words-2")
    await CachedEmbedder(WordEmbedder(), cache).embed_passages(["a"])
    await CachedEmbedder(other, cache).embed_passages(["a"])
    assert other.passages == ["a"]


async def test_what_was_embedded_before_a_failure_is_kept() -> None:
    inner, cache = WordEmbedder(), MemoryCache()
    embedder = CachedEmbedder(inner, cache)
    await embedder.embed_passages(["a"])
    inner.fail_at = 2
    with pytest.raises(EmbeddingError):
        await embedder.embed_passages(["a", "b"])
    await embedder.embed_passages(["a", "b"])
    assert inner.passages == ["a", "b"]


async def test_a_cache_may_come_later() -> None:
    inner, cache = WordEmbedder(), MemoryCache()
    embedder = CachedEmbedder(inner, None)
    await embedder.embed_query("a question first")
    assert not embedder.has_cache
    embedder.keep_in(cache)
    await embedder.embed_passages(["a"])
    await CachedEmbedder(inner, cache).embed_passages(["a"])
    assert (inner.passages, embedder.has_cache) == (["a"], True)


async def test_without_a_cache_everything_is_embedded() -> None:
    inner = WordEmbedder()
    embedder = CachedEmbedder(inner, None)
    await embedder.embed_passages(["a"])
    await embedder.embed_passages(["a"])
    assert inner.passages == ["a", "a"]
    await embedder.close()


async def test_the_last_queries_are_remembered_and_no_more() -> None:
    embedder = CachedEmbedder(WordEmbedder(), max_queries=2)
    first = await embedder.embed_query("one")
    await embedder.embed_query("two")
    assert await embedder.embed_query("one") is first
    await embedder.embed_query("three")  # pushes out "two", which was asked longest ago
    assert await embedder.embed_query("one") is first
    assert list(embedder._queries) == ["three", "one"]


class Grouped(WordEmbedder):
    """Notes the groups that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[str]] = []

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        self.groups.append(list(queries))
        return [EmbeddedQuery(await self.embed_query(query), 5.0) for query in queries]


class Slow(WordEmbedder):
    """It answers when it is let, or fails if it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.go = asyncio.Event()
        self.broken = False

    async def embed_query(self, query: str) -> Vector:
        self.asked += 1
        await self.go.wait()
        if self.broken:
            raise EmbeddingError("as it was told to")
        return await super().embed_query(query)


async def test_a_query_that_many_ask_at_once_is_embedded_once() -> None:
    slow = Slow()
    cached = CachedEmbedder(slow, None)
    callers = [asyncio.ensure_future(cached.embed_query("cats")) for _ in range(5)]
    await asyncio.sleep(0)
    callers[0].cancel()  # the one who asked first gives up; the others still wait
    slow.go.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    expected = await WordEmbedder().embed_query("cats")
    assert all(np.array_equal(np.asarray(answer), expected) for answer in answers[1:])
    assert slow.asked == 1


async def test_a_query_that_all_gave_up_is_answered_and_remembered() -> None:
    slow = Slow()
    cached = CachedEmbedder(slow, None)
    caller = asyncio.ensure_future(cached.embed_query("cats"))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait([caller])
    slow.go.set()
    await asyncio.sleep(0)
    await cached.embed_query("cats")
    assert (slow.asked, cached.query_misses, cached.query_hits) == (1, 1, 1)


async def test_who_waits_is_not_left_waiting_where_the_embedder_gives_up() -> None:
    class Closing(Slow):
        async def embed_query(self, query: str) -> Vector:
            await super().embed_query(query)
            raise asyncio.CancelledError

    closing = Closing()
    cached = CachedEmbedder(closing, None)
    callers = [asyncio.ensure_future(cached.embed_query("cats")) for _ in range(3)]
    await asyncio.sleep(0)
    closing.go.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)


async def test_a_query_that_failed_is_asked_again() -> None:
    slow = Slow()
    slow.broken = True
    slow.go.set()
    cached = CachedEmbedder(slow, None)
    failures = await asyncio.gather(
        *(cached.embed_query("cats") for _ in range(3)), return_exceptions=True
    )
    assert all(isinstance(failure, EmbeddingError) for failure in failures)
    slow.broken = False
    assert (await cached.embed_query("cats")).shape == (32,)
    assert slow.asked == 2


# --- groups of questions ----------------------------------------------------------------------


async def test_what_is_remembered_of_a_group_is_not_embedded_again() -> None:
    inner = Grouped()
    cached = CachedEmbedder(inner, None)
    await cached.embed_query("one")
    told = await cached.embed_queries(["one", "two", "two", "three"])
    assert inner.groups == [["two", "three"]]
    assert [one.took_ms for one in told] == [0.0, 5.0, 5.0, 5.0]
    assert (cached.query_hits, cached.query_misses) == (2, 3)
    await cached.embed_query("three")
    await cached.embed_queries(["one", "two"])
    assert len(inner.groups) == 1


async def test_what_a_group_asks_for_outlives_what_it_brings() -> None:
    inner = Grouped()
    cached = CachedEmbedder(inner, max_queries=3)
    await cached.embed_queries(["one", "two", "three"])
    await cached.embed_queries(["one", "two", "four"])
    await cached.embed_queries(["one", "two", "four"])
    assert inner.groups == [["one", "two", "three"], ["four"]]


async def test_a_lazy_model_is_loaded_once_for_the_first_text_that_is_not_cached() -> None:
    loaded: list[Grouped] = []

    async def load() -> Grouped:
        loaded.append(Grouped())
        await asyncio.sleep(0)
        return loaded[-1]

    cached = CachedEmbedder(LazyModel(Grouped().fingerprint, 16, load))
    assert (cached.fingerprint, cached.batch_size, loaded) == (Grouped().fingerprint, 16, [])
    await cached.close()
    await asyncio.gather(cached.embed_queries(["one", "two"]), cached.embed_query("three"))
    await cached.embed_query("one")
    assert [embedder.groups for embedder in loaded] == [[["one", "two"]]]
    assert cached.max_tokens == loaded[0].max_tokens


async def test_a_model_that_could_not_be_loaded_is_loaded_again_for_the_next_query() -> None:
    tries = 0

    async def load() -> WordEmbedder:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise EmbeddingError("no model")
        return WordEmbedder()

    cached = CachedEmbedder(LazyModel(WordEmbedder().fingerprint, 16, load))
    with pytest.raises(EmbeddingError, match="no model"):
        await cached.embed_query("cats")
    assert (await cached.embed_query("cats")).shape == (32,)
    assert tries == 2
