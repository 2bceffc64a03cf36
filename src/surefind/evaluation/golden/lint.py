"""Finds mistakes in golden tests."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, combinations

from surefind.evaluation.golden.expectations import ByChunk, Expectation
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.golden.resolution import ResolvedExpectations

_MOST = 0.5
_TINY = 20
"""Collections with this many passages or fewer are trials, in which no test is hard."""
NEAR = 0.8
"""The word overlap above which two questions are near-duplicates."""
_WORD = re.compile(r"\w+[+#]*")  # C, C++ and C# are three words
QuestionKey = tuple[str, tuple[str, ...]]
"""A normalized question, and its filter."""


class LintSeverity(StrEnum):
    """A test with an ERROR proves nothing or the wrong thing; a WARNING should be reviewed."""

    ERROR = "error"
    WARNING = "warning"


class Problem(StrEnum):
    CONTRADICTORY = "contradictory"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    STALE = "stale"
    OTHER_GENERATION = "other_generation"
    EMPTY = "empty"
    UNREACHABLE = "unreachable"
    UNANSWERABLE = "unanswerable"
    REPEATED = "repeated"
    VACUOUS = "vacuous"


_WARNINGS = {Problem.NEAR_DUPLICATE, Problem.REPEATED, Problem.VACUOUS}


@dataclass(frozen=True, slots=True)
class LintFinding:
    """`other` is the second test of a problem between two. Lines are 0 if the set has no file. A
    finding about all tests has no `test_id`.
    """

    problem: Problem
    test_id: str
    line: int
    message: str
    other: str = ""
    other_line: int = 0

    @property
    def severity(self) -> LintSeverity:
        return LintSeverity.WARNING if self.problem in _WARNINGS else LintSeverity.ERROR


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Facts about the collection that the checks use.

    - `meaning`: the chunks that each expectation resolves to.
    - `older`: for missing chunks, the last generation that had them.
    - `refused`: test id -> why its question or filter is invalid.
    - `texts`: chunk id -> hash of its text, because equal texts are merged into one hit.
    - `near`: hints for stale expectations.
    - `chunks`: the size of the collection, 0 if unknown.
    - `left`: filter -> the number of chunks that match it.
    """

    meaning: ResolvedExpectations
    top_k: int
    older: Mapping[str, int]
    refused: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)
    near: Mapping[Expectation, str] = field(default_factory=dict)
    chunks: int = 0
    left: Mapping[tuple[str, ...], int] = field(default_factory=dict)


def lint(golden: GoldenSet, known: KnownFacts) -> list[LintFinding]:
    found = [finding for test in golden.tests for finding in _alone(test, known)]
    found += [finding for test in golden.tests for finding in _vacuous(test, known)]
    found += _too_small(golden.tests, known)
    found += _pairs(golden.tests)
    return sorted(found, key=lambda one: (one.line, one.test_id, one.problem, one.other))


# --- single tests -----------------------------------------------------------------------------


def _alone(test: GoldenTest, known: KnownFacts) -> Iterator[LintFinding]:
    def finding(problem: Problem, message: str) -> LintFinding:
        return LintFinding(problem, test.test_id, test.line, message)

    if test.test_id in known.refused:
        yield finding(Problem.UNANSWERABLE, known.refused[test.test_id])
    if test.kind is TestKind.POSITIVE and not test.expected:
        yield finding(
            Problem.EMPTY, "it has no expectations; add expected_results, or expect: none"
        )
    least = _least_hits(test, known)
    if least > known.top_k:
        reason = f"it needs at least {least} results to pass, but top_k is {known.top_k}"
        yield finding(Problem.UNREACHABLE, reason)
    for one in test.expected:
        if known.meaning.get(one):
            continue
        number = known.older.get(one.chunk_id) if isinstance(one, ByChunk) else None
        if number is None:
            hint = f"; {known.near[one]}" if one in known.near else ""
            yield finding(Problem.STALE, f"nothing in the collection matches {one}{hint}")
        else:
            yield finding(
                Problem.OTHER_GENERATION,
                f"{one} was last in generation {number}; use its url and heading, or a quotation",
            )
    for one, other in combinations(test.expected, 2):
        if known.meaning.get(one) and known.meaning.get(one) == known.meaning.get(other):
            yield finding(Problem.REPEATED, f"{one} and {other} match the same passages")


def _vacuous(test: GoldenTest, known: KnownFacts) -> Iterator[LintFinding]:
    """Tests that always or nearly always pass, whatever the search returns."""
    left = known.left.get(test.where) if test.where else None
    if left == 0 and test.kind is TestKind.NEGATIVE:
        reason = "no passage matches its where, so it always passes"
        yield LintFinding(Problem.VACUOUS, test.test_id, test.line, reason)
    if left and test.kind is TestKind.POSITIVE and known.top_k >= _MOST * left:
        reason = (
            f"only {left} passages match its where, and top_k is {known.top_k}, so it "
            "nearly always passes"
        )
        yield LintFinding(Problem.VACUOUS, test.test_id, test.line, reason)
    for one in test.expected:
        met = len(known.meaning.get(one, ()))
        if known.chunks > _TINY and met >= _MOST * known.chunks:
            reason = f"{met} of the {known.chunks} passages match {one}: it nearly always passes"
            yield LintFinding(Problem.VACUOUS, test.test_id, test.line, reason)


