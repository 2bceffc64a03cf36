"""Explains why a passage is not among the hits."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from surefind.errors import InputError
from surefind.model import ChunkRecord, Condition, Hit, Query, SearchResult, as_stored
from surefind.model.strings import check_string
from surefind.ports import Catalog, DenseQuery, SparseQuery, VectorIndex
from surefind.services.generations.page_names import pages_named, suggestion
from surefind.services.generations.readers import OpenGeneration, Readers, chunks_named
from surefind.services.search.candidates import (
    CollectionScope,
    EncodedQuery,
    cut_at_depth,
    find,
)
from surefind.services.search.filters import checked, describe, failing
from surefind.services.search.query_checks import check_query
from surefind.services.search.ranking.depth import depth_for
from surefind.services.search.ranking.fusion import Pool
from surefind.services.search.ranking.rescoring import Rescoring, Traits, TraitsCache
from surefind.services.search.search import Searcher

_SHOWN = 3


class Cause(StrEnum):
    FOUND = "found"
    ABSENT = "absent"
    FILTERED = "filtered"
    BELOW_THRESHOLD = "below_threshold"
    FOLDED = "folded"
    GROUPED = "grouped"
    OVER_BUDGET = "over_budget"
    LOST = "lost"
    OUTRANKED = "outranked"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The cause for the best of the matching chunks.

    `rank` is its actual or hypothetical rank; `ahead` are hits with better ranks.
    """

    wanted: str
    cause: Cause
    message: str
    record: ChunkRecord | None = None
    similarity: float | None = None
    score: float | None = None
    rank: int | None = None
    filters: tuple[str, ...] = ()
    ahead: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class _ScoredChunk:
    """A matching chunk with its exact scores and rank."""

    record: ChunkRecord
    point: int
    dense: float | None
    lexical: float | None
    score: float
    rank: int
    cosine: float | None = None

    @property
    def similarity(self) -> float | None:
        return self.dense if self.cosine is None else self.cosine


class _FinalRanking:
    """The candidates of a pool as a search ranks them."""

    def __init__(self, pool: Pool, rescoring: Rescoring | None) -> None:
        self._pool = pool
        self._rescoring = rescoring
        self._scores: dict[int, float] = {}

    async def read(self, generation: OpenGeneration, traits: TraitsCache) -> None:
        async def read_traits(_collection: str, points: Sequence[int]) -> Traits:
            return (await traits.read(generation, points))[0]

        candidates = self._pool.candidates()
        if self._rescoring is not None:
            candidates = await self._rescoring.apply(self._pool, 0.0, read_traits)
        self._scores = {candidate.point: candidate.score for candidate in candidates}

    def place(
        self, record: ChunkRecord, point: int, dense: float | None, lexical: float | None
    ) -> tuple[float, int]:
        """The score of a chunk and its rank; for other chunks, the ones they would have."""
        if point in self._scores:
            return self._scores[point], list(self._scores).index(point) + 1
        score = self._pool.score_for(dense, lexical)
        if self._rescoring is not None:
            score = self._rescoring.score(score, record)
        return score, 1 + sum(other > score for other in self._scores.values())


class Explainer:
    def __init__(self, readers: Readers, searcher: Searcher) -> None:
        self._readers = readers
        self._searcher = searcher

    async def why_not(self, query: Query, wanted: str) -> WhyNot:
        """`wanted` is a chunk ID, the URL of a page or heading, or a source path."""
        check_query(query)
        async with self._readers.of(query.collection).lease() as generation:
            checked(
                query.where, generation.manifest.fields
            )  # validate the filter even if nothing is searched
            chunks = await chunks_matching(wanted, generation.require_catalog())
            if not chunks:
                names = [one.source_path for one in await generation.require_catalog().documents()]
                message = f"no chunk ID, URL or source path matches {wanted!r}"
                return WhyNot(wanted, Cause.ABSENT, message + suggestion(wanted, names))
            result = await self._searcher.search(query)
            return await self._explain(result, wanted, chunks, generation)

    async def why_none_of(
        self, result: SearchResult, wanted: str, chunk_ids: Collection[str]
    ) -> WhyNot:
        """Explain an existing result, for known chunks; `wanted` names them in the message."""
        async with self._readers.of(result.query.collection).lease() as generation:
            records = await chunks_named(chunk_ids, generation)
            if not records:
                return WhyNot(wanted, Cause.ABSENT, f"the collection no longer contains {wanted}")
            return await self._explain(result, wanted, records, generation)

    async def _explain(
        self,
        result: SearchResult,
        wanted: str,
        chunks: Sequence[ChunkRecord],
        generation: OpenGeneration,
    ) -> WhyNot:
        query = result.query
        shown = _shown(wanted, chunks, result)
        if shown is not None:
            return shown
        generations = {query.collection: generation}
        rescoring = self._searcher.rescoring(query)
        [scope] = self._searcher.scopes(query, generations, rescoring)
        where = scope.where
        kept = [record for record in chunks if not failing(record, where)]
        if not kept:
            return _filtered(wanted, chunks[0], where)
        encoded = await self._searcher.encode(query, generations)
        pool = await find(encoded, [scope], depth_for(query.top_k))
        ranking = _FinalRanking(pool, rescoring)
        await ranking.read(generation, self._searcher.traits)
        scored = await _best(encoded, kept, ranking, generation.index)
        return await _cause(wanted, query, encoded, scored, pool, scope, result)


