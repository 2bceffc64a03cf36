"""A sample of a collection that something else filled: bounded, spread, and the same every time."""

import hashlib
import heapq
from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar
from uuid import UUID

from surefind.model import CollectionFacts, numbered_point, point_number
from surefind.ports import Alternatives, ForeignCollection, ForeignPoint, PointFields

T = TypeVar("T")

SAMPLE = 256
_PARTS = 32  # a second writer's points may be a short stretch of the ids
_PAGE = 256


async def sample(
    collection: ForeignCollection, facts: CollectionFacts, wanted: PointFields, points: int = SAMPLE
) -> list[ForeignPoint]:
    """From several places in the order of ids: what was written first may have another shape."""
    part = max(1, points // _PARTS)
    first, following = await collection.page(None, part, wanted)
    found = {point.id: point for point in first}
    if following is not None:
        for start in _starts(first, facts.points):
            page, _ = await collection.page(start, part, wanted)
            found.update((point.id, point) for point in page)
    while following is not None and len(found) < points:
        page, following = await collection.page(following, min(_PAGE, points), wanted)
        found.update((point.id, point) for point in page)
    return list(found.values())[:points]


def _starts(first: list[ForeignPoint], points: int) -> Iterator[UUID]:
    """Numbers come before UUIDs, and may be counted up or drawn from the whole range."""
    numbers = [number for point in first if (number := point_number(point.id)) is not None]
    if numbers:
        most = 4 * points if max(numbers) <= 4 * points else 2**64 - 1
        reach = points if max(numbers) <= 4 * points else most
        yield from (numbered_point(reach * part // _PARTS) for part in range(1, _PARTS))
    yield from (UUID(int=2**128 * part // _PARTS) for part in range(_PARTS))


async def every_point(
    collection: ForeignCollection, wanted: PointFields, where: Alternatives = (), size: int = _PAGE
) -> AsyncIterator[list[ForeignPoint]]:
    """All points, page by page. A store that repeats a page is not followed for ever."""
    after: UUID | None = None
    while True:
        page, following = await collection.page(after, size, wanted, where)
        if page:
            yield page
        if following is None or following == after:
            return
        after = following


class RandomSample(Generic[T]):
    """A random sample of a stream of any length: the ids with the smallest hashes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: list[tuple[int, int, T]] = []
        self.offered = 0

    def offer(self, point: UUID, value: T) -> None:
        self.offered += 1
        if not self._size:
            return
        digest = hashlib.blake2b(point.bytes, digest_size=8).digest()
        one = (-int.from_bytes(digest), self.offered, value)
        if len(self._held) < self._size:
            heapq.heappush(self._held, one)
        else:
            heapq.heappushpop(self._held, one)

    def values(self) -> list[T]:
        """In an order that has nothing to do with that of the stream."""
        return [value for _, _, value in sorted(self._held, key=lambda one: one[:2])]
