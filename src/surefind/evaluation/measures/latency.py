"""What a load measured: latencies from the moment at which a request was due.

Whoever waits for one answer before the next question is sent asks little while the server stalls,
and then calls it fast. So with a rate each request has its moment, whether the server is ready or
not, and its latency begins then. Without one, as many users as there are ask as soon as they are
answered; an answer that took longer than usual then stands also for the questions that a steady
user would have asked meanwhile, each with what was left of the wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefind.evaluation.statistics.significance import percentile

UNANSWERED = "unanswered"
"""The kind of those whose answer had not come when the time was over."""
STOPPED = "stopped"
"""Those that were waited for when somebody ended the load. That is no failure of theirs."""
_MOST_IMPLIED = 1_000_000
_STRICT: Any = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request; seconds since the run began. `error` is the kind of its failure, if it failed.

    What was never answered ends when the run was given up or stopped: it waited at least so long.
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
    """`offered_per_s` is None where nobody set a rate. Percentiles count what failed, too.

    `duration_s` is how long it was put on: less than was asked for where somebody ended it.

    `implied` are the questions that were not asked since the server kept a user waiting.
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
        """How many were due and not answered yet when somebody ended the load."""
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
    """Waits of the questions that would have come at the usual pace, the median."""
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
