"""Thresholds over a whole run: `nDCG@10 < 0.8` in `fail_if` fails it, in `warn_if` it warns."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from surefind.errors import InputError
from surefind.evaluation.measures.ranking import Measure

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
)
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
    """`quantity` is a measure's name or one of QUANTITIES."""

    severity: RuleSeverity
    quantity: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, severity: RuleSeverity, rule: str) -> QualityRule:
        match = _RULE.fullmatch(rule)
        if match is None:
            raise InputError(f"{rule!r} is no rule; write one as in 'nDCG@10 < 0.8'")
        quantity, comparison = _quantity(match.group(1)), match.group(2)
        return cls(severity, quantity, comparison, _limit(quantity, match.group(3)))

    def __str__(self) -> str:
        return f"{self.quantity} {self.comparison} {self.limit:g}"

    @property
    def measure(self) -> Measure | None:
        return None if self.quantity in QUANTITIES else Measure.parse(self.quantity)

    def is_met_by(self, value: float) -> bool:
        """Whether what it warns of has come about."""
        return _COMPARISONS[self.comparison](value, self.limit)


def _quantity(name: str) -> str:
    if name in QUANTITIES:
        return name
    try:
        return str(Measure.parse(name))
    except InputError as error:
        raise InputError(f"{error}; and there are {', '.join(QUANTITIES)}") from None


def _limit(quantity: str, written: str) -> float:
    """What the quantity can be: a rule beyond it would never hold, or always."""
    value = _number(written)
    if quantity not in QUANTITIES or quantity in _SHARES:
        if not 0 <= value <= 1:
            meant = f"; write {value / 100:g} for {value:g} %" if 1 < value <= 100 else ""
            raise InputError(f"{quantity} is from 0 to 1, and {written} is not{meant}")
    elif value < 0:
        raise InputError(f"{quantity} is never below 0, and {written} is")
    return value


def _number(written: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{written!r} is no number to compare with")
    return value
