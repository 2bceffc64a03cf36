"""What a running search knows: its query, its generations, its times and its notes."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from surefind.model import ChunkRecord, Query, Timings
from surefind.ports import Matrix, Vector
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.ranking.fusion import Candidate
from surefind.services.search.ranking.rescoring import Traits, TraitsCache

_STAGES = ("received", "embedded", "searched", "filtered", "formatted", "returned")


class Clock:
    """Measures the stages of a search in milliseconds."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._stages = dict.fromkeys(_STAGES, 0.0)

    def mark(self, stage: str) -> None:
        now = time.perf_counter()
        self._stages[stage] += (now - self._last) * 1000
        self._last = now

    def timings(self) -> Timings:
        total_ms = (self._last - self._start) * 1000
        received, embedded, searched, filtered, formatted, returned = self._stages.values()
        return Timings(embedded, searched, filtered, formatted, total_ms, received, returned)


@dataclass(slots=True)
class SearchRun:
    """The state of a running search.

    `whole` is false if a store could not answer fully, `settled` if another run may rank better.
    `question` is the text for a reranker, if it differs from that of the query.
    """

    query: Query
    generations: Mapping[str, OpenGeneration]
    clock: Clock
    known_traits: TraitsCache
    whole: bool = True
    settled: bool = True
    question: str = ""
    notes: list[str] = field(default_factory=list)

    async def records(self, candidates: Sequence[Candidate]) -> list[ChunkRecord]:
        held: dict[str, Iterator[ChunkRecord]] = {}
        for name, generation in self.generations.items():
            points = [one.point for one in candidates if one.collection == name]
            records, whole = await generation.numbered(points)
            self.whole = self.whole and whole
            held[name] = iter(records)
        return [next(held[one.collection]) for one in candidates]

    async def traits(self, collection: str, points: Sequence[int]) -> Traits:
        traits, whole = await self.known_traits.read(self.generations[collection], points)
        self.whole = self.whole and whole
        return traits

    async def vectors(self, candidates: Sequence[Candidate]) -> Matrix:
        held: dict[str, Iterator[Vector]] = {}
        for name, generation in self.generations.items():
            points = [one.point for one in candidates if one.collection == name]
            if points:
                index = generation.index
                held[name] = iter(await index.vectors(await index.point_ids(points)))
        return np.stack([next(held[one.collection]) for one in candidates])
