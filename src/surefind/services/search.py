"""Search: a question becomes ranked passages."""

import math
import time
from collections.abc import Mapping, Sequence
from uuid import UUID

from surefind.errors import InputError, StoreError
from surefind.model import (
    Candidate,
    ChunkRecord,
    Hit,
    Manifest,
    Mode,
    Query,
    Ranking,
    SearchResult,
    Status,
    Timings,
)
from surefind.ports import DenseProbe, Embedder, TermCounter, TermProbe, VectorIndex
from surefind.services.fusion import Pool, dense_pool, fuse, lexical_pool
from surefind.services.reading import CollectionReader, OpenGeneration

CANDIDATES = 100
MAX_QUERY_LENGTH = 2000
MAX_TOP_K = 1000


def check_query(query: Query) -> None:
    """InputError, naming the field, where a question can't be asked as it is."""
    if not query.text.strip():
        raise InputError("query: it is empty; ask something")
    if len(query.text) > MAX_QUERY_LENGTH:
        raise InputError(
            f"query: it has {len(query.text)} characters, at most {MAX_QUERY_LENGTH} are allowed"
        )
    if isinstance(query.top_k, bool) or not 1 <= query.top_k <= MAX_TOP_K:
        raise InputError(f"top_k: it is {query.top_k}, it must be from 1 to {MAX_TOP_K}")
    if not math.isfinite(query.threshold) or not 0 <= query.threshold <= 1:
        raise InputError(f"threshold: it is {query.threshold}, it must be from 0.0 to 1.0")
    if query.mode is Mode.LEXICAL and query.threshold > 0:
        raise InputError(
            "threshold: it is a cosine similarity, which lexical mode has none of; "
            "leave it out, or use mode hybrid or dense"
        )


class Searcher:
    def __init__(self, reader: CollectionReader, embedder: Embedder, terms: TermCounter) -> None:
        self._reader = reader
        self._embedder = embedder
        self._terms = terms

    async def search(self, query: Query) -> SearchResult:
        check_query(query)
        clock = _Clock()
        async with self._reader.lease() as generation:
            self._check_embedder(generation.manifest)
            pool = await self._candidates(query, generation.index, clock)
            kept = pool.best(query.top_k, query.threshold)
            clock.mark("filtered")
            records, whole = await self._records(generation, [item.point_id for item in kept])
            chunks = generation.manifest.chunks
            number = generation.manifest.number
        hits = tuple(_hit(rank, item, records) for rank, item in enumerate(kept, start=1))
        clock.mark("formatted")
        status = Status.SUCCESS if whole else Status.PARTIAL
        if not hits:
            status = Status.NO_RESULTS
        return SearchResult(
            query, hits, status, pool.best_similarity, number, chunks, clock.timings()
        )

    def _check_embedder(self, manifest: Manifest) -> None:
        if manifest.embedder != self._embedder.fingerprint:
            raise InputError(
                f"collection {manifest.collection!r} was built with {manifest.embedder}, the "
                f"configured embedder is {self._embedder.fingerprint}; configure the one that "
                "built it, or ingest again with --rebuild"
            )

    async def _candidates(self, query: Query, index: VectorIndex, clock: "_Clock") -> Pool:
        depth = max(CANDIDATES, query.top_k)
        if query.mode is Mode.LEXICAL:
            clock.mark("embedded")
            [lexical] = await index.probe([TermProbe(self._terms.count(query.text), depth)])
            clock.mark("searched")
            return lexical_pool(lexical)
        vector = await self._embedder.embed_query(query.text)
        clock.mark("embedded")
        if query.mode is Mode.DENSE:
            [dense] = await index.probe([DenseProbe(vector, depth)])
            clock.mark("searched")
            return dense_pool(dense)
        terms = self._terms.count(query.text)
        dense, lexical = await index.probe([DenseProbe(vector, depth), TermProbe(terms, depth)])
        only_dense, only_lexical = _only(dense, lexical), _only(lexical, dense)
        other_dense, other_lexical = await index.probe(
            [
                DenseProbe(vector, len(only_lexical), only_lexical),
                TermProbe(terms, len(only_dense), only_dense),
            ]
        )
        clock.mark("searched")
        return fuse(dense, lexical, other_dense, other_lexical)

    async def _records(
        self, generation: OpenGeneration, point_ids: Sequence[UUID]
    ) -> tuple[Mapping[UUID, ChunkRecord], bool]:
        """From the catalog; what it can't give, the index's own payloads stand in for."""
        records: dict[UUID, ChunkRecord] = {}
        if generation.catalog is not None:
            try:
                records.update(await generation.catalog.by_point(point_ids))
            except StoreError:
                records.clear()
        missing = [point_id for point_id in point_ids if point_id not in records]
        if missing:
            records.update(await generation.index.payloads(missing))
        return records, not missing


def _only(found: Ranking, other: Ranking) -> frozenset[UUID]:
    """Those that one leg found and the other did not. Integers, since a UUID hashes slowly."""
    known = {point.int for point in other.points}
    return frozenset(point for point in found.points if point.int not in known)


def _hit(rank: int, candidate: Candidate, records: Mapping[UUID, ChunkRecord]) -> Hit:
    return Hit(
        rank=rank,
        score=candidate.score,
        similarity=candidate.similarity,
        dense=candidate.dense,
        lexical=candidate.lexical,
        record=records[candidate.point_id],
    )


class _Clock:
    """Milliseconds between the marks of a search's life."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._stages: dict[str, float] = {}

    def mark(self, stage: str) -> None:
        now = time.perf_counter()
        self._stages[stage] = (now - self._last) * 1000
        self._last = now

    def timings(self) -> Timings:
        return Timings(
            embedded_ms=self._stages["embedded"],
            searched_ms=self._stages["searched"],
            filtered_ms=self._stages["filtered"],
            formatted_ms=self._stages["formatted"],
            total_ms=(self._last - self._start) * 1000,
        )
