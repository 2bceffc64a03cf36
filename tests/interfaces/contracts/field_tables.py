"""A contract as a table of fields, and the cases that every boundary of it is tried with."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

REQUIRED = object()

_WRONG_KINDS: dict[type, tuple[object, ...]] = {
    str: (5, 1.5, True, None, [], {}),
    int: ("5", "", 2.5, True, None, [], {}, math.nan, math.inf),
    float: ("0.5", "", True, None, [], {}, math.nan, math.inf, -math.inf),
    bool: ("true", "", 1, 0, None, [], {}),
}


@dataclass(frozen=True)
class Field:
    """`low` and `high` bound a number, or the characters of a text; both are allowed themselves."""

    name: str
    kind: type
    default: object = REQUIRED
    low: float | None = None
    high: float | None = None

    def good(self) -> Iterator[object]:
        if self.kind is bool:
            yield from (True, False)
        for bound in (self.low, self.high):
            if bound is not None:
                yield "x" * int(bound) if self.kind is str else self.kind(bound)

    def bad(self) -> Iterator[object]:
        yield from _WRONG_KINDS[self.kind]
        if self.kind is str:
            yield from ("", " \n\t" * 5, "\ud800 half a character")
        step = 0.001 if self.kind is float else 1
        for bound, outwards in ((self.low, -step), (self.high, step)):
            if bound is not None:
                beyond = bound + outwards
                yield "x" * int(beyond) if self.kind is str else self.kind(beyond)


Table = tuple[Field, ...]
Values = dict[str, Any]


def good_cases(table: Table, base: Values) -> Iterator[Any]:
    """Each field at each of its bounds; each optional one left out."""
    for field in table:
        for value in field.good():
            yield {**base, field.name: value}
        if field.default is not REQUIRED:
            yield {name: value for name, value in base.items() if name != field.name}


def bad_cases(table: Table, base: Values) -> Iterator[tuple[Values, str]]:
    """(values, the field at fault): wrong kinds, beyond each bound, missing, unknown."""
    for field in table:
        for value in field.bad():
            yield {**base, field.name: value}, field.name
        if field.default is REQUIRED:
            yield {name: value for name, value in base.items() if name != field.name}, field.name


def defaults(table: Table) -> Values:
    return {field.name: field.default for field in table if field.default is not REQUIRED}


def named(value: object) -> str:
    """A short name of a case, for the reports of a test run."""
    text = json.dumps(value, default=str)
    return text if len(text) < 60 else f"{text[:40]}…{len(text)}"
