"""The limits of running and of waiting requests; waiting ones run in the order of arrival."""

import asyncio
import itertools

import pytest

from surefind.errors import Overloaded
from surefind.services.serving.concurrency_limiter import ConcurrencyLimiter


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_beyond_the_limits_of_running_and_waiting_are_refused() -> None:
    limiter, gate, order = ConcurrencyLimiter(2, 3), asyncio.Event(), list[int]()

    async def visit(number: int) -> None:
        async with limiter.admitted():
            await gate.wait()
            order.append(number)

    visits = [asyncio.create_task(visit(number)) for number in range(5)]
    await settle()
    assert (limiter.inside, limiter.queued) == (2, 3)
    with pytest.raises(Overloaded):
        await visit(5)
    gate.set()
    await asyncio.gather(*visits)
    assert order == [0, 1, 2, 3, 4]
    assert (limiter.inside, limiter.queued) == (0, 0)


async def test_who_leaves_the_queue_or_fails_inside_gives_the_place_back() -> None:
    limiter = ConcurrencyLimiter(1, 1)
    gate = asyncio.Event()

    async def visit() -> None:
        async with limiter.admitted():
            await gate.wait()

    inside, waiting = asyncio.create_task(visit()), asyncio.create_task(visit())
    await settle()
    waiting.cancel()
    await settle()
    assert (limiter.inside, limiter.queued) == (1, 0)
    inside.cancel()
    await settle()
    assert limiter.inside == 0
    with pytest.raises(LookupError):
        async with limiter.admitted():
            raise LookupError
    async with limiter.admitted():
        assert limiter.inside == 1


async def test_without_a_queue_only_the_places_count() -> None:
    limiter = ConcurrencyLimiter(1, 0)
    async with limiter.admitted():
        with pytest.raises(Overloaded):
            async with limiter.admitted():
                raise AssertionError


async def test_who_never_waits_inside_is_refused_like_everybody_else() -> None:
    limiter, admitted = ConcurrencyLimiter(2, 3), list[int]()

    async def visit(number: int) -> None:
        async with limiter.admitted():
            admitted.append(number)

    visits = [visit(number) for number in range(7)]
    came = await asyncio.gather(*visits, return_exceptions=True)
    assert admitted == [0, 1, 2, 3, 4]
    assert [isinstance(one, Overloaded) for one in came] == [False] * 5 + [True] * 2


async def test_between_two_that_never_wait_the_loop_takes_in_others() -> None:
    limiter, order = ConcurrencyLimiter(3, 3), list[str]()

    async def visit(name: str) -> None:
        async with limiter.admitted():
            order.append(name)

    async def search() -> None:
        while len(order) < 5:
            await asyncio.sleep(0)
            order.append("probe")

    await asyncio.gather(visit("a"), visit("b"), visit("c"), search())
    assert order[: order.index("c")].count("probe") >= 2


async def test_a_refusal_says_when_the_queue_will_be_empty() -> None:
    clock = itertools.count(step=10.0)  # each search takes ten seconds
    limiter = ConcurrencyLimiter(1, 2, lambda: next(clock))
    for _ in range(100):
        async with limiter.admitted():
            pass
    gate = asyncio.Event()

    async def visit() -> None:
        async with limiter.admitted():
            await gate.wait()

    visits = [asyncio.create_task(visit()) for _ in range(3)]
    await settle()
    with pytest.raises(Overloaded) as refusal:
        await visit()
    gate.set()
    await asyncio.gather(*visits)
    assert refusal.value.retry_after_s == 20
