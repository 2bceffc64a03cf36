"""One test against its hits: what was found, how accurate that is, and what the measures see.

Measures look at expectations, not at chunks: a page that is expected is found once, by the first of
its chunks, and its further chunks are passed over. So the numbers do not change their meaning when
pages are cut into other chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from surefind.evaluation.golden.expectations import ByChunk, ByName, Expectation
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.evaluation.golden.resolution import LOST_ANSWER, LostAnswers, ResolvedExpectations
from surefind.evaluation.measures.ranking import Measure, measure_query
from surefind.evaluation.report.report import ExpectationResult

_MEANT = 20


@dataclass(frozen=True, slots=True)
class JudgedTest:
    """`labels` has for each hit the names that it goes by in the measures."""

    sought: tuple[ExpectationResult, ...]
    labels: tuple[tuple[str, ...], ...]
    known_wrong: tuple[str, ...]
    accuracy: float | None
    measures: Mapping[str, float]

    @property
    def is_stale(self) -> bool:
        return any(one.stale for one in self.sought)


def judge(
    test: GoldenTest,
    meaning: ResolvedExpectations,
    chunk_ids: Sequence[str],
    measures: Sequence[Measure],
    twins: Sequence[Sequence[str]] = (),
    lost: LostAnswers | None = None,
) -> JudgedTest:
    """`chunk_ids` are those of the hits, best first; none where the question failed.

    `twins` has for each hit the chunks of the very same text that it is shown for: whoever expects
    one of them is served.
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


@lru_cache
def _name(measure: Measure) -> str:
    """A run has a handful of measures, and names each of them once a test."""
    return str(measure)


def _labelled(expectations: Sequence[Expectation]) -> dict[str, Expectation]:
    """The name of a chunk or a document is its own; sections and quotations are numbered."""
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
    first = tuple(sorted(meant)[:_MEANT])
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
    """A hit that meets two expectations stands for both, one after the other."""
    seen: set[str] = set()
    for ids in hits:
        met = [label for label, meant in named.items() if not meant.isdisjoint(ids)]
        fresh = tuple(label for label in met if label not in seen)
        seen.update(fresh)
        yield fresh if met else (ids[0],)
