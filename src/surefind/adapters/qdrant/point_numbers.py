"""Maps point ids to the embedded index's numbers, and back. See decision 17."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

from surefind.errors import StoreChanged
from surefind.model import point_id

MAX_KNOWN = 2**14


def number_of(point_id: UUID) -> int:
    """The first half of the id, because the engine handles numbers ten times as fast as UUIDs.

    The probability of a collision among a million chunks is one in two million. The index then has
    one point fewer than the catalog and is not published.
    """
    return point_id.int >> 64


class KnownPoints:
    """Caches the point id of each number, because searches often share their top hits."""

    def __init__(self, source: Path, max_known: int = MAX_KNOWN) -> None:
        self._source = source
        self._max_known = max_known
        self._known: dict[int, UUID] = {}

    def unknown(self, numbers: Sequence[int]) -> list[int]:
        """The numbers that are not cached yet."""
        unknown = [number for number in numbers if number not in self._known]
        if len(self._known) + len(unknown) > self._max_known:
            self._known.clear()
            return list(numbers)
        return unknown

    def learn(self, chunk_ids: Iterable[tuple[object, str]]) -> None:
        """Cache the chunk ids from the payloads of numbered points."""
        for number, chunk_id in chunk_ids:
            named = point_id(chunk_id)
            if number == number_of(named):  # else the payload is wrong or damaged
                self._known[number_of(named)] = named

    def of(self, numbers: Sequence[int]) -> list[UUID]:
        missing = [number for number in numbers if number not in self._known]
        if missing:
            raise StoreChanged(
                f"the vector index at {self._source} does not name the chunk of its point "
                f"{missing[0]}; run `surefind ingest` to rebuild it"
            )
        return [self._known[number] for number in numbers]
