"""The embedded engine's errors are bare Exceptions: this is where they get a name."""

from pathlib import Path
from typing import Literal

from surefind.errors import StoreError


class engine:  # noqa: N801 - a class, since every search enters it; it reads as a function
    """Around every call of the engine: what fails says where the index lies."""

    __slots__ = ("_where",)

    def __init__(self, where: Path) -> None:
        self._where = where

    def __enter__(self) -> None: ...

    def __exit__(
        self, _kind: object, error: BaseException | None, _traceback: object
    ) -> Literal[False]:
        if isinstance(error, Exception) and not isinstance(error, StoreError | OSError):
            raise StoreError(f"the vector index at {self._where} failed: {error}") from error
        return False
