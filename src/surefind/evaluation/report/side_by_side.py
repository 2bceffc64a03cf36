"""Compares two or more targets side by side, over the tests that their runs share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from surefind.errors import InputError, NotComparable
from surefind.evaluation.golden.expectations import address_key
from surefind.evaluation.report.comparison import change_of, direction
from surefind.evaluation.report.report import (
    FoundHit,
    MeasureChange,
    Outcome,
    Report,
    TestChange,
    TestOutcome,
)
from surefind.evaluation.report.summary import by_id
from surefind.evaluation.statistics.significance import (
    MeasureDifference,
    bootstrap_interval,
    compare,
    evidence,
    holm,
    percentile,
)

SCHEMA: Literal["surefind.compare/1"] = "surefind.compare/1"
CONTRASTS = 10
MAX_SIDES = 8
_STRICT: Any = {"extra": "forbid"}
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class ComparedTarget:
    """One side: its results over the shared tests. Latencies are None if they are unknown."""

    __pydantic_config__ = _STRICT

    name: str
    run_id: str
    passed: int
    errors: int
    means: Mapping[str, float]
    p50_ms: float | None
    p95_ms: float | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean of ratios, with its 95 % interval."""

    __pydantic_config__ = _STRICT

    value: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """The second target relative to the first.

    `changes` are the differences of the measures; their p-values are corrected for all measures
    of all pairs. `wins` and `losses` are tests that the second target answers better or worse: by
    the outcome, else by the first measure that differs. `latency` is the ratio of the second's
    times to those of the first. `overlap` is the mean share of pages that both return, of those
    that one of them returns.
    """

    __pydantic_config__ = _STRICT

    first: str
    second: str
    changes: tuple[MeasureChange, ...]
    wins: tuple[TestChange, ...]
    losses: tuple[TestChange, ...]
    ties: int
    latency: Ratio | None
    overlap: float | None


