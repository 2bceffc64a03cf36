"""The search itself: encode the query, find candidates, select and format hits."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace

from surefind.errors import InputError, StoreError
from surefind.model import Expand, Hit, KindWeights, Manifest, Mode, Query, SearchResult, Status
from surefind.ports import QueryEmbedder
from surefind.services.encoding import conversation
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.confidence import at_most_fair, judge
from surefind.services.encoding.name_evidence import with_words
from surefind.services.encoding.query_language import (
    analyzed_as,
    language_filter,
    with_language,
)
from surefind.services.encoding.reranking import RerankStage
from surefind.services.encoding.unknown_words import corrected, replaced_words, with_replaced
from surefind.services.generations.page_names import resolved
from surefind.services.generations.readers import OpenGeneration, Readers
from surefind.services.search.answer_cache import AnswerCache
from surefind.services.search.candidates import CollectionScope, EncodedQuery, find
from surefind.services.search.filters import checked
from surefind.services.search.passages import context_of, within_budget
from surefind.services.search.query_checks import (
    MAX_BATCH,
    check_encoders,
    check_query,
    supported_query,
)
from surefind.services.search.ranking.depth import depth_for
from surefind.services.search.ranking.fusion import Pool
from surefind.services.search.ranking.rescoring import (
    DEFAULT_KIND_WEIGHTS,
    Rescoring,
    TraitsCache,
    rescoring_for,
    without_excluded,
)
from surefind.services.search.search_run import Clock, SearchRun
from surefind.services.search.selection import Chosen, choose, diversified

_BATCH_CONCURRENCY = 16
SHALLOW = 20
_DEEPEST = 1600
_GUESSED = 0.3
"""The share of replaced words from which the evidence is at most fair."""


class Searcher:
    """Finds passages. Stateless, so searches can run concurrently.

    With `answers`, results are cached.
    """

    def __init__(
        self,
        readers: Readers,
        embedder: QueryEmbedder,
        terms: Bm25Encoder,
        rerank_stage: RerankStage | None = None,
        observe: Callable[[SearchResult], None] = lambda _result: None,
        answers: AnswerCache | None = None,
        kind_weights: KindWeights = DEFAULT_KIND_WEIGHTS,
    ) -> None:
        self.traits = TraitsCache(terms.words)
        self._kind_weights = kind_weights
        self._readers = readers
        self._answers = answers
        self._observe = observe
        self.embedder = embedder
        self._terms = terms
        self._rerank_stage = rerank_stage

    async def search(self, query: Query) -> SearchResult:
        check_query(query)
        if query.rerank and self._rerank_stage is None:
            raise InputError("rerank: no reranker is configured; set reranker, or remove rerank")
        clock = Clock()
        async with self._readers.lease(query.collections) as generations:
            result = self._known(query, generations, clock)
            if result is None:
                run = SearchRun(query, generations, clock, self.traits)
                result = await self._run(run)
                cacheable = run.whole and run.settled and not query.also_in
                if self._answers is not None and cacheable:
                    self._answers.keep(query, generations[query.collection], result)
        self._observe(result)
        return result

    async def search_many(self, queries: Sequence[Query]) -> list[SearchResult]:
        """One result per query, in order. All are checked before the first search.

        The first failure ends the others and is raised as itself, not in a group.
        """
        if len(queries) > MAX_BATCH:
            raise InputError(
                f"queries: at most {MAX_BATCH} per batch, not {len(queries)}; send several batches"
            )
        for query in queries:
            check_query(query)
        slots = asyncio.Semaphore(_BATCH_CONCURRENCY)

        async def search(query: Query) -> SearchResult:
            async with slots:
                await asyncio.sleep(0)  # other tasks get a turn, even if the search never waits
                return await self.search(query)

        tasks = [asyncio.create_task(search(query)) for query in queries]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def without_cache(self, embedder: QueryEmbedder | None = None) -> "Searcher":
        """A searcher that caches no results, for measurements.

        Queries are embedded with `embedder`, if given.
        """
        fresh = copy(self)
        fresh._answers = None  # noqa: SLF001 - same class
        fresh.embedder = embedder or self.embedder
        return fresh

    def _known(
        self, query: Query, generations: Mapping[str, OpenGeneration], clock: Clock
    ) -> SearchResult | None:
        if self._answers is None or query.also_in:
            return None
        known = self._answers.known(query, generations[query.collection])
        if known is None:
            return None
        clock.mark("returned")
        return replace(known, timings=clock.timings(), remembered=True)

    async def _run(self, run: SearchRun) -> SearchResult:
        manifests = _manifests(run.generations)
        run.query = supported_query(run.query, manifests, run.notes)
        run.query = await _with_source_paths(run.query, run)
        run.query = with_language(run.query, manifests, run.notes)
        run.clock.mark("received")
        encoded = await self.encode(run.query, run.generations)
        if encoded.context:
            run.notes.append(conversation.NOTE)
            run.question = conversation.standalone_text(run.query, encoded.context)
        run.clock.mark("embedded")
        return await self._answer(encoded, run)

    async def encode(self, query: Query, generations: Mapping[str, OpenGeneration]) -> EncodedQuery:
        """Encode the query, and check that the collections were built with the same encoders."""
        manifests = _manifests(generations)
        for manifest in manifests:
            check_encoders(manifest, query.mode, self.embedder.fingerprint, self._terms)
        languages = analyzed_as(query, manifests)
        searched = [] if query.mode is Mode.DENSE else list(generations.values())
        replaced = await replaced_words(query.text, searched, self._terms, languages)
        vector, terms, strength = await conversation.encode(
            query, self.embedder, self._terms, languages, corrected(query.text, replaced)
        )
        if terms is not None and replaced:
            terms = with_replaced(self._terms, terms, replaced, languages)
        return EncodedQuery(vector, terms, strength, replaced)

    async def _answer(self, encoded: EncodedQuery, run: SearchRun) -> SearchResult:
        query = run.query
        rescoring = self.rescoring(query)
        scopes = self.scopes(query, run.generations, rescoring)
        chosen, pool = await self._chosen(encoded, scopes, rescoring, run)
        run.clock.mark("filtered")
        hits = [_hit(rank, one) for rank, one in enumerate(chosen, start=1)]
        if query.rerank:
            hits = await self._reranked(hits, run)
        hits, over_budget = within_budget(await self._expanded(hits, run), query.max_tokens)
        if over_budget:
            hits = [replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)]
        also_searched = tuple(word for one in encoded.replaced for word in one.instead)
        run.notes += [one.note for one in encoded.replaced]
        if query.highlight:
            shown = " ".join((query.text, *also_searched))
            hits = [self._highlighted(hit, shown) for hit in hits]
        run.clock.mark("formatted")
        manifest = run.generations[query.collection].manifest
        best_similarity = pool.best_similarity
        confidence = judge(manifest.calibration, best_similarity, manifest.threshold)
        if confidence is not None and query.mode is Mode.HYBRID:
            searched = [(one.index, one.manifest.chunks) for one in run.generations.values()]
            languages = analyzed_as(query, _manifests(run.generations))
            confidence = await with_words(
                confidence, query.text, hits, searched, self._terms, languages
            )
            words = len(self._terms.words(query.text))
            if encoded.replaced and len(encoded.replaced) >= _GUESSED * words:
                confidence = at_most_fair(confidence)
        chunks = sum(generation.manifest.chunks for generation in run.generations.values())
        run.clock.mark("returned")
        return SearchResult(
            query,
            tuple(hits),
            _status(hits, whole=run.whole),
            best_similarity,
            manifest.number,
            chunks,
            run.clock.timings(),
            confidence,
            tuple(over_budget),
            tuple(run.notes),
            also_searched=also_searched,
        )

    async def _chosen(
        self,
        encoded: EncodedQuery,
        scopes: Sequence[CollectionScope],
        rescoring: Rescoring | None,
        run: SearchRun,
    ) -> tuple[list[Chosen], Pool]:
        """Search deeper while grouping, collapsing or the threshold leaves too few hits."""
        query = run.query
        wanted = self._wanted(query)
        widened = query if wanted == query.top_k else replace(query, top_k=wanted)
        depth = _first_depth(query, wanted)
        while True:
            pool = await find(encoded, scopes, depth)
            run.clock.mark("searched")
            if rescoring is None:
                candidates = pool.candidates(query.threshold)
            else:
                candidates = await rescoring.apply(pool, query.threshold, run.traits)
            if query.diversity:
                candidates = await diversified(candidates, widened, run.vectors)
            chosen = await choose(candidates, widened, run.records)
            enough = len(chosen) == wanted or pool.has_all_above(query.threshold)
            settled = enough and pool.is_certain_of(wanted)
            if settled or pool.exhausted or depth >= _DEEPEST:
                return chosen, pool
            depth *= 2

    def rescoring(self, query: Query) -> Rescoring | None:
        return rescoring_for(query, self._kind_weights, self._terms.words)

    def scopes(
        self,
        query: Query,
        generations: Mapping[str, OpenGeneration],
        rescoring: Rescoring | None,
    ) -> list[CollectionScope]:
        return [
            CollectionScope(
                name,
                generation.index,
                (*checked(where, manifest.fields), *language_filter(query, manifest)),
            )
            for name, generation in generations.items()
            for manifest in [generation.manifest]
            for where in [without_excluded(query.where, rescoring, manifest.fields)]
        ]

    def _wanted(self, query: Query) -> int:
        """The number of hits to find before reranking."""
        if not query.rerank or self._rerank_stage is None:
            return query.top_k
        return max(query.top_k, self._rerank_stage.depth)

    async def _reranked(self, hits: Sequence[Hit], run: SearchRun) -> list[Hit]:
        stage = self._rerank_stage
        assert stage is not None
        ordered, left = await stage.apply(run.question or run.query.text, hits)
        if left:
            run.settled = False
            scored = len(hits) - left
            run.notes.append(
                f"reranked {scored} of {len(hits)} candidates within {stage.budget_ms} ms"
            )
        return ordered[: run.query.top_k]

    async def _expanded(self, hits: Sequence[Hit], run: SearchRun) -> list[Hit]:
        if run.query.expand is Expand.NONE:
            return list(hits)
        expanded = []
        for hit in hits:
            catalog = run.generations[hit.collection].require_catalog()
            context = await context_of(hit.record, run.query, catalog)
            expanded.append(replace(hit, context=context))
        return expanded

    def _highlighted(self, hit: Hit, words: str) -> Hit:
        matches, language = self._terms.matches, hit.record.language
        return replace(
            hit,
            highlights=tuple(matches(hit.record.chunk.text, words, language)),
            section_highlights=tuple(matches(hit.record.section, words, language)),
        )


def _first_depth(query: Query, wanted: int) -> int:
    """The depth of the first search.

    A single leg can start shallow; fusion needs the full depth for its scale, and diversity needs
    more candidates than it selects.
    """
    if query.diversity:
        return depth_for(2 * wanted)
    if query.mode is Mode.HYBRID:
        return depth_for(wanted)
    return max(SHALLOW, 2 * wanted)


def _manifests(generations: Mapping[str, OpenGeneration]) -> list[Manifest]:
    return [generation.manifest for generation in generations.values()]


async def _with_source_paths(query: Query, run: SearchRun) -> Query:
    """The query with the source paths that its filters mean; other programs' ones are exact."""
    generation = run.generations[query.collection]
    catalog = generation.catalog
    if not query.where or len(run.generations) > 1 or generation.manifest.connected or not catalog:
        return query
    where = checked(query.where, generation.manifest.fields)
    try:
        where, notes = await resolved(where, catalog)
    except StoreError:  # the index's copies can still answer
        return query
    run.notes += notes
    return replace(query, where=where)


def _hit(rank: int, chosen: Chosen) -> Hit:
    candidate = chosen.candidate
    return Hit(
        rank,
        candidate.score,
        candidate.similarity,
        candidate.dense,
        candidate.lexical,
        chosen.record,
        candidate.collection,
        also=tuple(chosen.also),
        weight=candidate.weight,
        exact_heading=candidate.exact_heading,
        page=candidate.page,
    )


def _status(hits: Sequence[Hit], *, whole: bool) -> Status:
    if not hits:
        return Status.NO_RESULTS
    flawed = any(hit.record.flaws for hit in hits)
    return Status.SUCCESS if whole and not flawed else Status.PARTIAL
