"""Ports of a server: its API keys, and what its workers count together."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from surefind.model import ApiKey


class KeyStore(Protocol):
    """The API keys of a server. An unreadable store is an error, never an empty one."""

    async def read(self) -> Sequence[ApiKey]:
        """All keys, oldest first."""
        ...

    async def change(self, edit: Callable[[Sequence[ApiKey]], Sequence[ApiKey]]) -> None:
        """Replace the keys with the result of `edit`, atomically and one change at a time."""
        ...

    async def token(self) -> object:
        """A value that changes whenever the keys do; cheap enough for every request."""
        ...


class Bucket(NamedTuple):
    """The tokens that a client had left at a time of the monotonic clock."""

    tokens: float
    at: float


class TokenBuckets(Protocol):
    """The buckets of a server's clients. The least recent ones may be forgotten."""

    def update(self, client: str, change: Callable[[Bucket | None], Bucket]) -> None:
        """Replace the client's bucket with the result of `change`, one change at a time."""
        ...
