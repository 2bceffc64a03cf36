"""An index with the flaw of approximate ones: it misses points unless a search is exact."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from support.fakes.indexes import MemoryIndex, MemoryIndexStore
from surefind.model import GenerationRef, Ranking
from surefind.ports import DenseQuery, IndexEntry, SparseQuery


class ForgetfulIndex(MemoryIndex):
    """Misses the chunks of the page with that title."""

    def __init__(self, entries: Mapping[UUID, IndexEntry], title: str) -> None:
        super().__init__(entries)
        self._title = title

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        rankings = await super().search(queries)
        return [
            ranking
            if isinstance(query, DenseQuery) and (query.exact or query.restrict_to is not None)
            else self._forgetting(ranking)
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def _forgetting(self, ranking: Ranking) -> Ranking:
        pairs = zip(ranking.points, ranking.scores, strict=True)
        titles = {point.int: entry.record.title for point, entry in self._entries.items()}
        kept = [pair for pair in pairs if titles[pair[0]] != self._title]
        return Ranking([point for point, _ in kept], [score for _, score in kept])


class ForgetfulIndexStore(MemoryIndexStore):
    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    async def open(self, ref: GenerationRef) -> MemoryIndex:
        return ForgetfulIndex(self.generations[ref], self._title)
