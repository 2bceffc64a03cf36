"""How long connecting to PostgreSQL may take: for each attempt, and for all of them.

A host that swallows all packets must not take the time of the next one, so each attempt is bounded.
psycopg makes one for every address that a name has, and all of them twice for `prefer-standby`.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from surefind.adapters.postgres.address import Address

_LEAST_S = 2
"""psycopg, as libpq, gives no attempt less."""


@dataclass(frozen=True, slots=True)
class ConnectTimeouts:
    """`options` bound each attempt, for psycopg; `limit_s` bounds what is done in all."""

    limit_s: float
    options: dict[str, int]


def connect_timeouts(address: Address, connect_timeout_s: float, addresses: int) -> ConnectTimeouts:
    """What the address itself says of its time goes first.

    One attempt alone ends by our own clock, to the tenth of a second. Of several each is ended by
    psycopg, and ours leaves the time of one more for looking up the names.
    """
    attempts = max(addresses, 1) * (2 if address.prefers_standby else 1)
    if attempts == 1 and address.connect_timeout_s is None:
        return ConnectTimeouts(connect_timeout_s, {})
    each_s = max(_LEAST_S, math.ceil(address.connect_timeout_s or connect_timeout_s))
    return ConnectTimeouts(each_s * (attempts + 1), {"connect_timeout": each_s})


async def count_addresses(address: Address, within_s: float) -> int:
    """A name that nobody knows has none, one that nobody tells in time counts as one."""
    known = len(address.hosts) - len(address.names)
    return known + sum(await asyncio.gather(*(_count(name, within_s) for name in address.names)))


async def _count(name: str, within_s: float) -> int:
    try:
        async with asyncio.timeout(within_s):
            found: Sequence[object] = await asyncio.get_running_loop().getaddrinfo(
                name, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
            )
    except TimeoutError:
        return 1
    except (OSError, UnicodeError):
        return 0
    return len(found)
