"""Samples a connected collection: bounded, spread out and reproducible."""

import hashlib
import heapq
from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar
from uuid import UUID

from surefind.model import CollectionFacts, numbered_point, point_number
from surefind.ports import Alternatives, ForeignCollection, ForeignPoint, PointFields

T = TypeVar("T")

SAMPLE = 256
_PARTS = 32  # many, because a second writer's points may be a short range of ids
_PAGE = 256


async def sample(
    collection: ForeignCollection, facts: CollectionFacts, fields: PointFields, points: int = SAMPLE
) -> list[ForeignPoint]:
    """Sample the whole range of ids, because older points may have another payload."""
    part = max(1, points // _PARTS)
    first, following = await collection.page(None, part, fields)
    found = {point.id: point for point in first}
    if following is not None:
        for start in _starts(first, facts.points):
            page, _ = await collection.page(start, part, fields)
            found.update((point.id, point) for point in page)
    while following is not None and len(found) < points:
        page, following = await collection.page(following, min(_PAGE, points), fields)
        found.update((point.id, point) for point in page)
    return list(found.values())[:points]


def _starts(first: list[ForeignPoint], points: int) -> Iterator[UUID]:
    """Qdrant orders numbers before UUIDs. Numbers may be sequential, or use the whole range."""
    numbers = [number for point in first if (number := point_number(point.id)) is not None]
    if numbers:
        most = 4 * points if max(numbers) <= 4 * points else 2**64 - 1
        reach = points if max(numbers) <= 4 * points else most
        yield from (numbered_point(reach * part // _PARTS) for part in range(1, _PARTS))
    yield from (UUID(int=2**128 * part // _PARTS) for part in range(_PARTS))


async def every_point(
    collection: ForeignCollection, fields: PointFields, where: Alternatives = (), size: int = _PAGE
) -> AsyncIterator[list[ForeignPoint]]:
    """All points, page by page. Stops if the store repeats a page."""
    after: UUID | None = None
    while True:
        page, following = await collection.page(after, size, fields, where)
        if page:
            yield page
        if following is None or following == after:
            return
        after = following


class RandomSample(Generic[T]):
    """A random sample of a stream of any length: the points whose ids have the smallest hashes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: list[tuple[int, int, T]] = []
        self.offered = 0

    def offer(self, point: UUID, value: T) -> None:
        self.offered += 1
        if not self._size:
            return
        digest = hashlib.blake2b(point.bytes, digest_size=8).digest()
        entry = (-int.from_bytes(digest), self.offered, value)
        if len(self._held) < self._size:
            heapq.heappush(self._held, entry)
        else:
            heapq.heappushpop(self._held, entry)

    def values(self) -> list[T]:
        """In a random order, whatever the order of the stream was."""
        return [value for _, _, value in sorted(self._held, key=lambda entry: entry[:2])]
