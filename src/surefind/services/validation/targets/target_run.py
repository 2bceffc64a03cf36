"""Runs golden tests on a target, and judges what it returns.

Nothing but the answers of the target is known: no test is stale, because its index is out of reach.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from surefind.errors import EmbeddingError, StoreError, SurefindError, TargetUnreachable
from surefind.evaluation.golden.expectations import ByAddress, Expectation
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.judging import JudgedTest, judge, nothing_expected
from surefind.evaluation.report.report import (
    ExpectationResult,
    FoundHit,
    Integrity,
    Outcome,
    Report,
    Subject,
    TestOutcome,
)
from surefind.evaluation.report.summary import RunFacts, summarise
from surefind.evaluation.targets.matching import is_judged_by_page, meets, miss_of, site_of
from surefind.model import TargetAnswer, TargetHit, TargetQuery
from surefind.ports import Target
from surefind.services.search.query_checks import MAX_TOP_K
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.test_session import AnsweredTest, CountProgress, TestSession

_DEEPER = 4
"""A failed test is repeated with this many times as many results, to see how far it missed."""
_MOST_DEEP = 100
_MAX_EXPLAINED = 5
_SHOWN = 3


async def run_on_target(
    target: Target,
    golden: GoldenSet,
    request: RunRequest,
    version: str,
    progress: CountProgress = lambda _done, _total: None,
) -> Report:
    """Raises CancelledError if a stop was requested before the first query.

    A target that can't be reached several times in a row ends the run; the report then covers the
    tests that ran.
    """
    measures = request.measures_for(golden)
    tester = TargetTester(target, golden, request.top_k_for(golden), measures)
    session = TestSession(golden.tests, tester, progress, request.stop_requested)
    session.require_no_stop()
    await session.work(request.concurrency, partial=request.partial)
    session.note_stop()
    run = RunFacts(
        run_id=str(uuid.uuid4()),
        subject=tester.subject(version),
        started_at=session.started_at,
        completed_at=datetime.now(UTC),
        concurrency=request.concurrency,
        integrity=tester.integrity,
        interrupted=session.interrupted,
        store_away=session.is_unavailable,
        false_accept_cost=request.false_accept_cost,
    )
    return with_warnings(summarise(golden, measures, session.outcomes, run), tester)


def with_warnings(report: Report, tester: "TargetTester") -> Report:
    return replace(report, warnings=(*report.warnings, *tester.warnings))


class TargetTester:
    """Runs single tests on a target, and counts what is odd about its results."""

    generation = None

    def __init__(
        self,
        target: Target,
        golden: GoldenSet,
        top_k: int,
        measures: Sequence[Measure],
        *,
        explains: bool = True,
    ) -> None:
        """Unless it `explains`, a failed question is not repeated with more results."""
        self._explains = explains
        self._target = target
        self._top_k = top_k
        self._measures = measures
        self._oddities = _Oddities(golden)

    @property
    def name(self) -> str:
        return self._target.name

    @property
    def integrity(self) -> Integrity:
        return self._oddities.integrity

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._oddities.warnings)

    def subject(self, version: str) -> Subject:
        return Subject(
            collection="",
            generation=0,
            chunks=0,
            dimensions=0,
            embedder="",
            mode=None,
            top_k=self._top_k,
            surefind_version=version,
            target=self._target.name,
        )

    async def run(self, test: GoldenTest) -> AnsweredTest:
        refusal = self._refusal(test)
        if refusal:
            return AnsweredTest(self.without_answer(test, Outcome.INVALID, *refusal))
        executed_at = datetime.now(UTC)
        try:
            answer = await self._search(test, self._top_k)
        except SurefindError as error:
            failed = self.without_answer(test, Outcome.ERROR, "error", str(error))
            is_unavailable = isinstance(error, TargetUnreachable | StoreError | EmbeddingError)
            return AnsweredTest(replace(failed, executed_at=executed_at), None, is_unavailable)
        hits = answer.hits[: self._top_k]
        self._oddities.count(test, hits)
        names = _unique_names(hits)
        meaning = _meaning(test, hits, names)
        twins = [_twin_names(hit) for hit in hits]
        judged = judge(test, meaning, names, self._measures, twins)
        outcome = replace(
            judged.answered(test),
            found=tuple(_found(hits, names, judged)),
            latency_ms=answer.latency_ms,
            best_similarity=max(
                (hit.similarity for hit in hits if hit.similarity is not None), default=None
            ),
            executed_at=executed_at,
        )
        if test.kind is TestKind.NEGATIVE:
            outcome = _negative(test, outcome, hits)
        elif test.kind is TestKind.POSITIVE:
            outcome = await self._positive(test, outcome, judged, answer)
        return AnsweredTest(outcome)

    def without_answer(
        self, test: GoldenTest, outcome: Outcome, cause: str = "", message: str = ""
    ) -> TestOutcome:
        judged = judge(test, _meaning(test, (), ()), (), self._measures)
        return judged.unanswered(test, outcome, cause, message)

    def _refusal(self, test: GoldenTest) -> tuple[str, str] | None:
        if test.is_empty:
            return (
                "empty_expectation",
                nothing_expected(test),
            )
        if test.where and not self._target.takes_filters:
            return "filter_unsupported", "the target has no filters; remove `where` from the test"
        return None

    async def _search(self, test: GoldenTest, top_k: int) -> TargetAnswer:
        query = TargetQuery(test.test_id, test.query_text, top_k, test.where)
        answer = await self._target.search(query)
        return replace(answer, hits=_above(test, answer.hits))

    async def _positive(
        self, test: GoldenTest, outcome: TestOutcome, judged: JudgedTest, answer: TargetAnswer
    ) -> TestOutcome:
        decided = judged.outcome(test.criteria.min_accuracy)
        if decided is Outcome.PASSED:
            return outcome
        deeper = await self._deeper(test, answer)
        sought = tuple(self._explained(test, judged.sought, answer.hits, deeper))
        first = next(one for one in sought if one.rank is None)
        message = f"{first.expectation}: {first.message}"
        return replace(outcome, outcome=decided, sought=sought, cause=first.cause, message=message)

    async def _deeper(self, test: GoldenTest, answer: TargetAnswer) -> tuple[TargetHit, ...]:
        """More results of a question that failed, if the target can return more."""
        wanted = min(self._top_k * _DEEPER, max(_MOST_DEEP, self._top_k), MAX_TOP_K)
        is_full = len(answer.hits) >= self._top_k
        can_go_on = self._explains and self._target.takes_limit
        if not can_go_on or not is_full or len(answer.hits) >= wanted:
            return answer.hits
        try:
            deeper = await self._search(test, wanted)
        except SurefindError:  # only the explanation is missing
            return answer.hits
        return deeper.hits

    def _explained(
        self,
        test: GoldenTest,
        sought: Sequence[ExpectationResult],
        hits: Sequence[TargetHit],
        deeper: Sequence[TargetHit],
    ) -> Iterator[ExpectationResult]:
        remaining = _MAX_EXPLAINED
        judged_hits = hits[: self._top_k]
        for one, expectation in zip(sought, test.expected, strict=True):
            if one.rank is not None or not remaining:
                yield one
                continue
            remaining -= 1
            miss = miss_of(expectation, judged_hits, deeper, self._top_k)
            yield replace(one, cause=miss.cause.value, message=miss.message, ahead=miss.ahead)


def _above(test: GoldenTest, hits: tuple[TargetHit, ...]) -> tuple[TargetHit, ...]:
    """Apply the test's threshold to results with a similarity; other scores have other scales."""
    least = test.criteria.min_similarity_score
    if least is None:
        return hits
    return tuple(hit for hit in hits if hit.similarity is None or hit.similarity >= least)


