"""Caches search results; a generation never changes, so they never become stale."""

from collections import OrderedDict
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from surefind.model import Hit, Query, SearchResult, Status
from surefind.services.generations.readers import OpenGeneration

ANSWERS_KEPT = 1024
MEMORY = 32_000_000
_RECORD = 2_000  # approximate bytes of a passage record without its text

AnswerKey = tuple[Query, str]


@dataclass(slots=True)
class _GenerationAnswers:
    """The cached results of a generation, least recently used first."""

    answers: OrderedDict[AnswerKey, tuple[SearchResult, int]] = field(default_factory=OrderedDict)
    size: int = 0

    def forget_oldest(self) -> None:
        _, (_, size) = self.answers.popitem(last=False)
        self.size -= size


class AnswerCache:
    """The latest results of every open generation; dropped when it is closed.

    Results that could change are not cached: those of a degraded store, and those of connected
    collections. `most` (results) and `memory` (approximate bytes) are limits per generation.
    """

    def __init__(self, most: int = ANSWERS_KEPT, memory: int = MEMORY) -> None:
        self._most = most
        self._memory = memory
        self._kept: WeakKeyDictionary[OpenGeneration, _GenerationAnswers] = WeakKeyDictionary()

    def known(self, query: Query, generation: OpenGeneration) -> SearchResult | None:
        kept = self._kept.get(generation)
        if kept is None:
            return None
        key = _key(query)
        found = kept.answers.get(key)
        if found is None:
            return None
        kept.answers.move_to_end(key)
        return found[0]

    def keep(self, query: Query, generation: OpenGeneration, result: SearchResult) -> None:
        """`query` is the original query, which the search may have changed in `result.query`."""
        if generation.manifest.connected is not None or result.status is Status.PARTIAL:
            return
        kept = self._kept.setdefault(generation, _GenerationAnswers())
        key = _key(query)
        if key in kept.answers:  # a concurrent search has cached it
            return
        size = _RECORD + sum(map(_size, result.hits + result.over_budget))
        kept.answers[key] = result, size
        kept.size += size
        while len(kept.answers) > self._most or kept.size > self._memory:
            kept.forget_oldest()


def _key(query: Query) -> AnswerKey:
    """The key has the conditions as text, because filters distinguish 1, 1.0 and true."""
    return query, repr(query.where) if query.where else ""


def _size(hit: Hit) -> int:
    """The maximum size of a hit; records may be shared."""
    around = len(hit.context.text) if hit.context else 0
    records = (hit.record, *hit.also)
    return around + sum(_RECORD + len(record.chunk.text) for record in records)
