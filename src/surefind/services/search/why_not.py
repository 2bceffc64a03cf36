"""Why a passage is not among the hits: one cause, and the numbers that show it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from surefind.errors import InputError
from surefind.model import ChunkRecord, Condition, Hit, Query, SearchResult
from surefind.model.strings import check_string
from surefind.ports import Catalog, DenseQuery, SparseQuery, VectorIndex
from surefind.services.generations.readers import OpenGeneration, Readers, chunks_named
from surefind.services.search.candidates import (
    CollectionScope,
    EncodedQuery,
    cut_at_depth,
    find,
)
from surefind.services.search.depth import depth_for
from surefind.services.search.filters import checked, describe, failing
from surefind.services.search.fusion import Candidate, Pool
from surefind.services.search.kind_weights import weighed, weight_of
from surefind.services.search.search import Searcher, check_query

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
    """The cause for the best of the chunks that were meant.

    `rank` is where it stands, or would; `ahead` are hits that stand before it.
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
    """One chunk of those that were meant: its true scores, and where they put it."""

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


class _WeighedRanking:
    """The candidates of a pool as a search ranks them, by the weights of their kinds."""

    def __init__(self, weights: Mapping[str, float], pool: Pool) -> None:
        self.pool = pool
        self._weights = weights
        self._scores: dict[int, float] = {}

    async def read(self, generation: OpenGeneration) -> None:
        async def fetch(candidates: Sequence[Candidate]) -> Sequence[ChunkRecord]:
            return (await generation.numbered([one.point for one in candidates]))[0]

        candidates = self.pool.candidates()
        if self._weights:
            candidates = await weighed(candidates, self._weights, fetch)
        self._scores = {candidate.point: candidate.score for candidate in candidates}

    def place(
        self, record: ChunkRecord, point: int, dense: float | None, lexical: float | None
    ) -> tuple[float, int]:
        """The score of a chunk and its rank; if it is no candidate, those that it would have."""
        if point in self._scores:
            return self._scores[point], list(self._scores).index(point) + 1
        score = self.pool.score_for(dense, lexical)
        if self._weights:
            score *= weight_of(record, self._weights)
        return score, 1 + sum(other > score for other in self._scores.values())


class Explainer:
    def __init__(self, readers: Readers, searcher: Searcher) -> None:
        self._readers = readers
        self._searcher = searcher

    async def why_not(self, query: Query, wanted: str) -> WhyNot:
        """`wanted` is a chunk's id, a page's address with or without a heading, or its path."""
        check_query(query)
        async with self._readers.of(query.collection).lease() as generation:
            checked(query.where, generation.manifest.fields)  # also where nothing is searched
            chunks = await meant(wanted, generation.require_catalog())
            if not chunks:
                return WhyNot(wanted, Cause.ABSENT, f"no chunk, page or address is {wanted!r}")
            result = await self._searcher.search(query)
            return await self._explain(result, wanted, chunks, generation)

    async def why_none_of(
        self, result: SearchResult, wanted: str, chunk_ids: Collection[str]
    ) -> WhyNot:
        """The same for an answer that was given, and for chunks that are known already, whatever
        they are called together.
        """
        async with self._readers.of(result.query.collection).lease() as generation:
            records = await chunks_named(chunk_ids, generation)
            if not records:
                return WhyNot(wanted, Cause.ABSENT, f"the collection no longer holds {wanted}")
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
        [place] = self._searcher.scopes(query, generations)
        where = place.where
        kept = [record for record in chunks if not failing(record, where)]
        if not kept:
            return _filtered(wanted, chunks[0], where)
        question = await self._searcher.question(query, generations)
        pool = await find(question, [place], depth_for(query.top_k))
        ranking = _WeighedRanking(self._searcher.weights(query, generations), pool)
        await ranking.read(generation)
        standing = await _best(question, kept, ranking, generation.index)
        return await _cause(wanted, query, question, standing, pool, place, result)


async def meant(wanted: str, catalog: Catalog) -> list[ChunkRecord]:
    """The chunks that a chunk id, an address or a source path stands for."""
    if not wanted.strip():
        raise InputError("why_not: it is empty; name a chunk, a page's address or its path")
    check_string("why_not", wanted)
    chunk = await catalog.chunk(wanted)
    if chunk is not None:
        return [chunk]
    if await catalog.document(wanted) is not None:
        return await catalog.document_chunks(wanted)
    address, _, anchor = wanted.partition("#")
    found = [
        record
        for document in await catalog.documents()
        if document.url.rstrip("/") == address.rstrip("/")
        for record in await catalog.document_chunks(document.source_path)
    ]
    under = [record for record in found if record.link.partition("#")[2] == anchor]
    return under if anchor else found


