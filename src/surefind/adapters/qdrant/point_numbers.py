"""Points of the embedded index have numbers; here is which, and back. See decision 17."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

from surefind.errors import StoreChanged
from surefind.model import point_id

MAX_KNOWN = 2**14


def number_of(point_id: UUID) -> int:
    """The first half of the id: the engine hands out and takes numbers ten times as fast as UUIDs.

    Two chunks of a million share one with a chance of one to two million. Then the index holds a
    point less than the catalog, and is not published.
    """
    return point_id.int >> 64


class KnownPoints:
    """Which point each number is. The first hits of a search are the first hits of many others."""

    def __init__(self, source: Path, max_known: int = MAX_KNOWN) -> None:
        self._source = source
        self._max_known = max_known
        self._known: dict[int, UUID] = {}

    def unknown(self, numbers: Sequence[int]) -> list[int]:
        """Those that are to be learned first."""
        unknown = [number for number in numbers if number not in self._known]
        if len(self._known) + len(unknown) > self._max_known:
            self._known.clear()
            return list(numbers)
        return unknown

    def learn(self, chunk_ids: Iterable[tuple[object, str]]) -> None:
        """What the payloads of numbered points say."""
        for number, chunk_id in chunk_ids:
            named = point_id(chunk_id)
            if number == number_of(named):  # or the payload is another's, or damaged
                self._known[number_of(named)] = named

    def of(self, numbers: Sequence[int]) -> list[UUID]:
        missing = [number for number in numbers if number not in self._known]
        if missing:
            raise StoreChanged(
                f"the vector index at {self._source} does not tell which chunk its point "
                f"{missing[0]} is; the next `surefind ingest` builds it anew"
            )
        return [self._known[number] for number in numbers]
