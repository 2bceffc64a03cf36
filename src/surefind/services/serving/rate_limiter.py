"""Rate limits per client, by token buckets."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from surefind.ports import Bucket, TokenBuckets

CLIENTS_KEPT = 10_000


class BucketsInMemory:
    """The buckets of a server with one process."""

    def __init__(self, clients: int = CLIENTS_KEPT) -> None:
        self._clients = clients
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def update(self, client: str, change: Callable[[Bucket | None], Bucket]) -> None:
        self._buckets[client] = change(self._buckets.get(client))
        self._buckets.move_to_end(client)
        if len(self._buckets) > self._clients:
            self._buckets.popitem(last=False)  # the least recent client's bucket is full by now


class RateLimiter:
    """Allows bursts of a minute's allowance, which refills evenly."""

    def __init__(
        self,
        per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
        buckets: TokenBuckets | None = None,
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets = buckets or BucketsInMemory()

    def take(self, client: str, cost: int = 1, taken: int = 0) -> int:
        """Take tokens; returns 0 if allowed, or the seconds to wait.

        `taken` is what the same request has already taken. A request that costs more than a
        minute's allowance needs all of it, and goes into debt for the rest.
        """
        if self._per_minute is None:
            return 0
        allowance, per_second = float(self._per_minute), self._per_minute / 60
        needed = min(cost, self._per_minute - taken)
        wait_s = 0

        def taking(bucket: Bucket | None) -> Bucket:
            nonlocal wait_s
            now = self._clock()
            tokens = allowance
            if bucket is not None:
                tokens = min(allowance, bucket.tokens + (now - bucket.at) * per_second)
            if tokens < needed:
                wait_s = max(1, math.ceil((needed - tokens) / per_second))
                return Bucket(tokens, now)
            return Bucket(tokens - cost, now)

        self._buckets.update(client, taking)
        return wait_s
