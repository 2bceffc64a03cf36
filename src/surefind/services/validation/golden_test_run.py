"""Runs a golden test: search, judge the hits, and explain misses."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from surefind.errors import EmbeddingError, StoreError, SurefindError
from surefind.evaluation.golden.golden_set import GoldenTest, TestKind
from surefind.evaluation.golden.resolution import ResolvedGoldenSet
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.judging import JudgedTest, judge, nothing_expected
from surefind.evaluation.report.report import (
    ExpectationResult,
    FoundHit,
    Integrity,
    Outcome,
    Subject,
    TestOutcome,
)
from surefind.model import ChunkRecord, Collapse, Evidence, Hit, Mode, Query, SearchResult, Status
from surefind.ports import Catalog
from surefind.services.encoding.prefetch import PrefetchingEmbedder
from surefind.services.search.filters import read_expressions
from surefind.services.search.search import Searcher
from surefind.services.search.selection import near_copy
from surefind.services.search.why_not import Cause, Explainer, WhyNot
from surefind.services.validation.test_session import AnsweredTest

_MAX_EXPLAINED = 5
_DUPLICATE = "duplicate"
_RANKED_TOO_LOW = {Cause.OUTRANKED, Cause.LOST, Cause.BELOW_THRESHOLD}


class TestRunner:
    """Runs tests against one generation, and checks the integrity of all hits."""

    def __init__(
        self,
        searcher: Searcher,
        prefetching: PrefetchingEmbedder,
        explainer: Explainer,
        subject: Subject,
        resolved: ResolvedGoldenSet,
        measures: Sequence[Measure],
        catalog: Catalog | None = None,
    ) -> None:
        """If `catalog` is given, every hit must have a row in it."""
        self.subject = subject
        self._catalog = catalog
        self._searcher = searcher
        self._prefetching = prefetching
        self._explainer = explainer
        self._meaning, self._lost = resolved.meaning, resolved.lost
        self._measures = measures
        self._hits = _HitCounts()
        self.stages_ms: dict[str, list[float]] = {}

    @property
    def generation(self) -> int:
        return self.subject.generation

    @property
    def integrity(self) -> Integrity:
        return self._hits.integrity

    async def run(self, test: GoldenTest) -> AnsweredTest:
        if test.is_empty:
            message = nothing_expected(test)
            return AnsweredTest(
                self.without_answer(test, Outcome.INVALID, "empty_expectation", message)
            )
        executed_at = datetime.now(UTC)
        try:
            query = self.query_of(test)
            result = await self._searcher.search(query)
            uncatalogued = await self._uncatalogued(result)
        except SurefindError as error:
            failed = self.without_answer(test, Outcome.ERROR, "error", str(error))
            is_unavailable = isinstance(error, StoreError | EmbeddingError)
            return AnsweredTest(
                replace(failed, executed_at=executed_at), is_unavailable=is_unavailable
            )
        self._hits.count(result, uncatalogued)
        for stage, took_ms in self._prefetching.stages_ms(result).items():
            self.stages_ms.setdefault(stage, []).append(took_ms)
        judged = self._judge(test, result.hits)
        outcome = replace(
            judged.answered(test),
            found=_found(result.hits, judged),
            latency_ms=self._prefetching.latency_ms(result),
            best_similarity=result.best_similarity,
            executed_at=executed_at,
        )
        if uncatalogued:
            outcome = _without_row(outcome, uncatalogued)
        elif test.kind is TestKind.NEGATIVE:
            outcome = _negative(test, outcome, result)
        elif test.kind is TestKind.POSITIVE:
            outcome = await self._positive(test, outcome, judged, result)
        return AnsweredTest(outcome, result.generation)

    async def _uncatalogued(self, result: SearchResult) -> tuple[Hit, ...]:
        """Hits without a row in the catalog, which a search hides by using the index's copies."""
        if self._catalog is None or result.status is not Status.PARTIAL:
            return ()
        points = [hit.record.chunk.point_id for hit in result.hits]
        rows = await self._catalog.by_point(points)
        return tuple(hit for hit in result.hits if hit.record.chunk.point_id not in rows)

    def without_answer(
        self, test: GoldenTest, outcome: Outcome, cause: str = "", message: str = ""
    ) -> TestOutcome:
        """The outcome of a test without hits. A failed search counts as zero in the measures."""
        return self._judge(test, ()).unanswered(test, outcome, cause, message)

    def _judge(self, test: GoldenTest, hits: Sequence[Hit]) -> JudgedTest:
        chunk_ids = [hit.record.chunk.id for hit in hits]
        twins = [[twin.chunk.id for twin in _twins(hit)] for hit in hits]
        return judge(test, self._meaning, chunk_ids, self._measures, twins, self._lost)

    def query_of(self, test: GoldenTest) -> Query:
        """The query of a test. Raises InputError if its filter is invalid."""
        subject = self.subject
        assert subject.mode is not None  # only runs on targets lack a mode
        query = query_for(test, subject.collection, subject.top_k, subject.mode, subject.collapse)
        return replace(query, group_by=subject.group_by)

    async def _positive(
        self, test: GoldenTest, outcome: TestOutcome, judged: JudgedTest, result: SearchResult
    ) -> TestOutcome:
        decided = judged.outcome(test.criteria.min_accuracy)
        if decided is Outcome.STALE:
            stale = judged.unmeetable
            message = f"nothing in the collection matches {stale.expectation if stale else ''}"
            return replace(outcome, outcome=decided, cause="stale_label", message=message)
        if decided is Outcome.PASSED:
            return outcome
        sought = await self._explained(test, judged.sought, result)
        missing = [one for one in sought if one.rank is None and not one.stale]
        first = next((one for one in missing if one.lost), missing[0])
        message = f"{first.expectation}: {first.message}"
        return replace(outcome, outcome=decided, sought=sought, cause=first.cause, message=message)

    async def _explained(
        self, test: GoldenTest, sought: Sequence[ExpectationResult], result: SearchResult
    ) -> tuple[ExpectationResult, ...]:
        """Add the reasons for the first few misses."""
        explained: list[ExpectationResult] = []
        remaining = _MAX_EXPLAINED
        for one, expectation in zip(sought, test.expected, strict=True):
            if one.rank is None and not one.stale and not one.lost and remaining:
                remaining -= 1
                explained.append(await self._why(one, self._meaning[expectation], result))
            else:
                explained.append(one)
        return tuple(explained)

    async def _why(
        self, sought: ExpectationResult, chunk_ids: frozenset[str], result: SearchResult
    ) -> ExpectationResult:
        try:
            answer = await self._explainer.why_none_of(result, sought.expectation, chunk_ids)
        except SurefindError as error:
            return replace(sought, cause="error", message=f"no explanation available: {error}")
        nearest = answer.record.chunk.id if answer.record else ""
        sought = replace(sought, nearest=nearest)
        copy = _copy_of(answer, result.hits)
        if copy is None:
            ahead = tuple(hit.record.chunk.id for hit in answer.ahead)
            return replace(sought, cause=answer.cause.value, message=answer.message, ahead=ahead)
        copy_id = copy.record.chunk.id
        message = f"hit {copy.rank}, {copy_id}, is nearly identical"
        if answer.cause is Cause.FOLDED:
            message = f"hit {copy.rank}, {copy_id}, is nearly identical and is shown instead"
        return replace(sought, cause=_DUPLICATE, message=message, ahead=(copy_id,))


