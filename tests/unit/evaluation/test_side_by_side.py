"""Runs compared side by side: measures, wins, latencies, overlap and the most different tests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from surefind.errors import NotComparable
from surefind.evaluation.golden.expectations import ByAddress
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.report.report import Outcome, Report
from surefind.evaluation.report.side_by_side import CONTRASTS, SideBySide, side_by_side
from surefind.evaluation.statistics.significance import ComparisonEvidence
from surefind.interfaces.reports.html.side_by_side import side_by_side_page
from surefind.interfaces.reports.side_by_side import (
    side_by_side_json,
    side_by_side_markdown,
    side_by_side_terminal,
)
from surefind.model import TargetAnswer, TargetHit, TargetQuery
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.comparison_run import run_on_targets

TESTS = tuple(
    GoldenTest(f"t{n}", f"question {n}", expected=(ByAddress(f"/page{n}"),)) for n in range(20)
)
GOLDEN = GoldenSet("golden", TESTS)


class Ranked:
    """Returns the expected page at a rank per test (0: never), after pages of its own."""

    takes_limit = True
    takes_filters = False

    def __init__(self, name: str, ranks: Sequence[int], latency_ms: float = 10.0) -> None:
        self.name = name
        self.asked: list[str] = []
        self._ranks = ranks
        self._latency_ms = latency_ms

    async def search(self, query: TargetQuery) -> TargetAnswer:
        self.asked.append(query.test_id)
        number = int(query.test_id[1:])
        pages = [f"https://docs.example.com/other{n}" for n in range(5)]
        rank = self._ranks[number % len(self._ranks)]
        if rank:
            pages.insert(rank - 1, f"https://docs.example.com/page{number}")
        hits = tuple(TargetHit(url=page) for page in pages[: query.top_k])
        return TargetAnswer(hits, self._latency_ms * (1 + number / 10))


async def reports_of(*targets: Ranked, top_k: int = 3) -> list[Report]:
    return await run_on_targets(targets, GOLDEN, RunRequest(top_k=top_k, concurrency=1), "test")


async def compared(*targets: Ranked) -> SideBySide:
    return side_by_side(await reports_of(*targets))


async def test_a_better_target_is_found() -> None:
    result = await compared(Ranked("a", [0, 1]), Ranked("b", [1], latency_ms=20.0))
    [pair] = result.pairs
    assert {change.evidence for change in pair.changes} == {ComparisonEvidence.BETTER}
    assert (len(pair.wins), len(pair.losses), pair.ties) == (10, 0, 10)
    assert pair.latency is not None
    assert pair.latency.value == pytest.approx(2.0)
    assert [one.passed for one in result.targets] == [10, 20]


async def test_equal_targets_are_the_same() -> None:
    result = await compared(Ranked("a", [1, 2]), Ranked("b", [1, 2]))
    [pair] = result.pairs
    assert {change.evidence for change in pair.changes} == {ComparisonEvidence.NO_CHANGE}
    assert pair.overlap == 1.0
    assert result.contrasts == ()


async def test_p_values_are_corrected_for_all_pairs() -> None:
    both = await compared(Ranked("a", [0, 1]), Ranked("b", [1]))
    three = await compared(Ranked("a", [0, 1]), Ranked("b", [1]), Ranked("c", [1]))
    assert len(three.pairs) == 3
    assert three.pairs[0].changes[0].p > both.pairs[0].changes[0].p


async def test_the_most_different_questions_have_both_lists() -> None:
    result = await compared(Ranked("a", [1, 0]), Ranked("b", [1, 1]))
    assert len(result.contrasts) == CONTRASTS
    first = result.contrasts[0]
    assert [side.value for side in first.sides] == [0.0, 1.0]
    assert [side.right for side in first.sides] == [(), (1,)]
    assert first.sides[0].found[0].url == "https://docs.example.com/other0"


async def test_questions_are_asked_in_turn() -> None:
    order: list[str] = []

    class Noting(Ranked):
        async def search(self, query: TargetQuery) -> TargetAnswer:
            order.append(self.name)
            return await super().search(query)

    await reports_of(Noting("a", [1]), Noting("b", [1]))
    assert order[:6] == ["a", "b", "b", "a", "a", "b"]
    assert len(order) == 2 * len(TESTS)  # failed tests are not repeated


async def test_names_are_distinct() -> None:
    result = await compared(Ranked("a", [1]), Ranked("a", [2]))
    assert [one.name for one in result.targets] == ["a", "a (run 2)"]


async def test_only_shared_tests_are_compared() -> None:
    first, second = await reports_of(Ranked("a", [1]), Ranked("b", [2]))
    fewer = replace(second, tests=second.tests[5:])
    changed = replace(fewer, tests=(replace(fewer.tests[0], digest="other"), *fewer.tests[1:]))
    result = side_by_side([first, changed])
    assert result.tests == 14
    assert result.left_out == ("t0", "t1", "t2", "t3", "t4", "t5")


async def test_a_run_that_ended_early_is_compared_as_far_as_it_went() -> None:
    first, second = await reports_of(Ranked("a", [1]), Ranked("b", [2]))
    tests = tuple(
        replace(test, outcome=Outcome.NOT_RUN, measures={}) if number > 7 else test
        for number, test in enumerate(second.tests)
    )
    result = side_by_side([first, replace(second, tests=tests, interrupted="stopped")])
    assert (result.tests, result.interrupted) == (8, "stopped")
    assert result.left_out == ()
    none = tuple(replace(test, outcome=Outcome.NOT_RUN, measures={}) for test in second.tests)
    with pytest.raises(NotComparable, match="no test was answered by all targets: stopped"):
        side_by_side([first, replace(second, tests=none, interrupted="stopped")])


async def test_runs_that_share_nothing_are_not_compared() -> None:
    first, second = await reports_of(Ranked("a", [1]), Ranked("b", [2]))
    with pytest.raises(NotComparable, match="at least two"):
        side_by_side([first])
    with pytest.raises(NotComparable, match="top_k 3 and 5"):
        side_by_side([first, *await reports_of(Ranked("c", [1]), top_k=5)])
    with pytest.raises(NotComparable, match="share no test"):
        side_by_side([first, replace(second, tests=())])
    unjudged = tuple(replace(test, measures={}) for test in second.tests)
    with pytest.raises(NotComparable, match="no test has judged results"):
        side_by_side([first, replace(second, tests=unjudged)])


async def test_every_form_has_the_numbers_and_escapes_the_rest() -> None:
    name = "<b>a</b>"
    result = await compared(Ranked(name, [0, 1]), Ranked("b", [1]))
    written = side_by_side_json(result)
    assert written["schema"] == "surefind.compare/1"
    assert written["pairs"][0]["changes"][0]["evidence"] == "better"
    shown = side_by_side_terminal(result)
    assert "tests that B answers better: 10, worse: 0, equally: 10" in shown
    assert "1* https://docs.example.com/page0" in shown
    assert "| B better |" in side_by_side_markdown(result)
    page = side_by_side_page(result, "test")
    assert name not in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "script-src 'none'" in page
    assert "<script" not in page


async def test_latencies_that_are_unknown_are_left_out() -> None:
    first, second = await reports_of(Ranked("a", [1]), Ranked("b", [2]))
    tests = tuple(replace(test, latency_ms=None) for test in second.tests)
    result = side_by_side([first, replace(second, tests=tests)])
    assert result.pairs[0].latency is None
    assert result.targets[1].p50_ms is None
    assert datetime.now(UTC) >= first.completed_at
    assert "latency of B" not in side_by_side_terminal(result)
