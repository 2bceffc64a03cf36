"""Answers that were given before: a generation never changes, so neither do they."""

from collections import OrderedDict
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from surefind.model import Hit, Query, SearchResult, Status
from surefind.services.generations.readers import OpenGeneration

ANSWERS_KEPT = 1024
MEMORY = 32_000_000
_RECORD = 2_000  # bytes: what a record of a passage takes beside its text

AnswerKey = tuple[Query, str]


@dataclass(slots=True)
class _GenerationAnswers:
    """Those of one generation, in the order in which they were last asked for."""

    answers: OrderedDict[AnswerKey, tuple[SearchResult, int]] = field(default_factory=OrderedDict)
    size: int = 0

    def forget_oldest(self) -> None:
        _, (_, size) = self.answers.popitem(last=False)
        self.size -= size


class AnswerCache:
    """The last answers of every generation that is open; they go when it is closed.

    None is kept that could be another one the next time: what a degraded store gave, and what
    stands in a collection that others write to. `most` and `memory`, about as many bytes, are those
    of one generation.
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
        """`query` is the question as it was asked, which the result's own may not be."""
        if generation.manifest.connected is not None or result.status is Status.PARTIAL:
            return
        kept = self._kept.setdefault(generation, _GenerationAnswers())
        key = _key(query)
        if key in kept.answers:  # it was asked twice at once
            return
        size = _RECORD + sum(map(_size, result.hits + result.over_budget))
        kept.answers[key] = result, size
        kept.size += size
        while len(kept.answers) > self._most or kept.size > self._memory:
            kept.forget_oldest()


def _key(query: Query) -> AnswerKey:
    """Conditions as they are written: to a filter, 1 and true and 1.0 are not the same."""
    return query, repr(query.where) if query.where else ""


def _size(hit: Hit) -> int:
    """Records may be shared, so that this is what they take at most."""
    around = len(hit.context.text) if hit.context else 0
    records = (hit.record, *hit.also)
    return around + sum(_RECORD + len(record.chunk.text) for record in records)