def _negative(test: GoldenTest, outcome: TestOutcome, hits: Sequence[TargetHit]) -> TestOutcome:
    """No result may reach the test's threshold, if the target has similarities."""
    if not hits:
        return outcome
    best = hits[0]
    if test.criteria.min_similarity_score is None or best.similarity is None:
        needed = (
            "set min_similarity_score"
            if best.similarity is not None
            else ("the target returns no similarity, so only an empty answer would pass")
        )
        message = f"there is no threshold for negative tests; {needed}"
        return replace(outcome, outcome=Outcome.INVALID, cause="no_threshold", message=message)
    message = f"{best.name} reaches the threshold, with a similarity of {best.similarity:.3f}"
    return replace(outcome, outcome=Outcome.FAILED, cause="answered", message=message)


def _meaning(
    test: GoldenTest, hits: Sequence[TargetHit], names: Sequence[str]
) -> dict[Expectation, frozenset[str]]:
    """The results that meet each expectation.

    An expectation that no result meets means itself: it may exist in the target's index.
    """
    meaning: dict[Expectation, frozenset[str]] = {}
    for expectation in (*test.expected, *test.known_wrong):
        met = {
            name
            for hit, name in zip(hits, names, strict=True)
            if any(meets(one, expectation) for one in (hit, *hit.twins))
        }
        meaning[expectation] = frozenset(met) or frozenset((str(expectation),))
    return meaning


