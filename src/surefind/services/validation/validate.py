"""Validation: golden tests or plain questions are asked, and one report says how it went.

A question that fails never stops the others. A store that is away does, as nothing more could be
measured; what was measured until then is reported.
"""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.golden.resolution import (
    LostAnswers,
    ResolvedExpectations,
    ResolvedGoldenSet,
    Resolver,
    quoted_on,
)
from surefind.evaluation.measures.ranking import Measure, MeasureKind
from surefind.evaluation.report.report import Outcome, Report, Subject, TestOutcome
from surefind.evaluation.report.summary import RunFacts, summarise
from surefind.model import DEFAULT_COLLECTION, Collapse, Manifest, Mode, Query
from surefind.ports import Catalog
from surefind.services.encoding.prefetch import PrefetchingEmbedder
from surefind.services.generations.readers import OpenGeneration, Readers
from surefind.services.search.search import MAX_TOP_K, Searcher, check_query
from surefind.services.search.why_not import Explainer
from surefind.services.validation.extra_checks import ExtraChecks
from surefind.services.validation.golden_test_run import AnsweredTest, TestRunner
from surefind.services.validation.load_test import LoadOptions

DEFAULT_TOP_K = 5
MAX_CONCURRENCY = 64
MAX_COST = 1000.0
_AWAY_AFTER = 3
"""So many answers in a row that a store or a service is away, and the run ends."""
_STOPPED = "it was stopped"

CountProgress = Callable[[int, int], None]
"""Told how many of how many tests are done."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ValidateOptions:
    """What is None is as the golden set says, or else as usual.

    `partial`: a run that is stopped tells what it found until then. `index_recall` holds the
    approximate index against an exact search, also where a gate of the golden set speaks of it;
    `duration_s` puts a load on for so long, at a rate of `rate_per_s` or as fast as it goes.
    `stop_requested` is asked between questions: a cancellation alone may get lost.
    """

    collection: str = DEFAULT_COLLECTION
    top_k: int | None = None
    mode: Mode | None = None
    concurrency: int = 8
    collapse: Collapse | None = None
    partial: bool = True
    index_recall: bool = False
    duration_s: float | None = None
    rate_per_s: float | None = None
    false_accept_cost: float = 1.0
    stop_requested: Callable[[], bool] = _never

    @property
    def load(self) -> LoadOptions | None:
        if self.duration_s is None:
            return None
        return LoadOptions(self.concurrency, self.duration_s, self.rate_per_s)


class Validator:
    def __init__(
        self,
        readers: Readers,
        searcher: Searcher,
        version: str,
        under_load: Searcher | None = None,
    ) -> None:
        """`under_load` is what a load is put on: one that remembers no question, if you like."""
        self._readers = readers
        self._searcher = searcher
        self._version = version
        self._under_load = under_load or searcher.afresh()

    async def run(
        self,
        golden: GoldenSet,
        options: ValidateOptions | None = None,
        progress: CountProgress = lambda _done, _total: None,
        lost: LostAnswers | None = None,
    ) -> Report:
        """StoreError where the collection can't even be opened, CancelledError where a stop was
        requested before the first question.

        `lost` are expectations that the generation before met and this one does not.
        """
        wanted = settled(options or ValidateOptions(), golden)
        measures = measures_for(golden, wanted.top_k or DEFAULT_TOP_K)
        async with self._readers.of(wanted.collection).lease() as generation:
            indexed = await generation.index.indexed()
            subject = replace(_subject(generation.manifest, wanted, self._version), indexed=indexed)
            resolved = ResolvedGoldenSet(await resolve(golden, generation), lost or {})
            prefetching = PrefetchingEmbedder(self._searcher.embedder, _questions(golden.tests))
            searcher = self._searcher.afresh(prefetching)
            explainer = Explainer(self._readers, searcher)
            # What a connected collection holds is its own catalog.
            own = generation.catalog if generation.manifest.connected is None else None
            tester = TestRunner(searcher, prefetching, explainer, subject, resolved, measures, own)
            session = _Session(golden.tests, tester, progress, wanted.stop_requested)
            try:
                session.require_no_stop()
                await session.work(wanted.concurrency, partial=wanted.partial)
            finally:
                await prefetching.close()
            extra = ExtraChecks(self._searcher.afresh(), self._under_load, generation, tester)
            if not session.interrupted:
                await extra.measure(
                    golden, recall=wanted.index_recall, load=wanted.load, partial=wanted.partial
                )
                session.note_stop()
        run = RunFacts(
            run_id=str(uuid.uuid4()),
            subject=subject,
            started_at=session.started_at,
            completed_at=datetime.now(UTC),
            concurrency=wanted.concurrency,
            integrity=tester.integrity,
            interrupted=extra.interrupted or session.interrupted,
            store_away=session.store_away or extra.store_away,
            index_recall=extra.index_recall,
            load=extra.load,
            false_accept_cost=wanted.false_accept_cost,
        )
        return summarise(golden, measures, session.outcomes, run)


def check_runnable(golden: GoldenSet) -> None:
    """InputError where the golden set can't be run as it is written, before anything is."""
    wanted = settled(ValidateOptions(), golden)
    measures_for(golden, wanted.top_k or DEFAULT_TOP_K)


