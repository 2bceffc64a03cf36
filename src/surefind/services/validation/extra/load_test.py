"""Load test: concurrent searches, each timed from the moment it was due."""

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from surefind.errors import InputError, SurefindError
from surefind.evaluation.measures.latency import (
    STOPPED,
    UNANSWERED,
    LoadResult,
    SentRequest,
    load_of,
)
from surefind.model import Query, SearchResult

MAX_DURATION_S = 3600.0
MAX_REQUESTS = 1_000_000
_LEAST_GRACE_S = 10.0

SearchCall = Callable[[Query], Awaitable[SearchResult]]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Duration and rate of a load test; without `rate_per_s`, the rate is unlimited.

    Due searches get `grace_s` more to finish, by default `duration_s`, but at least ten seconds.
    """

    duration_s: float
    rate_per_s: float | None = None
    grace_s: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= MAX_DURATION_S:
            raise InputError(
                f"duration must be above 0 and at most {MAX_DURATION_S:g} seconds, "
                f"not {self.duration_s:g}"
            )
        if self.rate_per_s is not None and not 0 < self.rate_per_s <= MAX_REQUESTS:
            raise InputError(
                f"rate must be above 0 and at most {MAX_REQUESTS:,} searches a second, "
                f"not {self.rate_per_s:g}"
            )
        if self.rate_per_s is not None and self.requests > MAX_REQUESTS:
            raise InputError(
                f"rate and duration add up to {self.requests:,} searches, but at most "
                f"{MAX_REQUESTS:,} are allowed; lower one of them"
            )

    @property
    def max_s(self) -> float:
        grace = max(self.duration_s, _LEAST_GRACE_S) if self.grace_s is None else self.grace_s
        return self.duration_s + grace

    @property
    def requests(self) -> int:
        return math.ceil(self.duration_s * (self.rate_per_s or 0))


async def run_load_test(
    search: SearchCall, queries: Sequence[Query], options: LoadOptions, concurrency: int
) -> LoadResult:
    """Cycle through the queries. Failed searches are counted.

    If cancelled, raises LoadStopped with the measurements so far.
    """
    if not queries:
        raise InputError("--duration: no test has a valid query for the load test")
    run = _LoadRun(search, queries, options, concurrency)
    try:
        sent = await run.at_a_rate() if options.rate_per_s else await run.one_after_the_other()
    except asyncio.CancelledError as error:
        elapsed_s = min(run.stopped_s, options.duration_s)
        load = load_of(run.until_stopped(), concurrency, elapsed_s, options.rate_per_s)
        raise LoadStopped(load) from error
    return load_of(sent, concurrency, options.duration_s, options.rate_per_s)


class LoadStopped(asyncio.CancelledError):
    """A cancellation that carries the measurements of the load test."""

    def __init__(self, load: LoadResult) -> None:
        super().__init__()
        self.load = load


class _LoadRun:
    def __init__(
        self,
        search: SearchCall,
        queries: Sequence[Query],
        options: LoadOptions,
        concurrency: int,
    ) -> None:
        self._search = search
        self._queries = queries
        self._options = options
        self._concurrency = concurrency
        self._began = time.perf_counter()
        self._next = 0
        self._sent: list[SentRequest] = []
        self._cut_off = UNANSWERED
        self.stopped_s = 0.0

    @property
    def _now_s(self) -> float:
        return time.perf_counter() - self._began

    async def at_a_rate(self) -> list[SentRequest]:
        """Request n is due at n / rate, even if earlier ones are unanswered."""
        options = self._options
        await self._with_workers(self._scheduled)
        given_up_s = self._now_s
        unsent = map(self._due, range(self._next, options.requests))
        return [*self._sent, *(SentRequest(due, given_up_s, UNANSWERED) for due in unsent)]

    async def one_after_the_other(self) -> list[SentRequest]:
        await self._with_workers(self._eager)
        return self._sent

    def until_stopped(self) -> list[SentRequest]:
        """All requests that were due, including unsent ones if there is a rate."""
        if not self._options.rate_per_s:
            return self._sent
        unsent = map(self._due, range(self._next, self._options.requests))
        due_by_now = itertools.takewhile(lambda due: due <= self.stopped_s, unsent)
        return [*self._sent, *(SentRequest(due, self.stopped_s, STOPPED) for due in due_by_now)]

    async def _with_workers(self, work: Callable[[], Awaitable[None]]) -> None:
        workers = [asyncio.ensure_future(work()) for _ in range(self._concurrency)]
        try:
            await asyncio.wait(workers, timeout=self._options.max_s)
        except asyncio.CancelledError:
            self.stopped_s, self._cut_off = self._now_s, STOPPED
            raise
        finally:
            for worker in workers:
                worker.cancel()
            ended = await asyncio.gather(*workers, return_exceptions=True)
        for failure in ended:
            if isinstance(failure, Exception):
                raise failure

    async def _scheduled(self) -> None:
        while (number := self._next) < self._options.requests:
            self._next += 1
            due = self._due(number)
            early = due - self._now_s
            if early > 0:
                await asyncio.sleep(early)
            await self._ask(number, due)

    async def _eager(self) -> None:
        due = self._now_s
        while due < self._options.duration_s:
            number = self._next
            self._next += 1
            await self._ask(number, due)
            due = self._now_s
            await asyncio.sleep(0)  # cached results never await: let other workers run

    async def _ask(self, number: int, due: float) -> None:
        error = UNANSWERED
        try:
            await self._search(self._queries[number % len(self._queries)])
            error = ""
        except asyncio.CancelledError:
            error = self._cut_off
            raise
        except SurefindError as failure:
            error = type(failure).__name__
        finally:
            self._sent.append(SentRequest(due, self._now_s, error))

    def _due(self, number: int) -> float:
        return number / (self._options.rate_per_s or 1)
