"""The embedded engine's errors are bare Exceptions: this is where they get a name."""

from pathlib import Path
from typing import Literal

from surefind.adapters.files.data_folder import FULL
from surefind.errors import StoreError, StoreFull


class engine:  # noqa: N801 - a class, since every search enters it; it reads as a function
    """Around every call of the engine: what fails says where the index lies."""

    __slots__ = ("_where",)

    def __init__(self, where: Path) -> None:
        self._where = where

    def __enter__(self) -> None: ...

    def __exit__(
        self, _kind: object, error: BaseException | None, _traceback: object
    ) -> Literal[False]:
        if error is None or isinstance(error, StoreError | OSError):
            return False
        if "No space left on device" in str(error):
            raise StoreFull(f"the vector index at {self._where}: {FULL}") from error
        # A damaged file may make the engine panic, which is no Exception to Python.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise StoreError(
                f"the vector index at {self._where} failed: {error}; check that the disk has room, "
                "then run `surefind doctor`, which reads the index and says what can be done"
            ) from error
        return False
