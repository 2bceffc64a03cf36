"""Calls to a remote service, with pacing, bounded retries and adaptive concurrency.

A 429 response halves the number of concurrent calls and delays all of them; each success raises the
number slowly. Permanent failures are raised at once.
"""

import asyncio
import itertools
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from surefind.ports import Notify

T = TypeVar("T")

_GROWTH = 0.1  # per success: ten successes allow one more concurrent call
_REPORTED_PAUSE_S = 2.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of retrying. `longest_wait_s` is the longest Retry-After that is honoured.

    No attempt begins later than `begin_within_s` after the first one.
    """

    tries: int
    first_pause_s: float
    longest_pause_s: float
    longest_wait_s: float
    concurrency: int
    begin_within_s: float = math.inf


PATIENT = RetryPolicy(8, 1.0, 60.0, 300.0, concurrency=4)
"""For an ingest: outlasts per-minute rate limits and a restart of the service."""

BRIEF = RetryPolicy(3, 0.2, 1.0, 2.0, concurrency=16, begin_within_s=8.0)
"""For a search: a user is waiting for the answer. A service that hangs until the timeout of 10 s is
not called again, so the search fails, and counts as a failure, before its own deadline of 30 s.
"""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """The limits for a service, and where to report delays."""

    notify: Notify
    timeout_s: float = 60.0
    ingesting: RetryPolicy = PATIENT
    searching: RetryPolicy = BRIEF


class AttemptFailed(Exception):  # noqa: N818 - the name states what happened
    """One attempt failed. `status` is the HTTP status, None without an answer."""

    def __init__(
        self, reason: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.retry_after_s = retry_after_s
        self.tries = 1

    @property
    def may_pass(self) -> bool:
        return self.status is None or self.status in {408, 429} or self.status >= 500

    @property
    def is_about_the_key(self) -> bool:
        return self.status in {401, 403}


class AdaptiveLimiter:
    """Runs all calls of a process to one service; callers need not limit themselves."""

    def __init__(self, service: str, retry_policy: RetryPolicy, notify: Notify) -> None:
        self._service = service
        self._retry_policy = retry_policy
        self._notify = notify
        self._limit = float(retry_policy.concurrency)
        self._running = 0
        self._room = asyncio.Condition()
        self._not_before = 0.0
        self._slowed_at = float("-inf")

    @property
    def at_once(self) -> int:
        """The number of calls that may run now."""
        return int(self._limit)

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The first successful answer; raises the last AttemptFailed if there is none."""
        last_start = _now() + self._retry_policy.begin_within_s
        for number in itertools.count(1):
            try:
                async with self._turn():
                    return await self._tried(attempt)
            except AttemptFailed as failure:
                failure.tries = number
                pause_s = self._pause_s(failure, number)
                if pause_s is None or _now() + pause_s > last_start:
                    raise
                self._tell(failure, pause_s)
            await asyncio.sleep(pause_s)
        raise AssertionError  # pragma: no cover - the loop never ends

    async def _tried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        began = _now()
        try:
            answer = await attempt()
        except AttemptFailed as failure:
            if failure.status == 429:
                self._slow_down(began, failure.retry_after_s)
            raise
        self._limit = min(float(self._retry_policy.concurrency), self._limit + _GROWTH)
        return answer

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        async with self._room:
            await self._room.wait_for(lambda: self._running < self.at_once)
            self._running += 1
        try:
            # In a loop, because another call may extend the delay in the meantime.
            while (wait_s := self._not_before - _now()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(wait_s)
            yield
        finally:
            async with self._room:
                self._running -= 1
                self._room.notify_all()

    def _slow_down(self, began: float, retry_after_s: float | None) -> None:
        """Slow down once per burst of refused calls."""
        if began >= self._slowed_at:
            self._limit = max(1.0, self._limit / 2)
            self._slowed_at = _now()
        if retry_after_s is not None and retry_after_s <= self._retry_policy.longest_wait_s:
            self._not_before = max(self._not_before, _now() + retry_after_s)

    def _pause_s(self, failure: AttemptFailed, number: int) -> float | None:
        """The pause before the next attempt; None if retrying is useless or the wait too long."""
        retry_policy, asked_s = self._retry_policy, failure.retry_after_s
        if not failure.may_pass or number >= retry_policy.tries:
            return None
        if asked_s is not None:
            if asked_s > retry_policy.longest_wait_s:
                return None
            return asked_s * random.uniform(1.0, 1.1)  # noqa: S311 - jitter, not a secret
        doubled = retry_policy.first_pause_s * 2.0 ** (number - 1)
        return min(retry_policy.longest_pause_s, doubled) * random.uniform(0.5, 1.0)  # noqa: S311

    def _tell(self, failure: AttemptFailed, pause_s: float) -> None:
        if pause_s >= _REPORTED_PAUSE_S:
            self._notify(f"{self._service}: {failure.reason}; retrying in {pause_s:.0f} s")


async def all_or_none(calls: Iterable[Awaitable[T]]) -> list[T]:
    """The answers in order. The first failure cancels the other calls, and is raised as itself."""
    running = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*running)
    finally:
        for one in running:
            one.cancel()


def retry_after_s(value: str | None) -> float | None:
    """A Retry-After header, given in seconds or as a date, in seconds."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (aware - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None


def _now() -> float:
    return asyncio.get_running_loop().time()
