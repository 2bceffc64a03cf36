"""What a server keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from surefind.model import (
    ApiKey,
)


class KeyStore(Protocol):
    """The keys of a server. What can't be read is an error, never an empty store."""

    async def read(self) -> Sequence[ApiKey]:
        """In the order of their making."""
        ...

    async def change(self, edit: Callable[[Sequence[ApiKey]], Sequence[ApiKey]]) -> None:
        """Put what `edit` makes of them in their place: one change at a time, all or nothing."""
        ...

    async def token(self) -> object:
        """Changes whenever the keys do; cheap enough for every request."""
        ...
