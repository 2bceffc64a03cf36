"""Nothing is embedded twice."""

import numpy as np
import pytest

from fakes import MemoryCache, WordEmbedder
from surefind.errors import EmbeddingError
from surefind.services import embedding
from surefind.services.embedding import CachedEmbedder


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


async def test_the_last_queries_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "QUERIES_KEPT", 2)
    embedder = CachedEmbedder(WordEmbedder(), None)
    first = await embedder.embed_query("one")
    await embedder.embed_query("two")
    assert await embedder.embed_query("one") is first
    await embedder.embed_query("three")  # pushes out "two", which was asked longest ago
    assert await embedder.embed_query("one") is first
    assert list(embedder._queries) == ["three", "one"]
