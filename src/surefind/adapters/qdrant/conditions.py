"""Translates conditions to tests of payload keys, for the embedded engine and the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from surefind.adapters.qdrant.payload import FLAGS, PATHS, payload_key
from surefind.model import AnyOf, Between, Condition, Under


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of numbers, or of dates in ISO 8601; None means unbounded."""

    gte: float | str | None = None
    gt: float | str | None = None
    lte: float | str | None = None
    lt: float | str | None = None

    @property
    def dated(self) -> bool:
        return any(isinstance(bound, str) for bound in (self.gte, self.gt, self.lte, self.lt))


@dataclass(frozen=True, slots=True)
class KeyTest:
    """The key has one of the words, or a value within the bounds."""

    key: str
    test: tuple[str, ...] | Bounds


def key_tests(condition: Condition) -> Sequence[KeyTest]:
    """Tests of which one must hold, or none for an excluding condition.

    There is one test per type, because the engine matches words and integers separately.
    """
    if isinstance(condition, Under):
        return [KeyTest(PATHS[condition.key], (condition.path,))]
    if isinstance(condition, Between):
        names = ("gte", "gt", "lte", "lt")
        bounds = {name: _written(getattr(condition, name)) for name in names}
        return [KeyTest(payload_key(condition.key), Bounds(**bounds))]
    return _any_of(condition)


def excludes(condition: Condition) -> bool:
    return isinstance(condition, AnyOf) and condition.exclude


def _any_of(condition: AnyOf) -> list[KeyTest]:
    key = payload_key(condition.key)
    words = tuple(value for value in condition.values if isinstance(value, str))
    tests = [KeyTest(key, words)] if words else []
    for value in condition.values:
        if isinstance(value, bool):
            tests.append(KeyTest(FLAGS[value], (condition.key,)))
        elif isinstance(value, int | float):
            tests.append(KeyTest(key, Bounds(gte=float(value), lte=float(value))))
    return tests


def _written(bound: float | datetime | None) -> float | str | None:
    return bound.isoformat() if isinstance(bound, datetime) else bound
