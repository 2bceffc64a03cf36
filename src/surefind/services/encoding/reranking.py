"""Reranking: the best candidates are scored together with the query, within a time budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from surefind.model import Hit, Reranking
from surefind.ports import Reranker

DEFAULT_DEPTH = 50
BUDGETED_BATCH = 8


@dataclass(frozen=True, slots=True)
class RerankStage:
    """A reranker with its limits.

    `depth` candidates are reranked, or as many as the query asks for. With a budget, they are
    scored in batches of `batch`, best first, for as long as it lasts.
    """

    reranker: Reranker
    depth: int = DEFAULT_DEPTH
    batch: int = BUDGETED_BATCH
    budget_ms: int | None = None

    async def apply(self, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], int]:
        """The hits by the reranker's scores, and how many did not fit into the budget.

        Those follow in their order, and none of their scores is higher.
        """
        scores = await self._scores(query, [hit.record.chunk.passage for hit in hits])
        if not scores:
            return list(hits), len(hits)
        scored = sorted(zip(scores, hits, strict=False), key=lambda pair: (-pair[0], pair[1].rank))
        lowest = scored[-1][0]
        ordered = [
            replace(hit, score=score, reranking=Reranking(score, hit.rank)) for score, hit in scored
        ]
        left = hits[len(scores) :]
        ordered += [replace(hit, score=min(hit.score, lowest)) for hit in left]
        return [replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1)], len(left)

    async def _scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score per passage; only those of the first passages if the budget is used up."""
        if self.budget_ms is None:
            return await self.reranker.rerank(query, passages)
        scores: list[float] = []
        try:
            async with asyncio.timeout(self.budget_ms / 1000):
                for start in range(0, len(passages), self.batch):
                    scores += await self.reranker.rerank(
                        query, passages[start : start + self.batch]
                    )
        except TimeoutError:
            pass
        return scores