def measures_for(golden: GoldenSet, top_k: int) -> tuple[Measure, ...]:
    """Those that the golden set names, or the usual ones, and those that its gates speak of."""
    usual = (
        Measure(MeasureKind.NDCG, top_k),
        Measure(MeasureKind.RECALL, top_k),
        Measure(MeasureKind.PRECISION, top_k),
        Measure(MeasureKind.HIT, top_k),
        Measure(MeasureKind.RECIPROCAL_RANK),
        Measure(MeasureKind.AVERAGE_PRECISION),
    )
    gated = (gate.measure for gate in golden.gates)
    named = (*(golden.measures or usual), *(one for one in gated if one is not None))
    for measure in named:
        if measure.cutoff is not None and measure.cutoff > top_k:
            place = f"{golden.places[measure]}: " if measure in golden.places else ""
            raise InputError(
                f"{place}{measure} needs {measure.cutoff} results, and top_k is {top_k}; "
                f"set top_k to {measure.cutoff}"
            )
    return tuple(dict.fromkeys(named))


def settled(options: ValidateOptions, golden: GoldenSet) -> ValidateOptions:
    """As a run will go by them; InputError where one can't be."""
    top_k = golden.top_k if options.top_k is None else options.top_k
    top_k = DEFAULT_TOP_K if top_k is None else top_k
    if not 1 <= top_k <= MAX_TOP_K:
        raise InputError(f"top_k: it is {top_k}, it must be a whole number from 1 to {MAX_TOP_K}")
    if not 1 <= options.concurrency <= MAX_CONCURRENCY:
        raise InputError(
            f"concurrency: it is {options.concurrency}, it must be from 1 to {MAX_CONCURRENCY}"
        )
    if options.rate_per_s is not None and options.duration_s is None:
        raise InputError("rate: it goes with a duration; say for how long")
    if options.load is not None and not golden.tests:
        raise InputError("duration: there is no question to put a load on with")
    if not 0 < options.false_accept_cost <= MAX_COST:
        raise InputError(
            f"false_accept_cost: it is {options.false_accept_cost:g}, it must be above 0 and at "
            f"most {MAX_COST:g}"
        )
    return replace(
        options,
        top_k=top_k,
        mode=options.mode or golden.mode or Mode.HYBRID,
        collapse=options.collapse or golden.collapse or Collapse.SAME,
    )


def _subject(manifest: Manifest, options: ValidateOptions, version: str) -> Subject:
    return Subject(
        collection=manifest.collection,
        generation=manifest.number,
        chunks=manifest.chunks,
        dimensions=manifest.embedder.dimensions,
        embedder=str(manifest.embedder),
        mode=options.mode or Mode.HYBRID,
        top_k=options.top_k or DEFAULT_TOP_K,
        surefind_version=version,
        collapse=options.collapse or Collapse.SAME,
        distance=str(manifest.connected.space.distance) if manifest.connected else "cosine",
    )