def _unique_names(hits: Sequence[TargetHit]) -> list[str]:
    """Measures need distinct names; a repeated or nameless result gets a number."""
    names: list[str] = []
    taken: set[str] = set()
    for rank, hit in enumerate(hits, start=1):
        name = hit.name or f"result {rank}"
        if name in taken:
            name = f"{name} (result {rank})"
        taken.add(name)
        names.append(name)
    return names


def _twin_names(hit: TargetHit) -> list[str]:
    return [twin.name for twin in hit.twins]


def _found(
    hits: Sequence[TargetHit], names: Sequence[str], judged: JudgedTest
) -> Iterator[FoundHit]:
    pairs = zip(hits, names, judged.labels, strict=True)
    for rank, (hit, name, labels) in enumerate(pairs, start=1):
        yield FoundHit(
            rank=rank,
            chunk_id=name,
            labels=labels,
            url=hit.url,
            section=hit.headings[-1] if hit.headings else "",
            score=0.0 if hit.score is None else hit.score,
            similarity=hit.similarity,
            twins=tuple(_twin_names(hit)),
        )


class _Oddities:
    """Counts results that look wrong whatever a test expects, for warnings."""

    def __init__(self, golden: GoldenSet) -> None:
        urls = (
            one.url for test in golden.tests for one in test.expected if isinstance(one, ByAddress)
        )
        self._sites = {site for url in urls if (site := site_of(url))}
        self._answers = 0
        self._results = 0
        self._complete = 0
        self._similarity = 0.0
        self._repeated: list[str] = []
        self._foreign: list[str] = []
        self._nameless = 0
        self._by_page = 0
        self._unfiltered = 0

    def count(self, test: GoldenTest, hits: Sequence[TargetHit]) -> None:
        self._answers += 1
        self._results += len(hits)
        seen: set[tuple[str, str, str]] = set()
        for hit in hits:
            key = (hit.id, hit.url or hit.source_path, hit.text)
            if key in seen:
                self._repeated.append(hit.name)
            seen.add(key)
            self._complete += bool(hit.text and hit.title and (hit.url or hit.source_path))
            self._similarity += hit.similarity or 0.0
            self._nameless += not hit.name
            site = site_of(hit.url)
            if self._sites and site and site not in self._sites:
                self._foreign.append(site)
            self._by_page += any(
                is_judged_by_page(hit, one) and meets(hit, one) for one in test.expected
            )
        wants = test.criteria.min_similarity_score is not None and test.kind is TestKind.POSITIVE
        self._unfiltered += wants and any(hit.similarity is None for hit in hits)

    @property
    def integrity(self) -> Integrity:
        mean = self._similarity / self._results if self._results else 0.0
        return Integrity(self._results, self._complete, mean, ())

    @property
    def warnings(self) -> Iterator[str]:
        if self._repeated:
            yield (
                f"{_counted(len(self._repeated), 'result')} repeated an earlier one of the same "
                f"answer, such as {self._repeated[0]}"
            )
        if self._foreign:
            sites = ", ".join(list(dict.fromkeys(self._foreign))[:_SHOWN])
            yield (
                f"{len(self._foreign)} of {self._results} results are from sites that no test "
                f"expects: {sites}"
            )
        if self._nameless:
            yield f"{_counted(self._nameless, 'result')} had no URL, path, id or title"
        if self._by_page:
            yield (
                f"{_counted(self._by_page, 'result')} met an expected section by its page alone, "
                "because the target names no section"
            )
        if self._unfiltered:
            yield (
                f"min_similarity_score was not applied to {_counted(self._unfiltered, 'test')}, "
                "because the target returns no similarity from 0 to 1"
            )
        if self._answers and not self._results:
            yield "the target returned no result to any question"


def _counted(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
