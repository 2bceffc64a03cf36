"""Drift: do users find less than before? From the query log and the recorded validations."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from surefind.errors import InputError
from surefind.evaluation.report.past_runs import PastRun, trends
from surefind.model import LoggedSearch, question_key
from surefind.services.demand.gaps import THIN, confidence_of, typed_out

QUANTITIES = ("thin_rate", "thin_rate_rise", "no_hits_rate", "similarity_fall", "measure_fall")
DEFAULT_RULES = ("thin_rate_rise > 0.05", "similarity_fall > 0.02", "measure_fall > 0.02")
FEWEST = 20
"""A period needs as many searches."""
EARLIER = 5
"""The latest validation is compared with the mean of at most this many before it."""
_RULE = re.compile(r"\s*(\w+)\s*>\s*(\d+(?:\.\d+)?)\s*")
_RESAMPLES = 1000
_SEED = 25


@dataclass(frozen=True, slots=True)
class AlertRule:
    """An alert if a quantity is above a limit, as in `thin_rate_rise > 0.05`."""

    quantity: str
    limit: float

    @classmethod
    def parse(cls, rule: str) -> "AlertRule":
        match = _RULE.fullmatch(rule)
        if match is None or match[1] not in QUANTITIES:
            raise InputError(
                f"invalid rule {rule!r}; write one like 'thin_rate_rise > 0.05', with one of "
                f"{', '.join(QUANTITIES)}"
            )
        return cls(match[1], float(match[2]))

    def __str__(self) -> str:
        return f"{self.quantity} > {self.limit:g}"


@dataclass(frozen=True, slots=True)
class LogPeriod:
    """`searches` have no filters; the rates and the mean are None if there are too few of them."""

    since: datetime
    until: datetime
    searches: int
    thin_rate: float | None
    no_hits_rate: float | None
    similarity: float | None


@dataclass(frozen=True, slots=True)
class Shift:
    """A difference, now minus before, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MeasureShift:
    """The latest validation beside the mean of those before it, with the same tests and options."""

    golden: str
    place: str
    measure: str
    latest: float
    before: float
    runs: int

    @property
    def fall(self) -> float:
        return self.before - self.latest


@dataclass(frozen=True, slots=True)
class Drift:
    """`alerts` say which rules apply, and why. Shifts are None if a period has too few searches."""

    collection: str
    before: LogPeriod
    now: LogPeriod
    thin_rate: Shift | None
    similarity: Shift | None
    measures: tuple[MeasureShift, ...]
    alerts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DriftOptions:
    """The period from `middle` to `until` is compared with that from `since` to `middle`."""

    since: datetime
    middle: datetime
    until: datetime
    rules: tuple[AlertRule, ...]


def drift(
    collection: str,
    searches: Sequence[LoggedSearch],
    runs: Sequence[PastRun],
    options: DriftOptions,
) -> Drift:
    """`searches` are sorted by time."""
    asked = [one for one in typed_out(searches) if not one.filtered and one.at <= options.until]
    before = [one for one in asked if options.since <= one.at < options.middle]
    now = [one for one in asked if one.at >= options.middle]
    earlier = _period(before, options.since, options.middle)
    latest = _period(now, options.middle, options.until)
    thin_rate = _shift(_thin(before), _thin(now))
    similarity = _shift(_similarities(before), _similarities(now))
    measures = tuple(_measures(runs))
    known = {
        "thin_rate": latest.thin_rate,
        "no_hits_rate": latest.no_hits_rate,
        # The end of the interval that is nearest to no change, so chance raises no alert.
        "thin_rate_rise": None if thin_rate is None else thin_rate.low,
        "similarity_fall": None if similarity is None else -similarity.high,
    }
    return Drift(
        collection,
        earlier,
        latest,
        thin_rate,
        similarity,
        measures,
        tuple(_alerts(options.rules, known, measures)),
    )


def _period(searches: Sequence[LoggedSearch], since: datetime, until: datetime) -> LogPeriod:
    if len(searches) < FEWEST:
        return LogPeriod(since, until, len(searches), None, None, None)
    return LogPeriod(
        since,
        until,
        len(searches),
        _mean(_thin(searches)),
        fmean(not one.hits for one in searches),
        _mean(_similarities(searches)),
    )


Values = Mapping[str, Sequence[float]]
"""The values of the searches with the same question."""


def _thin(searches: Sequence[LoggedSearch]) -> Values:
    values: dict[str, list[float]] = defaultdict(list)
    for one in searches:
        if one.confidence is not None or not one.hits:
            values[question_key(one.text)].append(confidence_of(one) < THIN)
    return values


def _similarities(searches: Sequence[LoggedSearch]) -> Values:
    values: dict[str, list[float]] = defaultdict(list)
    for one in searches:
        if one.similarity is not None:
            values[question_key(one.text)].append(one.similarity)
    return values


def _mean(values: Values) -> float | None:
    every = [value for of_question in values.values() for value in of_question]
    return fmean(every) if every else None


def _shift(before: Values, now: Values) -> Shift | None:
    """A bootstrap over questions, because the searches of one question have one answer."""
    if min(sum(map(len, one.values())) for one in (before, now)) < FEWEST:
        return None
    first, second = _mean(before), _mean(now)
    assert first is not None
    assert second is not None
    chance = np.random.default_rng(_SEED)
    differences = _redrawn(now, chance) - _redrawn(before, chance)
    low, high = np.quantile(differences, [0.025, 0.975])
    value = second - first
    return Shift(value, min(value, float(low)), max(value, float(high)))


def _redrawn(values: Values, chance: np.random.Generator) -> NDArray[np.float64]:
    sums = np.array([sum(of_question) for of_question in values.values()], dtype=np.float64)
    counts = np.array([len(of_question) for of_question in values.values()], dtype=np.float64)
    means = np.empty(_RESAMPLES)
    for number in range(_RESAMPLES):
        chosen = chance.integers(len(sums), size=len(sums))
        means[number] = sums[chosen].sum() / counts[chosen].sum()
    return means


def _measures(runs: Sequence[PastRun]) -> list[MeasureShift]:
    found = []
    for trend in trends(runs):
        *earlier, latest = trend.values
        shown = earlier[-EARLIER:]
        found.append(
            MeasureShift(
                trend.golden, trend.place, trend.name, latest, fmean(shown), len(shown) + 1
            )
        )
    return found


def _alerts(
    rules: Sequence[AlertRule],
    known: Mapping[str, float | None],
    measures: Sequence[MeasureShift],
) -> list[str]:
    alerts = []
    for rule in rules:
        if rule.quantity == "measure_fall":
            alerts += [
                f"{rule}: {one.measure} of {one.golden} ({one.place}) fell by {one.fall:.4f}"
                for one in measures
                if one.fall > rule.limit
            ]
            continue
        value = known[rule.quantity]
        if value is not None and value > rule.limit:
            at_least = "at least " if rule.quantity.endswith(("_rise", "_fall")) else ""
            alerts.append(f"{rule}: it is {at_least}{value:.3f}")
    return alerts
