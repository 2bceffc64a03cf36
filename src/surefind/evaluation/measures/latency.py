"""Results of a load test: latencies measured from the time at which a request was due.

This avoids coordinated omission: a client that waits for each answer sends few requests while the
server stalls, and so reports it as fast. With a rate, each request has a scheduled time, and its
latency starts then. Without a rate, each user sends the next request after the previous answer; a
slow answer then also counts for the requests that a steady user would have sent in the meantime,
each with the rest of the wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefind.evaluation.statistics.significance import percentile

UNANSWERED = "unanswered"
"""The error kind of requests without an answer when the time was over."""
STOPPED = "stopped"
"""The kind of requests that were open when the user stopped the load: not failures."""
_MOST_IMPLIED = 1_000_000
_STRICT: Any = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request; times are seconds since the start. `error` is the kind of failure, if any.

    An unanswered request ends when the run timed out or stopped, so its wait is a lower bound.
    """

    due_s: float
    ended_s: float
    error: str = ""

    @property
    def is_failed(self) -> bool:
        return self.error not in {"", STOPPED}

    @property
    def waited_s(self) -> float:
        return max(0.0, self.ended_s - self.due_s)


@dataclass(frozen=True, slots=True)
class LoadResult:
    """`offered_per_s` is None if no rate was set. Percentiles include failed requests.

    `duration_s` is the actual duration, shorter than requested if the user stopped the load.
    `implied` counts the requests that users could not send while they waited for the server.
    """

    __pydantic_config__ = _STRICT

    concurrency: int
    duration_s: float
    offered_per_s: float | None
    achieved_per_s: float
    sent: int
    answered: int
    errors: Mapping[str, int]
    implied: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float

    @property
    def error_rate(self) -> float:
        return sum(self.errors.values()) / self.sent if self.sent else 0.0

    @property
    def waiting(self) -> int:
        """The number of due but unanswered requests when the load was stopped."""
        return self.sent - self.answered - sum(self.errors.values())


def load_of(
    sent: Sequence[SentRequest], concurrency: int, duration_s: float, rate_per_s: float | None
) -> LoadResult:
    times = [one.waited_s for one in sent]
    implied = [] if rate_per_s is not None else list(_implied(times))
    counted = [1000 * one for one in (*times, *implied)]
    answered = sum(not one.error for one in sent)
    end = max((one.ended_s for one in sent), default=0.0)
    return LoadResult(
        concurrency=concurrency,
        duration_s=duration_s,
        offered_per_s=rate_per_s,
        achieved_per_s=answered / max(end, duration_s),
        sent=len(sent),
        answered=answered,
        errors=dict(sorted(Counter(one.error for one in sent if one.is_failed).items())),
        implied=len(implied),
        mean_ms=sum(counted) / len(counted) if counted else 0.0,
        p50_ms=percentile(counted, 0.5),
        p95_ms=percentile(counted, 0.95),
        p99_ms=percentile(counted, 0.99),
        max_ms=max(counted, default=0.0),
    )


def _implied(times: Sequence[float]) -> Iterator[float]:
    """The waits of the requests that users would have sent at the median pace."""
    usual = percentile(times, 0.5)
    if usual <= 0:
        return
    given = 0
    for time in times:
        left = time - usual
        while left >= usual and given < _MOST_IMPLIED:
            yield left
            given += 1
            left -= usual
