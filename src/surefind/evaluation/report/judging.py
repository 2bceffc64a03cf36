"""Judges one test by its hits: what was found, the accuracy, and the measures.

Measures count expectations, not chunks: an expected page is found once, by the first of its chunks,
and its other chunks are skipped. So the measures remain comparable after re-chunking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from surefind.evaluation.golden.expectations import ByChunk, ByName, Expectation
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.evaluation.golden.resolution import LOST_ANSWER, LostAnswers, ResolvedExpectations
from surefind.evaluation.measures.ranking import Measure, measure_query
from surefind.evaluation.report.report import ExpectationResult, Outcome, TestOutcome

_MAX_MEANT = 20
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class JudgedTest:
    """`labels` has the names of each hit as the measures see it."""

    sought: tuple[ExpectationResult, ...]
    labels: tuple[tuple[str, ...], ...]
    known_wrong: tuple[str, ...]
    accuracy: float | None
    measures: Mapping[str, float]

    def outcome(self, min_accuracy: float) -> Outcome:
        """The outcome of a positive test. Other missing results outrank a stale expectation."""
        if self.accuracy is None:
            return Outcome.STALE
        if self.accuracy < min_accuracy - _TOLERANCE:
            return Outcome.FAILED
        return Outcome.PASSED if self.unmeetable is None else Outcome.STALE

    @property
    def unmeetable(self) -> ExpectationResult | None:
        """The first expectation that no chunk of the collection matches."""
        return next((one for one in self.sought if one.stale or one.lost), None)

    def answered(self, test: GoldenTest) -> TestOutcome:
        """A passed outcome, to be replaced if it is not."""
        return TestOutcome(
            test_id=test.test_id,
            query_text=test.query_text,
            kind=test.kind,
            category=test.category,
            outcome=Outcome.PASSED,
            min_accuracy=test.criteria.min_accuracy,
            min_similarity_score=test.criteria.min_similarity_score,
            accuracy=self.accuracy,
            sought=self.sought,
            known_wrong=self.known_wrong,
            measures=self.measures,
            where=test.where,
            digest=test.digest,
        )

    def unanswered(
        self, test: GoldenTest, outcome: Outcome, cause: str, message: str
    ) -> TestOutcome:
        """The outcome of a test without hits. A failed search counts as zero in the measures."""
        failed = outcome is Outcome.ERROR
        return replace(
            self.answered(test),
            outcome=outcome,
            cause=cause,
            message=message,
            accuracy=self.accuracy if failed else None,
            measures=self.measures if failed else {},
        )


def judge(
    test: GoldenTest,
    meaning: ResolvedExpectations,
    chunk_ids: Sequence[str],
    measures: Sequence[Measure],
    twins: Sequence[Sequence[str]] = (),
    lost: LostAnswers | None = None,
) -> JudgedTest:
    """Judge a test. `chunk_ids` are those of the hits, best first; empty if the question failed.

    `twins` has, for each hit, the chunks with identical text that were merged into it. They count
    as found.
    """
    folded = twins or [()] * len(chunk_ids)
    hits = [(own, *same) for own, same in zip(chunk_ids, folded, strict=True)]
    expected = _labelled(test.expected)
    wrong = _labelled(test.known_wrong)
    sought = tuple(
        _sought(label, expectation, meaning[expectation], hits, (lost or {}).get(expectation, ""))
        for label, expectation in expected.items()
    )
    live = [one for one in sought if not one.stale]
    named = {label: meaning[expectation] for label, expectation in (expected | wrong).items()}
    labels = tuple(_labels(hits, named))
    known_wrong = tuple(label for label, expectation in wrong.items() if meaning[expectation])
    judgements = {one.label: one.grade for one in live} | dict.fromkeys(known_wrong, 0)
    ranking = [label for of_hit in labels for label in of_hit]
    measured = measure_query(ranking, judgements, measures) if judgements else {}
    return JudgedTest(
        sought,
        labels,
        known_wrong,
        sum(one.rank is not None for one in live) / len(live) if live else None,
        {_name(measure): value for measure, value in measured.items()},
    )


def nothing_expected(test: GoldenTest) -> str:
    """Why a test without expectations can't be judged."""
    place = f"line {test.line}: " if test.line else ""
    return f"{place}the test expects nothing; add expected_results, or expect: none"


@lru_cache
def _name(measure: Measure) -> str:
    """Cached, because all tests use the same few measures."""
    return str(measure)


def _labelled(expectations: Sequence[Expectation]) -> dict[str, Expectation]:
    """Chunks and documents keep their names; sections and quotations are numbered."""
    labelled: dict[str, Expectation] = {}
    for number, expectation in enumerate(expectations, start=1):
        name = ""
        if isinstance(expectation, ByChunk):
            name = expectation.chunk_id
        elif isinstance(expectation, ByName):
            name = expectation.name
        if not name or name in labelled:
            name = f"expected-{number}"
        labelled[name] = expectation
    return labelled


def _sought(
    label: str,
    expectation: Expectation,
    meant: frozenset[str],
    hits: Sequence[Sequence[str]],
    lost: str,
) -> ExpectationResult:
    ranks = (rank for rank, ids in enumerate(hits, start=1) if not meant.isdisjoint(ids))
    rank = next(ranks, None)
    first = tuple(sorted(meant)[:_MAX_MEANT])
    if lost and not meant:
        return ExpectationResult(
            str(expectation),
            label,
            expectation.grade,
            cause=LOST_ANSWER,
            message=lost,
            lost=True,
        )
    return ExpectationResult(
        str(expectation), label, expectation.grade, rank, stale=not meant, meant=first
    )


def _labels(
    hits: Sequence[Sequence[str]], named: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, ...]]:
    """A hit that meets two expectations has two labels."""
    seen: set[str] = set()
    for ids in hits:
        met = [label for label, meant in named.items() if not meant.isdisjoint(ids)]
        fresh = tuple(label for label in met if label not in seen)
        seen.update(fresh)
        yield fresh if met else (ids[0],)
