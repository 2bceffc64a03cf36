"""Validation: runs golden tests or plain questions, and reports the quality of retrieval.

A failed query does not stop the others. An unavailable store ends the run; the report then covers
the tests that ran.
"""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByName
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.golden.resolution import (
    LostAnswers,
    Resolution,
    ResolvedExpectations,
    ResolvedGoldenSet,
    Resolver,
    quoted_on,
)
from surefind.evaluation.report.report import Report, Subject
from surefind.evaluation.report.summary import RunFacts, summarise
from surefind.model import Collapse, GroupBy, Mode, Query
from surefind.ports import Catalog
from surefind.services.encoding.prefetch import PrefetchingEmbedder
from surefind.services.generations.readers import OpenGeneration, Readers
from surefind.services.search.query_checks import check_query
from surefind.services.search.search import Searcher
from surefind.services.search.why_not import Explainer
from surefind.services.validation.extra.extra_checks import ExtraChecks
from surefind.services.validation.golden_test_run import TestRunner
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.test_session import CountProgress, TestSession


class Validator:
    def __init__(
        self,
        readers: Readers,
        searcher: Searcher,
        version: str,
        under_load: Searcher | None = None,
    ) -> None:
        """`under_load` runs the load test, for example without a query cache."""
        self._readers = readers
        self._searcher = searcher
        self._version = version
        self._under_load = under_load or searcher.without_cache()

    async def run(
        self,
        golden: GoldenSet,
        request: RunRequest | None = None,
        progress: CountProgress = lambda _done, _total: None,
        lost: LostAnswers | None = None,
    ) -> Report:
        """Raises StoreError if the collection can't be opened, and CancelledError if a stop was
        requested before the first query.

        `lost` are expected answers that the previous generation has and this one lacks.
        """
        request = request or RunRequest()
        measures = request.measures_for(golden)
        async with self._readers.of(request.collection).lease() as generation:
            resolution = await resolve(golden, generation)
            meaning = resolution.meaning
            subject = await self._subject(golden, request, generation)
            subject = replace(subject, group_by=_group_by(golden, meaning))
            resolved = ResolvedGoldenSet(meaning, lost or {})
            prefetching = PrefetchingEmbedder(self._searcher.embedder, _questions(golden.tests))
            searcher = self._searcher.without_cache(prefetching)
            explainer = Explainer(self._readers, searcher)
            # A connected collection serves as its own catalog: there are no rows to check.
            catalog = generation.catalog if generation.manifest.connected is None else None
            tester = TestRunner(
                searcher, prefetching, explainer, subject, resolved, measures, catalog
            )
            session = TestSession(golden.tests, tester, progress, request.stop_requested)
            try:
                session.require_no_stop()
                await session.work(request.concurrency, partial=request.partial)
            finally:
                await prefetching.close()
            extra = ExtraChecks(
                self._searcher.without_cache(), self._under_load, generation, tester
            )
            if not session.interrupted:
                await extra.measure(golden, request)
                session.note_stop()
        run = RunFacts(
            run_id=str(uuid.uuid4()),
            subject=subject,
            started_at=session.started_at,
            completed_at=datetime.now(UTC),
            concurrency=request.concurrency,
            integrity=tester.integrity,
            interrupted=extra.interrupted or session.interrupted,
            store_away=session.is_unavailable or extra.is_unavailable,
            index_recall=extra.index_recall,
            load=extra.load,
            false_accept_cost=request.false_accept_cost,
            places=resolution.places,
            stages_ms=tester.stages_ms,
        )
        return summarise(golden, measures, session.outcomes, run)

    async def _subject(
        self, golden: GoldenSet, request: RunRequest, generation: OpenGeneration
    ) -> Subject:
        manifest = generation.manifest
        connected = manifest.connected
        return Subject(
            collection=manifest.collection,
            generation=manifest.number,
            chunks=manifest.chunks,
            dimensions=manifest.embedder.dimensions,
            embedder=str(manifest.embedder),
            mode=request.mode or golden.mode or Mode.HYBRID,
            top_k=request.top_k_for(golden),
            surefind_version=self._version,
            collapse=request.collapse or golden.collapse or Collapse.SAME,
            indexed=await generation.index.indexed(),
            distance="cosine" if connected is None else str(connected.space.distance),
        )


async def resolve(golden: GoldenSet, generation: OpenGeneration) -> Resolution:
    """The chunks that each expectation means in an open generation."""
    if any(test.expected or test.known_wrong for test in golden.tests):
        return await resolve_in(golden, generation.require_catalog())
    return Resolution()


async def resolve_in(golden: GoldenSet, catalog: Catalog) -> Resolution:
    """The chunks that each expectation means. A quotation may span several chunks."""
    resolver = Resolver(one for test in golden.tests for one in (*test.expected, *test.known_wrong))
    if not resolver.meaning:
        return Resolution()
    async for record in catalog.chunks():
        resolver.show(record)
    unmet = resolver.unmet_quotations
    for document in await catalog.documents() if unmet else ():
        text = await catalog.document_text(document.source_path)
        if quoted := quoted_on(text, unmet):
            chunks = await catalog.document_chunks(document.source_path)
            resolver.show_page(quoted, text, chunks)
    return resolver.resolution


def _group_by(golden: GoldenSet, meaning: ResolvedExpectations) -> GroupBy | None:
    """Judged documents are ranked as documents, unless some labels are the ids of chunks."""
    names_chunks = any(
        isinstance(one, ByName) and one.name in chunk_ids for one, chunk_ids in meaning.items()
    )
    return None if names_chunks else golden.group_by


def _questions(tests: Sequence[GoldenTest]) -> list[str]:
    """The questions that will be searched for."""
    questions = []
    for test in tests:
        with suppress(InputError):  # the outcome of the test reports it
            check_query(Query(test.query_text))
            if not test.is_empty:
                questions.append(test.query_text)
    return questions
