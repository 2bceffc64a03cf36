"""Calls to a service: how many at once, how often, and how long one waits."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from surefind.adapters.remote_calls import (
    AdaptiveLimiter,
    AttemptFailed,
    RetryPolicy,
    retry_after_s,
)

QUICK = RetryPolicy(4, 0.001, 0.002, 1.0, concurrency=8)


class Scripted:
    """Fails as told, then succeeds; counts how many calls are under way."""

    def __init__(self, *failures: AttemptFailed) -> None:
        self.failures = list(failures)
        self.calls = 0
        self.running = 0
        self.most_at_once = 0

    async def __call__(self) -> str:
        self.calls += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


def busy(retry_after_s: float | None = None) -> AttemptFailed:
    return AttemptFailed("429 too many", 429, retry_after_s)


@pytest.mark.parametrize("status", [None, 408, 429, 500, 502, 503, 504])
async def test_what_may_pass_is_tried_again_and_no_more_than_said(status: int | None) -> None:
    service = Scripted(*(AttemptFailed("x", status) for _ in range(3)))
    assert await AdaptiveLimiter("it", QUICK, print).call(service) == "answer"
    service = Scripted(*(AttemptFailed("x", status) for _ in range(9)))
    with pytest.raises(AttemptFailed) as caught:
        await AdaptiveLimiter("it", QUICK, print).call(service)
    assert (service.calls, caught.value.tries) == (4, 4)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
async def test_what_can_not_pass_is_tried_once(status: int) -> None:
    service = Scripted(AttemptFailed("x", status))
    with pytest.raises(AttemptFailed):
        await AdaptiveLimiter("it", QUICK, print).call(service)
    assert service.calls == 1


async def test_concurrent_calls_stay_within_the_limit() -> None:
    service, calls = Scripted(), AdaptiveLimiter("it", QUICK, print)
    await asyncio.gather(*(calls.call(service) for _ in range(50)))
    assert service.most_at_once == 8


async def test_a_429_halves_the_calls_and_successes_bring_them_back_slowly() -> None:
    calls = AdaptiveLimiter("it", QUICK, print)
    assert calls.at_once == 8
    await calls.call(Scripted(busy()))
    assert calls.at_once == 4
    service = Scripted()
    await asyncio.gather(*(calls.call(service) for _ in range(10)))
    assert service.most_at_once == 4
    assert calls.at_once == 5
    await asyncio.gather(*(calls.call(service) for _ in range(200)))
    assert calls.at_once == 8


async def test_a_burst_that_is_refused_together_counts_once() -> None:
    calls = AdaptiveLimiter("it", QUICK, print)
    service = Scripted(*(busy() for _ in range(8)))
    await asyncio.gather(*(calls.call(service) for _ in range(8)))
    assert calls.at_once in {4, 5}


async def test_the_calls_never_fall_below_one() -> None:
    calls = AdaptiveLimiter("it", RetryPolicy(30, 0.0, 0.0, 1.0, concurrency=8), print)
    await calls.call(Scripted(*(busy() for _ in range(20))))
    assert calls.at_once == 1


async def test_a_retry_after_holds_back_every_call() -> None:
    calls = AdaptiveLimiter("it", QUICK, print)
    loop = asyncio.get_running_loop()
    began = loop.time()
    refused = asyncio.ensure_future(calls.call(Scripted(busy(0.3))))
    await asyncio.sleep(0.05)
    await calls.call(Scripted())
    assert loop.time() - began >= 0.3
    assert await refused == "answer"


async def test_a_retry_after_that_is_too_long_is_not_waited_for() -> None:
    service = Scripted(busy(3600))
    with pytest.raises(AttemptFailed):
        await AdaptiveLimiter("it", QUICK, print).call(service)
    assert service.calls == 1


@pytest.mark.parametrize(("begin_within_s", "attempts"), [(0.0, 1), (60.0, 4)])
async def test_no_attempt_begins_too_late(begin_within_s: float, attempts: int) -> None:
    """A service that hangs until the timeout each time would take longer than the search may."""
    policy = RetryPolicy(4, 0.001, 0.002, 1.0, concurrency=8, begin_within_s=begin_within_s)
    service = Scripted(*(AttemptFailed("no answer within 10 s") for _ in range(9)))
    with pytest.raises(AttemptFailed) as failed:
        await AdaptiveLimiter("it", policy, print).call(service)
    assert failed.value.tries == service.calls == attempts


async def test_a_long_wait_is_reported() -> None:
    notes: list[str] = []
    calls = AdaptiveLimiter("it", RetryPolicy(2, 1.0, 1.0, 60.0, 1), notes.append)
    waiting = asyncio.ensure_future(calls.call(Scripted(busy(30))))
    await asyncio.sleep(0.05)
    waiting.cancel()
    [note] = notes
    assert note.startswith("it: 429 too many; retrying in 3")


async def test_a_cancelled_caller_frees_its_slot() -> None:
    calls = AdaptiveLimiter("it", RetryPolicy(2, 0.0, 0.0, 60.0, concurrency=1), print)
    stuck = asyncio.ensure_future(calls.call(asyncio.Event().wait))
    await asyncio.sleep(0.01)
    stuck.cancel()
    assert await calls.call(Scripted()) == "answer"


def test_a_retry_after_is_seconds_or_a_date() -> None:
    assert retry_after_s("7") == 7
    assert retry_after_s("0.5") == 0.5
    assert retry_after_s("-3") == 0
    for nothing in (None, "", "soon", "inf", "nan"):
        assert retry_after_s(nothing) is None
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < (retry_after_s(later) or 0) <= 60
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00") == 0
