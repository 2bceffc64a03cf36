"""Whole reports compared over and over: how often chance is called a regression, and truth not."""

from dataclasses import replace

import numpy as np

from surefind.evaluation.comparison import compare_reports
from surefind.evaluation.report import Report
from surefind.evaluation.statistics import LEVEL, Verdict
from unit.validation_reports import outcome, report

QUERIES = 24
RANKS = np.array([1.0, 0.63, 0.5, 0.43, 0.0])
"""What a single relevant passage is worth by nDCG at ranks 1 to 4, and where it is not found."""


def drawn(chance: np.random.Generator, base: np.ndarray, lost: float = 0.0) -> Report:
    """A third of the queries end at another rank by chance, and a share of all is lost."""
    moved = chance.random(QUERIES) < 1 / 3
    values = np.where(moved, chance.choice(RANKS, QUERIES), base)
    values = np.where(chance.random(QUERIES) < lost, 0.0, values)
    tests = []
    for number, value in enumerate(values.tolist()):
        one = outcome(f"t{number}", value)
        # The two measures agree mostly, as measures of one order do.
        tests.append(replace(one, measures={"nDCG@5": value, "MRR": value**1.5}))
    return report(*tests)


def verdicts(seed: int, runs: int, lost: float = 0.0) -> list[Verdict]:
    chance = np.random.default_rng(seed)
    told = []
    for _ in range(runs):
        base = chance.choice(RANKS, QUERIES)
        before, after = drawn(chance, base), drawn(chance, base, lost)
        told.append(compare_reports(before, after).verdict)
    return told


def test_under_the_null_a_regression_is_called_no_oftener_than_the_level_says() -> None:
    """A failure is one side of the test, over two measures that are corrected for: at most 5 %."""
    told = verdicts(1, runs=60)
    assert told.count(Verdict.FAIL) / 60 <= LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / 60)


def test_a_real_loss_is_mostly_called_one_and_never_a_pass_in_silence() -> None:
    told = verdicts(2, runs=30, lost=0.6)
    assert told.count(Verdict.FAIL) >= 20
    assert told.count(Verdict.PASS) == 0


def test_every_change_shows_what_it_could_have_detected() -> None:
    chance = np.random.default_rng(3)
    base = chance.choice(RANKS, QUERIES)
    comparison = compare_reports(drawn(chance, base), drawn(chance, base))
    for change in comparison.changes:
        assert 0 < change.difference.detectable < 1
        assert change.p >= change.difference.p
