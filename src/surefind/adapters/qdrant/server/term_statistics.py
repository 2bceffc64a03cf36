"""How many points of a sharded collection have each term.

Qdrant computes the rarity of terms (IDF) separately for each shard, so scores and ranks would
depend on the number of shards. A collection with several shards therefore has no IDF modifier:
queries carry the IDF of the whole collection in their weights. The counts are taken from the
points on their way to the server, and stored beside the collection.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefind.errors import StoreChanged
from surefind.model import SparseVector

Numbers: TypeAlias = NDArray[np.uint32]

_COUNTED_AT_ONCE = 2**20
_PART_BYTES = 2**20
_TERM = np.dtype("<u4")


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """`points` is the number of points that have terms.

    `terms` are sorted and `counts` is in the same order. Terms of a single point, most of them
    pairs of words, are left out: a term that is not here counts as one of them. If no point has
    it at all, its weight does not matter.
    """

    points: int
    terms: Numbers
    counts: Numbers

    def weighted(self, query: SparseVector) -> SparseVector:
        """The query with each weight multiplied by the IDF of its term, by Qdrant's formula."""
        found = np.ones(len(query.ids), dtype=np.float64)
        if self.terms.size:
            wanted = np.array(query.ids, dtype=np.uint32)
            rows = np.minimum(np.searchsorted(self.terms, wanted), self.terms.size - 1)
            known = self.terms[rows] == wanted
            found[known] = self.counts[rows[known]]
        rarity = np.log1p((self.points - found + 0.5) / (found + 0.5))
        weights = np.array(query.weights, dtype=np.float64) * rarity
        return SparseVector(query.ids, tuple(weights.tolist()))

    def to_parts(self) -> list[dict[str, object]]:
        """Payloads of at most about a megabyte."""
        steps = np.diff(self.terms, prepend=np.uint32(0))
        packed = zlib.compress(_by_byte(steps) + _by_byte(self.counts))
        starts = range(0, len(packed), _PART_BYTES)
        return [
            {
                "part": number,
                "parts": len(starts),
                "points": self.points,
                "terms": self.terms.size,
                "data": b64encode(packed[start : start + _PART_BYTES]).decode(),
            }
            for number, start in enumerate(starts)
        ]


def from_parts(parts: Iterable[dict[str, object]]) -> TermStatistics:
    """Raises StoreChanged if parts are missing or damaged."""
    try:
        held = sorted(parts, key=lambda part: int(str(part["part"])))
        points, size, expected = (int(str(held[0][key])) for key in ("points", "terms", "parts"))
        packed = b"".join(b64decode(str(part["data"]), validate=True) for part in held)
        raw = np.frombuffer(zlib.decompress(packed), dtype=np.uint8)
        steps, counts = (_from_bytes(half) for half in raw.reshape(2, -1))
        terms = np.cumsum(steps, dtype=np.uint32)
    except (KeyError, IndexError, ValueError, zlib.error) as error:
        raise StoreChanged("its term statistics are damaged") from error
    if (len(held), terms.size) != (expected, size):
        raise StoreChanged("its term statistics are incomplete")
    return TermStatistics(points, terms, counts)


class TermCounter:
    """Counts the points of each term while they are uploaded, in 8 bytes per distinct term.

    `added` is the number of all points, including those without terms.
    """

    def __init__(self) -> None:
        self.added = 0
        self._points = 0
        self._waiting: list[int] = []
        self._terms: Numbers = np.empty(0, dtype=np.uint32)
        self._counts: Numbers = np.empty(0, dtype=np.uint32)

    def add(self, terms: Iterable[int]) -> None:
        """Count the terms of one point, each of which occurs once."""
        self.added += 1
        before = len(self._waiting)
        self._waiting += terms
        self._points += len(self._waiting) > before
        if len(self._waiting) >= _COUNTED_AT_ONCE:
            self._merge()

    def statistics(self) -> TermStatistics:
        self._merge()
        repeated = self._counts > 1
        return TermStatistics(self._points, self._terms[repeated], self._counts[repeated])

    def _merge(self) -> None:
        terms, counts = np.unique(np.array(self._waiting, dtype=np.uint32), return_counts=True)
        self._waiting.clear()
        merged, rows = np.unique(np.concatenate([self._terms, terms]), return_inverse=True)
        total = np.zeros(merged.size, dtype=np.uint32)
        total[rows[: self._terms.size]] = self._counts
        total[rows[self._terms.size :]] += counts.astype(np.uint32)
        self._terms, self._counts = merged, total


def _by_byte(numbers: Numbers) -> bytes:
    """All first bytes, then all second ones, and so on: small numbers compress better."""
    return numbers.astype(_TERM).view(np.uint8).reshape(-1, 4).T.tobytes()


def _from_bytes(planes: NDArray[np.uint8]) -> Numbers:
    return np.ascontiguousarray(planes.reshape(4, -1).T).view(_TERM).reshape(-1).astype(np.uint32)
