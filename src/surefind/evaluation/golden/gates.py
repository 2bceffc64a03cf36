"""Rules about a whole run: `nDCG@10 < 0.8` fails it in `fail_if` and warns in `warn_if`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from surefind.errors import InputError
from surefind.evaluation.measures.ranking import Measure

STAGES = ("embedded", "searched", "formatted")
QUANTITIES = (
    "accuracy",
    "pass_rate",
    "failed",
    "stale",
    "invalid",
    "errors",
    "error_rate",
    "false_accept_rate",
    "index_recall",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    *(f"{stage}_{statistic}_ms" for stage in STAGES for statistic in ("p50", "p95", "max")),
)
"""Times of stages are those of single searches; `searched` includes the filters."""
_SHARES = frozenset({"accuracy", "pass_rate", "error_rate", "false_accept_rate", "index_recall"})
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RULE = re.compile(r"\s*(\S+?)\s*(<=|>=|<|>)\s*(\S+)\s*")


class RuleSeverity(StrEnum):
    WARN = "warn_if"
    FAIL = "fail_if"


@dataclass(frozen=True, slots=True)
class QualityRule:
    """`quantity` is the name of a measure or one of QUANTITIES."""

    severity: RuleSeverity
    quantity: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, severity: RuleSeverity, rule: str) -> QualityRule:
        match = _RULE.fullmatch(rule)
        if match is None:
            raise InputError(f"invalid rule {rule!r}; write one like 'nDCG@10 < 0.8'")
        quantity, comparison = _quantity(match.group(1)), match.group(2)
        return cls(severity, quantity, comparison, _limit(quantity, match.group(3)))

    def __str__(self) -> str:
        return f"{self.quantity} {self.comparison} {self.limit:g}"

    @property
    def measure(self) -> Measure | None:
        return None if self.quantity in QUANTITIES else Measure.parse(self.quantity)

    def is_met_by(self, value: float) -> bool:
        """True if the run has to fail, or warn."""
        return _COMPARISONS[self.comparison](value, self.limit)


def _quantity(name: str) -> str:
    if name in QUANTITIES:
        return name
    try:
        return str(Measure.parse(name))
    except InputError as error:
        raise InputError(f"{error}, or one of {', '.join(QUANTITIES)}") from None


def _limit(quantity: str, written: str) -> float:
    """Reject limits outside the quantity's range: such a rule would always or never apply."""
    value = _number(written)
    if quantity not in QUANTITIES or quantity in _SHARES:
        if not 0 <= value <= 1:
            hint = f"; write {value / 100:g} for {value:g} %" if 1 < value <= 100 else ""
            raise InputError(f"{quantity} is a number from 0 to 1, not {written}{hint}")
    elif value < 0:
        raise InputError(
            f"{quantity} is never below 0, so the limit can't be {written}; use 0 or more"
        )
    return value


def _number(written: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{written!r} is not a number; compare with one, as in 'nDCG@10 < 0.8'")
    return value
