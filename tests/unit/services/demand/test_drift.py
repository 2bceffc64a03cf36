"""Alerts say that users find less than before, and chance raises none."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from surefind.errors import InputError
from surefind.evaluation.report.past_runs import PastRun, remembered
from surefind.model import LoggedSearch
from surefind.services.demand.drift import (
    DEFAULT_RULES,
    FEWEST,
    AlertRule,
    Drift,
    DriftOptions,
    drift,
)
from unit.interfaces.validation_reports import report

NOW = datetime(2026, 2, 1, tzinfo=UTC)
MIDDLE = NOW - timedelta(days=7)
SINCE = MIDDLE - timedelta(days=28)


def searched(at: datetime, text: str, confidence: float, similarity: float) -> LoggedSearch:
    return LoggedSearch(at, "docs", text, "hybrid", 5, confidence, similarity)


def period(start: datetime, thin_share: float, similarity: float, seed: int) -> list[LoggedSearch]:
    chance = Random(seed)
    return [
        searched(
            start + timedelta(minutes=number),
            f"question {seed} {number}",
            0.1 if chance.random() < thin_share else 0.9,
            similarity + chance.gauss(0, 0.05),
        )
        for number in range(200)
    ]


def drifted(searches: Sequence[LoggedSearch], *rules: str, runs: Sequence[PastRun] = ()) -> Drift:
    parsed = tuple(AlertRule.parse(rule) for rule in rules or DEFAULT_RULES)
    return drift("docs", searches, runs, DriftOptions(SINCE, MIDDLE, NOW, parsed))


def test_more_thin_evidence_and_less_similarity_raise_alerts() -> None:
    found = drifted([*period(SINCE, 0.05, 0.75, 1), *period(MIDDLE, 0.40, 0.65, 2)])
    assert found.thin_rate is not None
    assert found.thin_rate.low < 0.35 < found.thin_rate.high
    assert [alert.partition(":")[0] for alert in found.alerts] == list(DEFAULT_RULES[:2])
    assert (found.before.searches, found.now.searches) == (200, 200)


@pytest.mark.parametrize("seed", range(5))
def test_chance_raises_no_alert(seed: int) -> None:
    same = [*period(SINCE, 0.2, 0.7, seed), *period(MIDDLE, 0.2, 0.7, 100 + seed)]
    assert drifted(same).alerts == ()


def test_an_improvement_raises_no_alert() -> None:
    found = drifted([*period(SINCE, 0.4, 0.65, 1), *period(MIDDLE, 0.05, 0.75, 2)])
    assert found.alerts == ()
    assert found.thin_rate is not None
    assert found.thin_rate.high < 0


def test_a_question_that_is_asked_often_raises_no_alert() -> None:
    often = [
        searched(MIDDLE + timedelta(minutes=number), "the same question?", 0.1, 0.7)
        for number in range(60)
    ]
    found = drifted([*period(SINCE, 0.2, 0.7, 1), *period(MIDDLE, 0.2, 0.7, 2)[::2], *often])
    assert found.thin_rate is not None
    assert found.thin_rate.value > 0.2
    assert found.alerts == ()


def test_a_few_searches_are_not_judged() -> None:
    few = period(MIDDLE, 1.0, 0.1, 2)[: FEWEST - 1]
    found = drifted([*period(SINCE, 0.0, 0.9, 1), *few], *DEFAULT_RULES, "thin_rate > 0.1")
    assert (found.thin_rate, found.similarity, found.now.thin_rate) == (None, None, None)
    assert found.alerts == ()
    assert drifted([]).alerts == ()


def test_rates_of_the_latest_searches_have_rules_too() -> None:
    searches = period(MIDDLE, 0.5, 0.7, 1)
    searches = [replace(one, hits=0, similarity=None) for one in searches[:100]] + searches[100:]
    found = drifted(searches, "thin_rate > 0.3", "no_hits_rate > 0.4", "no_hits_rate > 0.6")
    assert [alert.partition(":")[0] for alert in found.alerts] == [
        "thin_rate > 0.3",
        "no_hits_rate > 0.4",
    ]


def test_searches_with_filters_do_not_count() -> None:
    filtered = [replace(one, filtered=True) for one in period(MIDDLE, 1.0, 0.1, 2)]
    assert drifted([*period(SINCE, 0.0, 0.9, 1), *filtered]).now.searches == 0


def past_run(number: int, value: float) -> PastRun:
    made = remembered(report())
    return replace(
        made,
        run_id=f"run-{number}",
        started_at=NOW - timedelta(days=20 - number),
        means={"nDCG@5": value},
        totals=replace(made.totals, total=10, passed=8),
        interrupted="",
    )


def test_a_measure_that_fell_raises_an_alert() -> None:
    runs = [past_run(number, value) for number, value in enumerate([0.2, *[0.8] * 5, 0.7])]
    found = drifted([], runs=runs)
    [shift] = found.measures
    assert (shift.latest, shift.runs) == (0.7, 6)
    assert shift.before == pytest.approx(0.8)
    [alert] = found.alerts
    assert alert.startswith("measure_fall > 0.02: nDCG@5 of ")
    assert drifted([], runs=[*runs, past_run(8, 0.79)]).alerts == ()


@pytest.mark.parametrize("rule", ["thin_rate", "thin_rate < 1", "rate > 1", "thin_rate > x", ""])
def test_an_invalid_rule_is_refused(rule: str) -> None:
    with pytest.raises(InputError, match=r"write one like 'thin_rate_rise > 0\.05'"):
        AlertRule.parse(rule)