def _too_small(tests: Sequence[GoldenTest], known: KnownFacts) -> Iterator[LintFinding]:
    positive = any(test.kind is TestKind.POSITIVE and not test.where for test in tests)
    if positive and known.chunks > _TINY and known.top_k >= _MOST * known.chunks:
        reason = (
            f"top_k is {known.top_k}, and the collection has only {known.chunks} passages, so "
            "nearly any order passes; lower top_k"
        )
        yield LintFinding(Problem.VACUOUS, "", 0, reason)


def _least_hits(test: GoldenTest, known: KnownFacts) -> int:
    """A lower bound on the hits that the test needs to pass.

    One hit may meet several expectations, for example a page and a sentence on it. The exact
    number is a set cover problem, so this is the larger of two simple bounds: one from the hits
    that meet most expectations, one from expectations that share no hit.
    """
    hits_of = [
        {known.texts.get(chunk, chunk) for chunk in known.meaning[one]}
        for one in test.expected
        if known.meaning.get(one)
    ]
    needed = math.ceil(test.criteria.min_accuracy * len(hits_of) - 1e-9)
    met = Counter(hit for hits in hits_of for hit in hits)
    most = accumulate(count for _, count in met.most_common())
    by_counting = next((hits for hits, so_far in enumerate(most, start=1) if so_far >= needed), 0)
    taken: set[str] = set()
    apart = 0
    for hits in sorted(hits_of, key=len):
        if taken.isdisjoint(hits):
            taken |= hits
            apart += 1
    return max(by_counting, apart - (len(hits_of) - needed))


# --- pairs of tests ---------------------------------------------------------------------------


def _pairs(tests: Sequence[GoldenTest]) -> Iterator[LintFinding]:
    by_question: dict[QuestionKey, list[GoldenTest]] = defaultdict(list)
    for test in tests:
        by_question[question_key(test)].append(test)
    for same in by_question.values():
        for test in same[1:]:
            yield _same_question(same[0], test)
    firsts = [same[0] for same in by_question.values()]
    for one, other, share in _near(firsts):
        message = f"its question resembles that of {one.test_id} ({share:.0%} of the words)"
        yield _two(Problem.NEAR_DUPLICATE, one, other, message)


def _same_question(first: GoldenTest, test: GoldenTest) -> LintFinding:
    expected = {frozenset(first.expected), frozenset(test.expected)}
    if TestKind.NEGATIVE in {first.kind, test.kind} and first.kind is not test.kind:
        message = f"its question equals that of {first.test_id}, but only one expects an answer"
        return _two(Problem.CONTRADICTORY, first, test, message)
    if len(expected) > 1:
        message = f"its question equals that of {first.test_id}, but the expectations differ"
        return _two(Problem.CONTRADICTORY, first, test, message)
    message = f"its question and expectations equal those of {first.test_id}"
    return _two(Problem.DUPLICATE, first, test, message)


def _two(problem: Problem, first: GoldenTest, test: GoldenTest, message: str) -> LintFinding:
    return LintFinding(problem, test.test_id, test.line, message, first.test_id, first.line)


def question_key(test: GoldenTest) -> QuestionKey:
    """Equal for tests with the same question and filter, ignoring case, space and punctuation."""
    question = " ".join(_WORD.findall(test.query_text.casefold())) or test.query_text
    return question, tuple(sorted(test.where))


def _near(tests: Sequence[GoldenTest]) -> Iterator[tuple[GoldenTest, GoldenTest, float]]:
    """Pairs whose word sets overlap by NEAR or more, without comparing every pair.

    Prefix filtering: two such sets share one of their rarest words, so only the first few words,
    sorted from rare to common, have to be looked up.
    """
    words = [frozenset(_WORD.findall(test.query_text.casefold())) for test in tests]
    frequency = Counter(word for each in words for word in each)
    holders: dict[str, list[int]] = defaultdict(list)
    for number, test in enumerate(tests):
        rare = sorted(words[number], key=lambda word: (frequency[word], word))
        looked_up = rare[: len(rare) - math.ceil(NEAR * len(rare)) + 1]
        met = dict.fromkeys(other for word in looked_up for other in holders[word])
        for other in met:
            if tests[other].where == test.where:
                share = _overlap(words[number], words[other])
                if share >= NEAR:
                    yield tests[other], test, share
        for word in looked_up:
            holders[word].append(number)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def errors_of(findings: Iterable[LintFinding]) -> int:
    return sum(one.severity is LintSeverity.ERROR for one in findings)
