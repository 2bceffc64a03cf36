"""A collection of surefind as a target: judged by what it returns, like any other."""

import time
from dataclasses import dataclass

from surefind.model import (
    ChunkRecord,
    Collapse,
    GroupBy,
    Hit,
    Mode,
    Query,
    TargetAnswer,
    TargetHit,
    TargetQuery,
)
from surefind.services.search.filters import read_expressions
from surefind.services.search.search import Searcher


@dataclass(frozen=True, slots=True)
class OwnOptions:
    collection: str
    mode: Mode = Mode.HYBRID
    collapse: Collapse = Collapse.SAME
    group_by: GroupBy | None = None
    rerank: bool = False


class OwnTarget:
    takes_limit = True
    takes_filters = True

    def __init__(self, name: str, searcher: Searcher, options: OwnOptions) -> None:
        self.name = name
        self._searcher = searcher.without_cache()
        self._options = options

    async def search(self, query: TargetQuery) -> TargetAnswer:
        options = self._options
        began = time.perf_counter()
        result = await self._searcher.search(
            Query(
                text=query.text,
                top_k=query.top_k,
                mode=options.mode,
                collection=options.collection,
                where=read_expressions(query.where),
                collapse=options.collapse,
                group_by=options.group_by,
                rerank=options.rerank,
            )
        )
        took_ms = 1000 * (time.perf_counter() - began)
        return TargetAnswer(tuple(_target_hit(hit) for hit in result.hits), took_ms)


def _target_hit(hit: Hit) -> TargetHit:
    shown = hit.record.chunk.content_hash
    return _described(
        hit.record,
        hit.score,
        hit.similarity,
        tuple(_described(one) for one in hit.also if one.chunk.content_hash == shown),
    )


def _described(
    record: ChunkRecord,
    score: float | None = None,
    similarity: float | None = None,
    twins: tuple[TargetHit, ...] = (),
) -> TargetHit:
    headings = (*record.chunk.heading_path, record.section)
    return TargetHit(
        id=record.chunk.id,
        url=record.link,
        source_path=record.chunk.source_path,
        title=record.title,
        headings=tuple(dict.fromkeys(one for one in headings if one)),
        text=record.chunk.text,
        score=score,
        similarity=similarity,
        twins=twins,
    )
