"""How often each client may ask: a bucket of tokens that fills while nobody takes any."""

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
    """A minute's allowance may be used at once; then it comes back evenly."""

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
        """0 when the client may go on, else the whole seconds until it may.

        `taken` is what the same request has taken before. What costs more than a minute's allowance
        needs all of it, and is then paid off.
        """
        if self._per_minute is None:
            return 0
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > self._clients:
            self._buckets.popitem(last=False)  # whoever was away for longest has a full one anyway
        per_second = self._per_minute / 60
        refilled = bucket.tokens + (now - bucket.at) * per_second
        bucket.tokens, bucket.at = min(float(self._per_minute), refilled), now
        needed = min(cost, self._per_minute - taken)
        if bucket.tokens < needed:
            return max(1, math.ceil((needed - bucket.tokens) / per_second))
        bucket.tokens -= cost
        return 0
