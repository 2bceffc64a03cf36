"""The circuit breaker: closed, open, half open, and back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.fakes import WordEmbedder
from surefind.errors import EmbeddingError, RerankingError, StoreError
from surefind.model import GenerationRef
from surefind.ports import DenseQuery, IndexStore, Vector
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.encoding.circuit_breaker import (
    RECENT_S,
    BreakingEmbedder,
    BreakingIndexes,
    BreakingReranker,
    Circuit,
    CircuitBreaker,
)
from unit.installation import Installation


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker("the thing", failures=3, pause_s=10, clock=clock)


def circuit(breaker: CircuitBreaker) -> Circuit:
    return breaker.circuit


def fail(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(StoreError, match="broken"), breaker.watching(StoreError):
            raise StoreError("broken")


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.watching(StoreError):
        pass


def test_only_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    succeed(breaker)
    fail(breaker, 2)
    assert circuit(breaker) is Circuit.CLOSED
    fail(breaker)
    assert circuit(breaker) is Circuit.OPEN


def test_while_it_is_open_nothing_is_tried_and_the_caller_learns_for_how_long(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now = 3.5
    with pytest.raises(
        StoreError, match=r"the thing failed 3 times in a row.* 7 s\. Last error: "
    ) as refused:
        succeed(breaker)
    assert refused.value.retry_after_s == 7


def test_after_the_pause_one_call_decides_for_all(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now = 10
    assert circuit(breaker) is Circuit.HALF_OPEN
    with breaker.watching(StoreError):
        with pytest.raises(StoreError, match="retrying in"):
            succeed(breaker)
        assert circuit(breaker) is Circuit.OPEN
    assert circuit(breaker) is Circuit.CLOSED


def test_a_failed_try_begins_another_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now = 11
    fail(breaker)
    assert circuit(breaker) is Circuit.OPEN
    clock.now = 20.9
    assert circuit(breaker) is Circuit.OPEN
    clock.now = 21
    succeed(breaker)
    assert circuit(breaker) is Circuit.CLOSED


def test_a_try_that_is_given_up_leaves_the_decision_to_the_next(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now = 10
    with pytest.raises(asyncio.CancelledError), breaker.watching(StoreError):
        raise asyncio.CancelledError
    assert circuit(breaker) is Circuit.HALF_OPEN
    succeed(breaker)
    assert circuit(breaker) is Circuit.CLOSED


def test_other_errors_say_nothing_about_the_thing(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        with pytest.raises(LookupError), breaker.watching(StoreError):
            raise LookupError
    assert circuit(breaker) is Circuit.CLOSED


class FailingEmbedder(WordEmbedder):
    asked = 0
    down = True

    async def embed_query(self, query: str) -> Vector:
        self.asked += 1
        if self.down:
            raise EmbeddingError("down")
        return await super().embed_query(query)


async def test_an_embedder_that_is_down_is_asked_no_more_but_the_cache_is(clock: Clock) -> None:
    embedder = FailingEmbedder()
    embedder.down = False
    cached = CachedEmbedder(BreakingEmbedder(embedder, CircuitBreaker("it", 3, 10, clock)), None)
    known = await cached.embed_query("known")
    embedder.down = True
    for _ in range(10):
        with pytest.raises(EmbeddingError):
            await cached.embed_query("new")
    assert embedder.asked == 1 + 3
    assert await cached.embed_query("known") is known
    embedder.down = False
    clock.now = 10
    await cached.embed_query("new")
    assert (cached.query_hits, cached.query_misses) == (1, 12)
    assert len(await cached.embed_passages(["a passage"])) == 1
    assert cached.count_tokens("two words") == 2
    assert cached.max_tokens == embedder.max_tokens
    await cached.close()


async def test_a_broken_generation_does_not_keep_the_next_one_away(
    tmp_path: Path, clock: Clock
) -> None:
    installation = Installation(tmp_path / "data")
    await installation.ingest({"a.md": "# A\n\nsome words"})
    store = behind_a_breaker(installation.index, clock)
    missing, there = GenerationRef("docs", 7), GenerationRef("docs", 1)
    for _ in range(2):
        with pytest.raises(StoreError):
            await store.open(missing)
    with pytest.raises(StoreError, match="retrying in"):
        await store.open(missing)
    index = await store.open(there)
    assert (await index.count(), await index.indexed()) == (1, 0)
    await index.close()
    await installation.close()


async def test_an_index_behind_a_breaker_answers_as_the_index_does(
    tmp_path: Path, clock: Clock
) -> None:
    installation = Installation(tmp_path / "data")
    await installation.ingest({"a.md": "# A\n\nsome words", "b.md": "# B\n\nother words"})
    index = await behind_a_breaker(installation.index, clock).open(GenerationRef("docs", 1))
    [ranking] = await index.search([DenseQuery(await WordEmbedder().embed_query("words"), 5)])
    points = await index.point_ids(ranking.points)
    assert [index.number(point) for point in points] == ranking.points
    assert (await index.vectors(points)).shape == (2, 32)
    assert set(await index.payloads(points)) == set(points)
    await index.close()
    await installation.close()


async def test_a_local_index_has_no_breaker(tmp_path: Path, clock: Clock) -> None:
    installation = Installation(tmp_path / "data")
    store = BreakingIndexes(
        installation.index, lambda ref: ref.collection == "remote", lambda _: once(clock)
    )
    for _ in range(3):
        with pytest.raises(StoreError) as refused:
            await store.open(GenerationRef("docs", 7))
        assert "retrying in" not in str(refused.value)
    await installation.close()


async def test_every_collection_has_a_breaker_of_its_own(tmp_path: Path, clock: Clock) -> None:
    installation = Installation(tmp_path / "data")
    store = BreakingIndexes(installation.index, lambda _: True, lambda _: once(clock))
    for collection in ("docs", "blog"):
        with pytest.raises(StoreError) as refused:
            await store.open(GenerationRef(collection, 7))
        assert "retrying in" not in str(refused.value)
    for collection in ("docs", "blog"):
        with pytest.raises(StoreError, match="retrying in"):
            await store.open(GenerationRef(collection, 7))
    await installation.close()


def once(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker("it", 1, 10, clock)


def behind_a_breaker(store: IndexStore, clock: Clock) -> BreakingIndexes:
    return BreakingIndexes(store, lambda _: True, lambda _: CircuitBreaker("it", 2, 10, clock))


class FailingReranker:
    """Fails as long as it is told to."""

    name = "failing"

    def __init__(self) -> None:
        self.fails = True
        self.calls = 0
        self.closed = False

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        self.calls += 1
        if self.fails:
            raise RerankingError(f"no score for {query!r}")
        return [0.5 for _ in passages]

    async def close(self) -> None:
        self.closed = True


async def test_a_reranker_that_keeps_failing_is_not_called(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    failing = FailingReranker()
    reranker = BreakingReranker(failing, breaker)
    for _ in range(5):
        with pytest.raises(RerankingError):
            await reranker.rerank("why", ["a"])
    assert failing.calls == 3
    clock.now = 10
    failing.fails = False
    assert await reranker.rerank("why", ["a", "b"]) == [0.5, 0.5]
    assert reranker.name == "failing"
    await reranker.close()
    assert failing.closed


def test_one_failure_is_known_until_a_success_or_for_a_minute(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    """For ever would keep a node out of rotation that nobody asks any more."""
    seen = [breaker.failing]
    for error in (StoreError("down"), None, StoreError("down")):
        breaker.leave(error, StoreError, trying=breaker.enter(StoreError))
        seen.append(breaker.failing)
    for passed_s in (RECENT_S - 1, 1):
        clock.now += passed_s
        seen.append(breaker.failing)
    assert seen == [False, True, False, True, True, False]