@dataclass(frozen=True, slots=True)
class ContrastSide:
    """What one target returned for a question; `value` is None if it was not measured.

    `right` has the ranks of expected results.
    """

    __pydantic_config__ = _STRICT

    outcome: Outcome
    value: float | None
    found: tuple[FoundHit, ...]
    right: tuple[int, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One of the most different questions, with the results of every target in order."""

    __pydantic_config__ = _STRICT

    test_id: str
    query_text: str
    sides: tuple[ContrastSide, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`measure` is the first measure; `interrupted` says why the comparison ended early.

    `store_away` is true if it ended because a target became unavailable. `left_out` lists tests
    that not all runs have, or that changed between them.
    """

    __pydantic_config__ = _STRICT

    golden: str
    top_k: int
    tests: int
    measure: str
    targets: tuple[ComparedTarget, ...]
    pairs: tuple[ComparedPair, ...]
    contrasts: tuple[Contrast, ...]
    left_out: tuple[str, ...] = ()
    interrupted: str = ""
    store_away: bool = False
    schema: Literal["surefind.compare/1"] = SCHEMA


def check_sides(number: int) -> None:
    if not 2 <= number <= MAX_SIDES:
        raise InputError(f"compare needs 2 to {MAX_SIDES} targets, not {number}")


def side_by_side(reports: Sequence[Report]) -> SideBySide:
    """Compare runs. NotComparable, with the reason, if they share nothing to compare."""
    if len(reports) < 2:
        raise NotComparable("a comparison needs at least two targets")
    top_ks = sorted({report.subject.top_k for report in reports})
    if len(top_ks) > 1:
        used = " and ".join(map(str, top_ks))
        raise NotComparable(f"the runs used top_k {used}; run them with the same --top-k")
    names = _distinct_names(reports)
    shared, left_out = _shared_tests(reports)
    measures = _shared_measures(reports)
    runs = [_over(report, shared) for report in reports]
    pairs = _pairs(names, runs, measures)
    return SideBySide(
        golden=" and ".join(dict.fromkeys(report.golden for report in reports)),
        top_k=top_ks[0],
        tests=len(shared),
        measure=measures[0],
        targets=tuple(
            _target(name, report, run, measures)
            for name, report, run in zip(names, reports, runs, strict=True)
        ),
        pairs=tuple(pairs),
        contrasts=tuple(_contrasts(runs, measures[0])),
        left_out=left_out,
        interrupted=next((one.interrupted for one in reports if one.interrupted), ""),
        store_away=any(one.store_away for one in reports),
    )


def _distinct_names(reports: Sequence[Report]) -> list[str]:
    names: list[str] = []
    for number, report in enumerate(reports, start=1):
        subject = report.subject
        name = subject.target or f"{subject.searched} ({subject.options})"
        names.append(name if name not in names else f"{name} (run {number})")
    return names


def _shared_tests(reports: Sequence[Report]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tests that all runs have, with the same question and expectations, and the others."""
    digests = [{test.test_id: test.digest for test in report.tests} for report in reports]
    known = dict.fromkeys(name for held in digests for name in held)
    not_run = {
        test.test_id
        for report in reports
        for test in report.tests
        if test.outcome is Outcome.NOT_RUN
    }
    shared = tuple(
        name
        for name in known
        if all(name in held for held in digests)
        and len({held[name] for held in digests}) == 1
        and name not in not_run
    )
    if not shared:
        ended = next((report.interrupted for report in reports if report.interrupted), "")
        raise NotComparable(
            f"no test was answered by all targets: {ended}"
            if ended
            else "the runs share no test with the same question and expectations"
        )
    taken = {*shared, *not_run}
    return shared, tuple(name for name in known if name not in taken)


def _shared_measures(reports: Sequence[Report]) -> list[str]:
    known = [name for test in reports[0].tests for name in test.measures]
    measures = [
        name
        for name in dict.fromkeys(known)
        if all(any(name in test.measures for test in report.tests) for report in reports)
    ]
    if not measures:
        raise NotComparable("no test has judged results in all runs, so nothing can be compared")
    return measures


def _over(report: Report, shared: Sequence[str]) -> list[TestOutcome]:
    tests = by_id(report.tests)
    return [tests[name] for name in shared]


def _target(
    name: str, report: Report, tests: Sequence[TestOutcome], measures: Sequence[str]
) -> ComparedTarget:
    judged = [test for test in tests if test.measures]
    times = [test.latency_ms for test in tests if test.latency_ms is not None]
    return ComparedTarget(
        name=name,
        run_id=report.run_id,
        passed=sum(test.outcome is Outcome.PASSED for test in tests),
        errors=sum(test.outcome is Outcome.ERROR for test in tests),
        means={
            one: math.fsum(test.measures[one] for test in judged) / len(judged) if judged else 0.0
            for one in measures
        },
        p50_ms=percentile(times, 0.5) if times else None,
        p95_ms=percentile(times, 0.95) if times else None,
        warnings=report.warnings,
    )


# --- pairs ------------------------------------------------------------------------------------

_Run = Sequence[TestOutcome]


def _pairs(
    names: Sequence[str], runs: Sequence[_Run], measures: Sequence[str]
) -> Iterable[ComparedPair]:
    numbered = list(combinations(range(len(runs)), 2))
    family = len(numbered) * len(measures)
    differences = {
        (one, other, measure): _difference(runs[one], runs[other], measure, family)
        for one, other in numbered
        for measure in measures
    }
    corrected = holm({key: difference.p for key, difference in differences.items()})
    for one, other in numbered:
        changes = []
        for measure in measures:
            key = (one, other, measure)
            found = evidence(differences[key], corrected[key])
            changes.append(
                MeasureChange(measure, differences[key], corrected[key], found.verdict, found)
            )
        yield _pair(names[one], names[other], runs[one], runs[other], tuple(changes))


def _difference(first: _Run, second: _Run, measure: str, family: int) -> MeasureDifference:
    judged = [
        (one.measures[measure], other.measures[measure])
        for one, other in zip(first, second, strict=True)
        if measure in one.measures and measure in other.measures
    ]
    return compare([one for one, _ in judged], [other for _, other in judged], measures=family)


def _pair(
    first: str, second: str, before: _Run, after: _Run, changes: tuple[MeasureChange, ...]
) -> ComparedPair:
    measures = [change.measure for change in changes]
    both = list(zip(before, after, strict=True))
    directed = [(change_of(pair, measures[0]), direction(pair, measures)) for pair in both]
    wins = tuple(change for change, way in directed if way > 0)
    losses = tuple(change for change, way in directed if way < 0)
    overlaps = [share for pair in both if (share := _overlap(*pair)) is not None]
    return ComparedPair(
        first=first,
        second=second,
        changes=changes,
        wins=wins,
        losses=losses,
        ties=len(both) - len(wins) - len(losses),
        latency=_latency_ratio(both),
        overlap=math.fsum(overlaps) / len(overlaps) if overlaps else None,
    )


def _latency_ratio(pairs: Sequence[tuple[TestOutcome, TestOutcome]]) -> Ratio | None:
    """The ratio of the times of the same question, so that long questions weigh like others."""
    logs = [
        math.log(after.latency_ms / before.latency_ms)
        for before, after in pairs
        if before.latency_ms and after.latency_ms
    ]
    if not logs:
        return None
    low, high = bootstrap_interval(logs)
    mean = math.fsum(logs) / len(logs)
    return Ratio(math.exp(mean), math.exp(low), math.exp(high), len(logs))


def _overlap(before: TestOutcome, after: TestOutcome) -> float | None:
    """The share of pages that both found; None if neither found any."""
    first, second = _places(before.found), _places(after.found)
    either = first | second
    return len(first & second) / len(either) if either else None


def _places(found: Iterable[FoundHit]) -> set[str]:
    """The pages of results, comparable between targets: by their path, or else by their names."""
    return {address_key(hit.url, path_only=True) if hit.url else hit.chunk_id for hit in found}


# --- the most different questions -------------------------------------------------------------


def _contrasts(runs: Sequence[_Run], measure: str) -> Iterable[Contrast]:
    rows = list(zip(*runs, strict=True))
    ranked = sorted(rows, key=lambda row: (-_spread(row, measure), _least_overlap(row)))
    for row in ranked[:CONTRASTS]:
        if _spread(row, measure) <= _EQUAL and _least_overlap(row) >= 1 - _EQUAL:
            return
        yield Contrast(
            row[0].test_id,
            row[0].query_text,
            tuple(
                ContrastSide(
                    test.outcome,
                    test.measures.get(measure),
                    test.found,
                    tuple(sorted({one.rank for one in test.sought if one.rank is not None})),
                    test.message,
                )
                for test in row
            ),
        )


def _spread(row: Sequence[TestOutcome], measure: str) -> float:
    values = [test.measures.get(measure, 0.0) for test in row]
    return max(values) - min(values)


def _least_overlap(row: Sequence[TestOutcome]) -> float:
    shares = (_overlap(one, other) for one, other in combinations(row, 2))
    return min((share for share in shares if share is not None), default=1.0)