async def chunks_matching(wanted: str, catalog: Catalog) -> list[ChunkRecord]:
    """The chunks that match a chunk ID, a URL or a source path, or a part of one."""
    if not wanted.strip():
        raise InputError("why_not is empty; give a chunk ID, a URL or a source path")
    check_string("why_not", wanted)
    chunk = await catalog.chunk(wanted)
    if chunk is not None:
        return [chunk]
    if await catalog.document(wanted) is not None:
        return await catalog.document_chunks(wanted)
    address, _, anchor = as_stored(wanted).partition("#")
    documents = await catalog.documents()
    paths = [
        document.source_path
        for document in documents
        if as_stored(document.url).rstrip("/") == address.rstrip("/")
    ] or pages_named(address, documents)
    found = [record for path in paths for record in await catalog.document_chunks(path)]
    under = [record for record in found if record.link.partition("#")[2] == anchor]
    return under if anchor else found


def _shown(wanted: str, chunks: Sequence[ChunkRecord], result: SearchResult) -> WhyNot | None:
    """The answer if the passage, or a duplicate of it, is in the result."""
    ids = {record.chunk.id for record in chunks}
    for hit in result.hits:
        if hit.record.chunk.id in ids:
            message = f"it is hit {hit.rank}"
            return _of_hit(wanted, Cause.FOUND, message, hit.record, hit)
    for hit in result.hits:
        for record in hit.also:
            if record.chunk.id in ids:
                message = f"it is a duplicate of hit {hit.rank}, which is shown instead"
                return _of_hit(wanted, Cause.FOLDED, message, record, hit)
    for hit in result.over_budget:
        if hit.record.chunk.id in ids:
            message = f"its {hit.tokens} tokens do not fit within max_tokens"
            return _of_hit(wanted, Cause.OVER_BUDGET, message, hit.record, hit)
    return None


def _of_hit(wanted: str, cause: Cause, message: str, record: ChunkRecord, hit: Hit) -> WhyNot:
    return WhyNot(wanted, cause, message, record, hit.similarity, hit.score, hit.rank)


def _filtered(wanted: str, record: ChunkRecord, where: Sequence[Condition]) -> WhyNot:
    failed = tuple(describe(condition) for condition in failing(record, where))
    message = f"it does not match the filter: {', '.join(failed)}"
    return WhyNot(wanted, Cause.FILTERED, message, record, filters=failed)


async def _best(
    encoded: EncodedQuery,
    chunks: Sequence[ChunkRecord],
    ranking: _FinalRanking,
    index: VectorIndex,
) -> _ScoredChunk:
    numbers = [index.number(record.point_id) for record in chunks]
    points = frozenset(numbers)
    dense: dict[int, float] = {}
    cosines: dict[int, float] = {}
    lexical: dict[int, float] = {}
    if encoded.vector is not None:
        [found] = await index.search([DenseQuery(encoded.vector, len(points), points)])
        dense = dict(zip(found.points, found.scores, strict=True))
        cosines = dict(zip(found.points, found.cosines or (), strict=False))
    if encoded.terms is not None:
        [found] = await index.search([SparseQuery(encoded.terms, len(points), points)])
        lexical = dict(zip(found.points, found.scores, strict=True))
    candidates = []
    for record, point in zip(chunks, numbers, strict=True):
        scores = (
            dense.get(point) if encoded.vector is not None else None,
            lexical.get(point, 0.0) if encoded.terms is not None else None,
        )
        place = ranking.place(record, point, *scores)
        candidates.append(_ScoredChunk(record, point, *scores, *place))
    best = max(candidates, key=lambda scored: (scored.score, -scored.rank))
    return replace(best, cosine=cosines.get(best.point))


async def _cause(
    wanted: str,
    query: Query,
    encoded: EncodedQuery,
    scored: _ScoredChunk,
    pool: Pool,
    scope: CollectionScope,
    result: SearchResult,
) -> WhyNot:
    answer = WhyNot(
        wanted,
        Cause.OUTRANKED,
        "",
        scored.record,
        None if scored.similarity is None else min(1.0, max(0.0, scored.similarity)),
        scored.score,
        scored.rank,
        ahead=result.hits[-_SHOWN:],
    )
    if scored.similarity is not None and scored.similarity < query.threshold:
        similarity = f"{scored.similarity:.3f}"
        message = f"its similarity {similarity} is below the threshold {query.threshold}"
        return replace(answer, cause=Cause.BELOW_THRESHOLD, message=message)
    if await _is_lost(encoded, scored, pool, scope, depth_for(query.top_k)):
        message = f"the approximate index misses it; exact search ranks it {scored.rank}"
        return replace(answer, cause=Cause.LOST, message=message)
    if scored.rank <= query.top_k and query.group_by is not None:
        message = f"its {query.group_by} already has {query.group_size} of the hits, the group_size"
        return replace(answer, cause=Cause.GROUPED, message=message)
    last = result.hits[-1] if result.hits else None
    behind = f"; hit {last.rank} has {last.score:.3f}" if last else ""
    message = f"it ranks {scored.rank} with a score of {scored.score:.3f}{behind}"
    return replace(answer, message=message)


async def _is_lost(
    encoded: EncodedQuery, scored: _ScoredChunk, pool: Pool, scope: CollectionScope, depth: int
) -> bool:
    """Whether exact search of the same depth finds it, but approximate search does not."""
    if encoded.vector is None or pool.rank(scored.point) is not None:
        return False
    leg_query = DenseQuery(encoded.vector, depth + 1, where=scope.where, exact=True)
    [exact] = await scope.index.search([leg_query])
    return scored.point in (await cut_at_depth(leg_query, exact, scope.index, depth)).ranking.points
