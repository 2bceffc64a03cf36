"""Answers that were given before: a generation never changes, so neither do they."""

from collections import OrderedDict
from weakref import WeakKeyDictionary

from surefind.model import Hit, Query, SearchResult, Status
from surefind.services.reading import OpenGeneration

ANSWERS_KEPT = 1024
_LONGEST = 50_000  # characters: a thousand of them are 50 MB at most

Key = tuple[Query, str]


class Answers:
    """The last answers of every generation that is open; they go when it is closed.

    None is kept that could be another one the next time: what a degraded store gave, and what
    stands in a collection that others write to.
    """

    def __init__(self, most: int = ANSWERS_KEPT) -> None:
        self._most = most
        self._kept: WeakKeyDictionary[OpenGeneration, OrderedDict[Key, SearchResult]] = (
            WeakKeyDictionary()
        )

    def known(self, query: Query, generation: OpenGeneration) -> SearchResult | None:
        kept = self._kept.get(generation)
        if kept is None:
            return None
        key = _key(query)
        result = kept.get(key)
        if result is not None:
            kept.move_to_end(key)
        return result

    def keep(self, query: Query, generation: OpenGeneration, result: SearchResult) -> None:
        """`query` is the question as it was asked, which the result's own may not be."""
        if generation.manifest.connected is not None or result.status is Status.PARTIAL:
            return
        if sum(map(_length, result.hits + result.over_budget)) > _LONGEST:
            return
        kept = self._kept.setdefault(generation, OrderedDict())
        kept[_key(query)] = result
        if len(kept) > self._most:
            kept.popitem(last=False)


def _key(query: Query) -> Key:
    """Conditions as they are written: to a filter, 1 and true and 1.0 are not the same."""
    return query, repr(query.where) if query.where else ""


def _length(hit: Hit) -> int:
    return len(hit.record.chunk.text) + (len(hit.context.text) if hit.context else 0)
