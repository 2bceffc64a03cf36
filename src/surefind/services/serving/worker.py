"""One of the processes that serve the same port together."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Worker:
    """`shared` is a folder for what all workers count; None if this process serves alone."""

    number: int = 1
    of: int = 1
    shared: Path | None = None

    def share(self, limit: int) -> int:
        """One share of a limit that holds for all workers together, rounded up."""
        return -(-limit // self.of)


ALONE = Worker()
