"""The key store of a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from surefind.model import (
    ApiKey,
)


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
