"""The turnstile: so many at once, so many waiting, in the order of their coming."""

import asyncio

import pytest

from surefind.errors import Overloaded
from surefind.services.turnstile import Turnstile


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_so_many_pass_so_many_wait_and_the_rest_are_told() -> None:
    turnstile, gate, order = Turnstile(2, 3), asyncio.Event(), list[int]()

    async def visit(number: int) -> None:
        async with turnstile.passed():
            await gate.wait()
            order.append(number)

    visits = [asyncio.create_task(visit(number)) for number in range(5)]
    await settle()
    assert (turnstile.inside, turnstile.queued) == (2, 3)
    with pytest.raises(Overloaded):
        await visit(5)
    gate.set()
    await asyncio.gather(*visits)
    assert order == [0, 1, 2, 3, 4]
    assert (turnstile.inside, turnstile.queued) == (0, 0)


async def test_who_leaves_the_queue_or_fails_inside_gives_the_place_back() -> None:
    turnstile = Turnstile(1, 1)
    gate = asyncio.Event()

    async def visit() -> None:
        async with turnstile.passed():
            await gate.wait()

    inside, waiting = asyncio.create_task(visit()), asyncio.create_task(visit())
    await settle()
    waiting.cancel()
    await settle()
    assert (turnstile.inside, turnstile.queued) == (1, 0)
    inside.cancel()
    await settle()
    assert turnstile.inside == 0
    with pytest.raises(LookupError):
        async with turnstile.passed():
            raise LookupError
    async with turnstile.passed():
        assert turnstile.inside == 1


async def test_without_a_queue_only_the_places_count() -> None:
    turnstile = Turnstile(1, 0)
    async with turnstile.passed():
        with pytest.raises(Overloaded):
            async with turnstile.passed():
                raise AssertionError