def query_for(
    test: GoldenTest, collection: str, top_k: int, mode: Mode, collapse: Collapse
) -> Query:
    """The query of a test. Raises InputError if its filter is invalid."""
    return Query(
        text=test.query_text,
        top_k=top_k,
        threshold=test.criteria.min_similarity_score or 0.0,
        mode=mode,
        collection=collection,
        where=read_expressions(test.where),
        collapse=collapse,
    )


def _twins(hit: Hit) -> list[ChunkRecord]:
    """Chunks with identical text that were collapsed into a hit, such as those of a copied page.

    Other versions of a page have a different text.
    """
    if not hit.also:
        return []
    shown = hit.record.chunk.content_hash
    return [record for record in hit.also if record.chunk.content_hash == shown]


def _copy_of(answer: WhyNot, hits: Sequence[Hit]) -> Hit | None:
    if answer.record is not None and answer.cause is Cause.FOLDED:
        return next((hit for hit in hits if hit.rank == answer.rank), None)
    if answer.record is None or answer.cause not in _RANKED_TOO_LOW:
        return None
    return near_copy(answer.record, hits)


def _without_row(outcome: TestOutcome, uncatalogued: Sequence[Hit]) -> TestOutcome:
    hit = uncatalogued[0]
    message = (
        f"hit {hit.rank}, {hit.record.chunk.id}, is in the index but not in the catalog; "
        "run `surefind doctor`"
    )
    return replace(outcome, outcome=Outcome.FAILED, cause="catalog_row_missing", message=message)


