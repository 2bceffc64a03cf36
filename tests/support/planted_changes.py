"""Changes of known size, planted into runs of golden tests: what does a comparison say of each?

`make bench-verdicts` prints the table: how often each change gets each verdict, and how often the
bounds that a comparison states hold. Every query is drawn alone, so the truth is known.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from surefind.evaluation.report.comparison import compare_reports
from surefind.evaluation.report.report import Report
from surefind.evaluation.report.summary import means_of
from surefind.evaluation.statistics.significance import ComparisonEvidence
from unit.interfaces.validation_reports import MEASURES, outcome, report

Ranks = NDArray[np.int64]
Change = Callable[[np.random.Generator, Ranks], tuple[Ranks, Ranks]]
"""(chance, ranks) -> the ranks before and after."""
NOWHERE = 0
RANKS = (1, 2, 3, 4, 5, NOWHERE)
SHARES = (0.60, 0.15, 0.08, 0.04, 0.03, 0.10)
"""Where the one right passage of a question is among the first five."""
NDCG = np.array([0.0, *(1 / np.log2(rank + 1) for rank in range(1, 6))])
MRR = np.array([0.0, *(1 / rank for rank in range(1, 6))])
_TRUTH_OVER = 400_000


def drawn(chance: np.random.Generator, queries: int) -> Ranks:
    return chance.choice(RANKS, queries, p=SHARES)


def nothing(_chance: np.random.Generator, ranks: Ranks) -> tuple[Ranks, Ranks]:
    return ranks, ranks


def shuffled(share: float, chance: np.random.Generator, ranks: Ranks) -> tuple[Ranks, Ranks]:
    """No direction: before and after are drawn alike."""
    moved = chance.random(len(ranks)) < share
    return ranks, np.where(moved, drawn(chance, len(ranks)), ranks)


def changed(
    lost: float, found: float, dropped: float, chance: np.random.Generator, ranks: Ranks
) -> tuple[Ranks, Ranks]:
    """Of all queries, shares that are lost entirely, found first, and shown one rank lower."""
    draw = chance.random(len(ranks))
    after = np.where(draw < lost, NOWHERE, ranks)
    after = np.where((draw >= lost) & (draw < lost + found), 1, after)
    lower = (draw >= lost + found) & (draw < lost + found + dropped) & (ranks > 0) & (ranks < 5)
    return ranks, np.where(lower, ranks + 1, after)


CHANGES: dict[str, Change] = {
    "nothing changed": nothing,
    "null: 2 % move": partial(shuffled, 0.02),
    "null: 10 % move": partial(shuffled, 0.10),
    "null: 40 % move": partial(shuffled, 0.40),
    "improvement: 5 % found": partial(changed, 0.0, 0.05, 0.0),
    "improvement: 40 % found": partial(changed, 0.0, 0.40, 0.0),
    "rare losses: 0.5 %": partial(changed, 0.005, 0.0, 0.0),
    "rare losses: 2 %": partial(changed, 0.02, 0.0, 0.0),
    "mixed: 20 % found, 1 % lost": partial(changed, 0.01, 0.20, 0.0),
    "mixed: 10 % found, 5 % lost": partial(changed, 0.05, 0.10, 0.0),
    "regression: 5 % lost": partial(changed, 0.05, 0.0, 0.0),
    "regression: 15 % lost": partial(changed, 0.15, 0.0, 0.0),
    "regression: 30 % lost": partial(changed, 0.30, 0.0, 0.0),
    "regression: 30 % a rank lower": partial(changed, 0.0, 0.0, 0.30),
}


@dataclass(slots=True)
class Count:
    """The verdicts of many runs, and how often their bounds hold."""

    runs: int = 0
    said: Counter[ComparisonEvidence] = field(default_factory=Counter)
    worse_held: int = 0
    mean_held: Counter[str] = field(default_factory=Counter)

    def share(self, *evidence: ComparisonEvidence) -> float:
        return sum(self.said[one] for one in evidence) / self.runs

    @property
    def worse_coverage(self) -> float:
        return self.worse_held / self.runs

    @property
    def mean_coverage(self) -> float:
        """Of the interval of the measure that does worst."""
        return min(held / self.runs for held in self.mean_held.values())


def count(change: Change, queries: int, runs: int, seed: int) -> Count:
    chance = np.random.default_rng([seed, queries])
    before, after = change(chance, drawn(chance, _TRUTH_OVER))
    truth = {
        str(measure): float((values[after] - values[before]).mean())
        for measure, values in zip(MEASURES, (NDCG, MRR), strict=True)
    }
    true_worse = float((NDCG[after] < NDCG[before]).mean())
    counted = Count()
    for _ in range(runs):
        before, after = change(chance, drawn(chance, queries))
        told = compare_reports(_report(before), _report(after))
        counted.runs += 1
        counted.said[told.evidence] += 1
        counted.worse_held += true_worse <= told.worse_at_most
        for one in told.changes:
            held = one.difference.low <= truth[one.measure] <= one.difference.high
            counted.mean_held[one.measure] += held
    return counted


def _report(ranks: Ranks) -> Report:
    tests = []
    for number, rank in enumerate(ranks.tolist()):
        one = outcome(f"t{number}")
        values = zip(MEASURES, (float(NDCG[rank]), float(MRR[rank])), strict=True)
        tests.append(replace(one, measures={str(measure): value for measure, value in values}))
    return replace(_EMPTY, tests=tuple(tests), means=means_of(tests, MEASURES))


_EMPTY = report()


def table(runs: int, sizes: tuple[int, ...], seed: int) -> Iterator[str]:
    names = [str(one) for one in ComparisonEvidence]
    yield f"| change | queries | {' | '.join(names)} | share bound holds | interval holds |"
    yield f"|{' --- |' * (4 + len(names))}"
    for name, change in CHANGES.items():
        for queries in sizes:
            told = count(change, queries, runs, seed)
            shares = [
                f"{told.share(one):.0%}" if told.said[one] else "" for one in ComparisonEvidence
            ]
            held = f"{told.worse_coverage:.1%} | {told.mean_coverage:.1%}"
            yield f"| {name} | {queries} | {' | '.join(shares)} | {held} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--queries", type=int, nargs="+", default=[30, 100, 300])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for line in table(given.runs, tuple(given.queries), given.seed):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