def _shown(wanted: str, chunks: Sequence[ChunkRecord], result: SearchResult) -> WhyNot | None:
    """It is there after all, or something that stands for it is."""
    ids = {record.chunk.id for record in chunks}
    for hit in result.hits:
        if hit.record.chunk.id in ids:
            message = f"it is hit {hit.rank}"
            return _of_hit(wanted, Cause.FOUND, message, hit.record, hit)
    for hit in result.hits:
        for record in hit.also:
            if record.chunk.id in ids:
                message = f"it counts as the same as hit {hit.rank}, which is shown for it"
                return _of_hit(wanted, Cause.FOLDED, message, record, hit)
    for hit in result.over_budget:
        if hit.record.chunk.id in ids:
            message = f"its {hit.tokens} tokens do not fit into max_tokens any more"
            return _of_hit(wanted, Cause.OVER_BUDGET, message, hit.record, hit)
    return None


def _of_hit(wanted: str, cause: Cause, message: str, record: ChunkRecord, hit: Hit) -> WhyNot:
    return WhyNot(wanted, cause, message, record, hit.similarity, hit.score, hit.rank)


def _filtered(wanted: str, record: ChunkRecord, where: Sequence[Condition]) -> WhyNot:
    failed = tuple(describe(condition) for condition in failing(record, where))
    message = f"the filter leaves it out: {', '.join(failed)}"
    return WhyNot(wanted, Cause.FILTERED, message, record, filters=failed)


async def _best(
    question: EncodedQuery,
    chunks: Sequence[ChunkRecord],
    ranking: _WeighedRanking,
    index: VectorIndex,
) -> _ScoredChunk:
    numbers = [index.number(record.point_id) for record in chunks]
    points = frozenset(numbers)
    dense: dict[int, float] = {}
    cosines: dict[int, float] = {}
    lexical: dict[int, float] = {}
    if question.vector is not None:
        [found] = await index.search([DenseQuery(question.vector, len(points), points)])
        dense = dict(zip(found.points, found.scores, strict=True))
        cosines = dict(zip(found.points, found.cosines or (), strict=False))
    if question.terms is not None:
        [found] = await index.search([SparseQuery(question.terms, len(points), points)])
        lexical = dict(zip(found.points, found.scores, strict=True))
    standings = []
    for record, point in zip(chunks, numbers, strict=True):
        scores = (
            dense.get(point) if question.vector is not None else None,
            lexical.get(point, 0.0) if question.terms is not None else None,
        )
        place = ranking.place(record, point, *scores)
        standings.append(_ScoredChunk(record, point, *scores, *place))
    best = max(standings, key=lambda standing: (standing.score, -standing.rank))
    return replace(best, cosine=cosines.get(best.point))


async def _cause(
    wanted: str,
    query: Query,
    question: EncodedQuery,
    standing: _ScoredChunk,
    pool: Pool,
    place: CollectionScope,
    result: SearchResult,
) -> WhyNot:
    answer = WhyNot(
        wanted,
        Cause.OUTRANKED,
        "",
        standing.record,
        None if standing.similarity is None else min(1.0, max(0.0, standing.similarity)),
        standing.score,
        standing.rank,
        ahead=result.hits[-_SHOWN:],
    )
    if standing.similarity is not None and standing.similarity < query.threshold:
        similarity = f"{standing.similarity:.3f}"
        message = f"its similarity {similarity} is below the threshold {query.threshold}"
        return replace(answer, cause=Cause.BELOW_THRESHOLD, message=message)
    if await _is_lost(question, standing, pool, place, depth_for(query.top_k)):
        message = (
            "the approximate index does not find it, though an exact search does: "
            f"it would be number {standing.rank}"
        )
        return replace(answer, cause=Cause.LOST, message=message)
    if standing.rank <= query.top_k and query.group_by is not None:
        message = f"its {query.group_by} has its {query.group_size} places among the hits already"
        return replace(answer, cause=Cause.GROUPED, message=message)
    last = result.hits[-1] if result.hits else None
    behind = f"; hit {last.rank} has {last.score:.3f}" if last else ""
    message = f"it stands at rank {standing.rank} with a score of {standing.score:.3f}{behind}"
    return replace(answer, message=message)


async def _is_lost(
    question: EncodedQuery, standing: _ScoredChunk, pool: Pool, place: CollectionScope, depth: int
) -> bool:
    """An exact search of the pool's depth has it, and the approximate one does not."""
    if question.vector is None or pool.rank(standing.point) is not None:
        return False
    leg_query = DenseQuery(question.vector, depth + 1, where=place.where, exact=True)
    [exact] = await place.index.search([leg_query])
    return (
        standing.point in (await cut_at_depth(leg_query, exact, place.index, depth)).ranking.points
    )
