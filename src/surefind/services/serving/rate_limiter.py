"""Rate limits per client, by token buckets."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

CLIENTS_KEPT = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimiter:
    """Allows bursts of a minute's allowance, which refills evenly."""

    def __init__(
        self,
        per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
        clients: int = CLIENTS_KEPT,
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._clients = clients
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, client: str, cost: int = 1, taken: int = 0) -> int:
        """Take tokens; returns 0 if allowed, or the seconds to wait.

        `taken` is what the same request has already taken. A request that costs more than a
        minute's allowance needs all of it, and goes into debt for the rest.
        """
        if self._per_minute is None:
            return 0
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > self._clients:
            self._buckets.popitem(last=False)  # the least recent client's bucket is full by now
        per_second = self._per_minute / 60
        refilled = bucket.tokens + (now - bucket.at) * per_second
        bucket.tokens, bucket.at = min(float(self._per_minute), refilled), now
        needed = min(cost, self._per_minute - taken)
        if bucket.tokens < needed:
            return max(1, math.ceil((needed - bucket.tokens) / per_second))
        bucket.tokens -= cost
        return 0