def _negative(test: GoldenTest, outcome: TestOutcome, result: SearchResult) -> TestOutcome:
    """No hit may reach the test's threshold, or else that of the calibrated collection."""
    if test.criteria.min_similarity_score is not None:
        if not result.hits:
            return outcome
        best = result.hits[0]
        message = (
            f"{best.record.chunk.id} reaches the threshold, "
            f"with a similarity of {best.similarity or 0.0:.3f}"
        )
        return replace(outcome, outcome=Outcome.FAILED, cause="answered", message=message)
    if result.confidence is None:
        message = "there is no threshold for negative tests; set min_similarity_score"
        return replace(outcome, outcome=Outcome.INVALID, cause="no_threshold", message=message)
    if result.confidence.evidence is Evidence.THIN or not result.hits:
        return outcome
    message = (
        f"the evidence for an answer is {result.confidence.evidence.value} "
        f"({result.confidence.value:.2f})"
    )
    return replace(outcome, outcome=Outcome.FAILED, cause="answered", message=message)


def _found(hits: Sequence[Hit], judged: JudgedTest) -> tuple[FoundHit, ...]:
    return tuple(
        FoundHit(
            rank=hit.rank,
            chunk_id=hit.record.chunk.id,
            labels=labels,
            url=hit.record.link,
            section=hit.record.section,
            score=hit.score,
            similarity=hit.similarity,
            twins=tuple(record.chunk.id for record in _twins(hit)),
        )
        for hit, labels in zip(hits, judged.labels, strict=True)
    )


class _HitCounts:
    """Tracks the integrity of all hits of a run; checks each chunk's hash once."""

    def __init__(self) -> None:
        self._hits = 0
        self._complete = 0
        self._similarity = 0.0
        self._is_intact: dict[str, bool] = {}
        self._uncatalogued: set[str] = set()

    def count(self, result: SearchResult, uncatalogued: Sequence[Hit]) -> None:
        self._uncatalogued.update(hit.record.chunk.id for hit in uncatalogued)
        for hit in result.hits:
            record = hit.record
            self._hits += 1
            self._complete += bool(record.chunk.text and record.url and record.title)
            self._similarity += hit.score if hit.similarity is None else hit.similarity
            if record.chunk.id not in self._is_intact:
                self._is_intact[record.chunk.id] = _matches_its_hash(record)

    @property
    def integrity(self) -> Integrity:
        return Integrity(
            hits=self._hits,
            complete=self._complete,
            mean_similarity=min(1.0, self._similarity / self._hits) if self._hits else 0.0,
            tampered=tuple(sorted(name for name, intact in self._is_intact.items() if not intact)),
            uncatalogued=tuple(sorted(self._uncatalogued)),
        )


def _matches_its_hash(record: ChunkRecord) -> bool:
    digest = hashlib.sha256(record.chunk.text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest == record.chunk.content_hash
