"""Load: many searches at a time for a while, each timed from the moment at which it was due."""

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
    """`rate_per_s` None: as fast as they are answered, `concurrency` at a time.

    `grace_s` more may pass until all that was due is answered; None is as long again, or a little.
    """

    concurrency: int
    duration_s: float
    rate_per_s: float | None = None
    grace_s: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= MAX_DURATION_S:
            raise InputError(
                f"duration: it is {self.duration_s:g}, it must be above 0 and at most "
                f"{MAX_DURATION_S:g} seconds"
            )
        if self.rate_per_s is not None and not 0 < self.rate_per_s <= MAX_REQUESTS:
            raise InputError(f"rate: it is {self.rate_per_s:g}, it must be above 0")
        if self.rate_per_s is not None and self.requests > MAX_REQUESTS:
            raise InputError(
                f"rate and duration ask for {self.requests:,} searches, at most "
                f"{MAX_REQUESTS:,} are sent; lower one of them"
            )

    @property
    def most_s(self) -> float:
        grace = max(self.duration_s, _LEAST_GRACE_S) if self.grace_s is None else self.grace_s
        return self.duration_s + grace

    @property
    def requests(self) -> int:
        return math.ceil(self.duration_s * (self.rate_per_s or 0))


async def put_load(
    search: SearchCall, queries: Sequence[Query], options: LoadOptions
) -> LoadResult:
    """The queries in turn, over and over. A failure is counted and stops nothing.

    LoadStopped, with what was measured until then, where it is cancelled.
    """
    if not queries:
        raise InputError("duration: there is no question to put a load on with")
    run = _LoadRun(search, queries, options)
    try:
        sent = await run.at_a_rate() if options.rate_per_s else await run.one_after_the_other()
    except asyncio.CancelledError as error:
        put_on_s = min(run.stopped_s, options.duration_s)
        load = load_of(run.until_stopped(), options.concurrency, put_on_s, options.rate_per_s)
        raise LoadStopped(load) from error
    return load_of(sent, options.concurrency, options.duration_s, options.rate_per_s)


class LoadStopped(asyncio.CancelledError):
    """Whoever stops a load may see what it measured."""

    def __init__(self, load: LoadResult) -> None:
        super().__init__()
        self.load = load


class _LoadRun:
    def __init__(self, search: SearchCall, queries: Sequence[Query], options: LoadOptions) -> None:
        self._search = search
        self._queries = queries
        self._options = options
        self._began = time.perf_counter()
        self._next = 0
        self._sent: list[SentRequest] = []
        self._cut_off = UNANSWERED
        self.stopped_s = 0.0

    @property
    def _now_s(self) -> float:
        return time.perf_counter() - self._began

    async def at_a_rate(self) -> list[SentRequest]:
        """Request n is due at n / rate, whoever is still waited for."""
        options = self._options
        await self._with_workers(self._scheduled)
        given_up_s = self._now_s
        late = range(self._next, options.requests)
        return [*self._sent, *(SentRequest(self._due(one), given_up_s, UNANSWERED) for one in late)]

    async def one_after_the_other(self) -> list[SentRequest]:
        await self._with_workers(self._eager)
        return self._sent

    def until_stopped(self) -> list[SentRequest]:
        """What was due until then; with a rate also what nobody had come round to asking."""
        if not self._options.rate_per_s:
            return self._sent
        left = map(self._due, range(self._next, self._options.requests))
        late = itertools.takewhile(lambda due: due <= self.stopped_s, left)
        return [*self._sent, *(SentRequest(due, self.stopped_s, STOPPED) for due in late)]

    async def _with_workers(self, work: Callable[[], Awaitable[None]]) -> None:
        workers = [asyncio.ensure_future(work()) for _ in range(self._options.concurrency)]
        try:
            await asyncio.wait(workers, timeout=self._options.most_s)
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
            await asyncio.sleep(0)  # an answer from memory must not keep the others from asking

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