async def resolve(golden: GoldenSet, generation: OpenGeneration) -> ResolvedExpectations:
    """Which chunks are meant in a generation that is open."""
    if any(test.expected or test.known_wrong for test in golden.tests):
        return await resolve_in(golden, generation.require_catalog())
    return {}


async def resolve_in(golden: GoldenSet, catalog: Catalog) -> ResolvedExpectations:
    """Which chunks are meant: a quotation also where a border between chunks cuts it."""
    resolver = Resolver(one for test in golden.tests for one in (*test.expected, *test.known_wrong))
    if not resolver.meaning:
        return resolver.meaning
    async for record in catalog.chunks():
        resolver.show(record)
    unmet = resolver.unmet_quotations
    for document in await catalog.documents() if unmet else ():
        text = await catalog.document_text(document.source_path)
        if quoted := quoted_on(text, unmet):
            chunks = await catalog.document_chunks(document.source_path)
            resolver.show_page(quoted, text, chunks)
    return resolver.meaning


def _questions(tests: Sequence[GoldenTest]) -> list[str]:
    """Of the tests that will be asked."""
    questions = []
    for test in tests:
        with suppress(InputError):  # which its own test will tell
            check_query(Query(test.query_text))
            if not test.is_empty:
                questions.append(test.query_text)
    return questions


class _Session:
    """The tests of one run, several at a time, in whatever order they end."""

    def __init__(
        self,
        tests: Sequence[GoldenTest],
        tester: TestRunner,
        progress: CountProgress,
        stop_requested: Callable[[], bool],
    ) -> None:
        self.started_at = datetime.now(UTC)
        self.interrupted = ""
        self.store_away = False
        self._tester = tester
        self._progress = progress
        self._stop_requested = stop_requested
        self._tests = tests
        self._outcomes: dict[int, TestOutcome] = {}
        self._waiting: Iterator[tuple[int, GoldenTest]] = iter(enumerate(tests))
        self._away_in_a_row = 0

    @property
    def outcomes(self) -> tuple[TestOutcome, ...]:
        """In the order of the tests; what was not run says so."""
        return tuple(
            self._outcomes.get(number) or self._tester.unasked(test, Outcome.NOT_RUN)
            for number, test in enumerate(self._tests)
        )

    def require_no_stop(self) -> None:
        if self._stop_requested():
            raise asyncio.CancelledError

    def note_stop(self) -> None:
        if self._stop_requested():
            self.interrupted = self.interrupted or _STOPPED

    async def work(self, concurrency: int, *, partial: bool) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(self._tests))):
                    group.create_task(self._work())
        except asyncio.CancelledError:
            # Whoever stops a run wants to see what it found; a second time stops for good.
            task = asyncio.current_task()
            if not partial or task is None or task.uncancel():
                raise
            self.interrupted = _STOPPED

    async def _work(self) -> None:
        for number, test in self._waiting:
            answered = await self._tester.run(test)
            self._outcomes[number] = answered.outcome
            self._progress(len(self._outcomes), len(self._tests))
            self._look_at(answered)
            self.note_stop()
            if self.interrupted:
                return
            # Where nothing is waited for, others have a turn here: a Ctrl-C, and who embeds.
            await asyncio.sleep(0)

    def _look_at(self, answered: AnsweredTest) -> None:
        self._away_in_a_row = self._away_in_a_row + 1 if answered.is_away else 0
        if self._away_in_a_row >= min(_AWAY_AFTER, len(self._tests)):
            self.interrupted = answered.outcome.message
            self.store_away = True
        current = self._tester.subject.generation
        if answered.generation not in {None, current}:
            self.interrupted = (
                f"generation {answered.generation} took the place of {current} while it ran"
            )
