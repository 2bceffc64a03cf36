"""Values of YAML and JSON files that know their line, for errors that name it."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NoReturn

import yaml

from surefind.errors import InputError
from surefind.model import JsonValue

MAX_DEPTH = 20
_TOO_DEEP = f"values are nested more than {MAX_DEPTH} levels deep"
_LOADER: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SURROGATE_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE
)
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE
_INVALID_SCALAR = (ValueError, OverflowError, KeyError, AttributeError)
"""What PyYAML raises for `2026-13-45`, `!!bool maybe` or `!!timestamp soon`."""
_SHOWN = 40

Scalar = str | int | float | bool | date | None


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value in a file. `written` is the source text of a scalar."""

    source: str
    line: int
    value: Scalar | tuple[LocatedValue, ...] | Mapping[str, LocatedValue]
    written: str = ""

    def refuse(self, reason: str) -> NoReturn:
        raise InputError(f"{self.source}, line {self.line}: {reason}")

    def mapping(self, name: str, known: Sequence[str]) -> Mapping[str, LocatedValue]:
        """The value as a mapping; unknown keys are errors."""
        if not isinstance(self.value, Mapping):
            self.refuse(f"{name} must be a mapping, not {self.kind}")
        for key, inner in self.value.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                meant = f"did you mean {near[0]}? Known keys:" if near else "use"
                inner.refuse(f"unknown key {key!r} in {name}; {meant} {', '.join(known)}")
        return self.value

    def items(self, name: str) -> tuple[LocatedValue, ...]:
        if not isinstance(self.value, tuple):
            self.refuse(f"{name} must be a list, not {self.kind}")
        return self.value

    def text(self, name: str) -> str:
        if not isinstance(self.value, str):
            quoted = f"; put {self.written} in quotes" if self.written else ""
            self.refuse(f"{name} must be text, not {self.kind}{quoted}")
        if not self.value.strip():
            self.refuse(f"{name} cannot be empty")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            self.refuse(f"{name} contains a lone surrogate; save valid Unicode")
        return self.value

    def identifier(self, name: str) -> str:
        """Text, or the digits of a number."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.written
        return self.text(name)

    def fraction(self, name: str) -> float:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(f"{name} must be a number, not {self.kind}")
        if not math.isfinite(value) or not 0 <= value <= 1:
            self.refuse(f"{name} must be between 0.0 and 1.0, not {self.written}")
        return float(value)

    def whole(self, name: str, low: int, high: int) -> int:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(f"{name} must be a whole number, not {self.kind}")
        if not low <= value <= high:
            allowed = f"between {low} and {high}" if low < high else f"{low}"
            self.refuse(f"{name} must be {allowed}, not {self.written}")
        return value

    @property
    def plain(self) -> JsonValue:
        """The value without its lines; a date as it is written."""
        if isinstance(self.value, Mapping):
            return {key: inner.plain for key, inner in self.value.items()}
        if isinstance(self.value, tuple):
            return [inner.plain for inner in self.value]
        return self.written if isinstance(self.value, date) else self.value

    @property
    def kind(self) -> str:
        if self.value is None:
            return "empty"
        if isinstance(self.value, Mapping):
            return "a mapping"
        if isinstance(self.value, str):
            return "text"
        if isinstance(self.value, bool):
            return "a boolean"
        if isinstance(self.value, int | float):
            return "a number"
        return "a date" if isinstance(self.value, date) else "a list"


# --- YAML -------------------------------------------------------------------------------------


def read_yaml(source: str, text: str) -> LocatedValue | None:
    """The single document of a file, or None if the file is empty."""
    # The YAML parser also reads JSON; error messages should then say JSON.
    form = "JSON" if source.casefold().endswith(".json") else "YAML"
    if odd := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        raise InputError(
            f"{source}, line {line}: invalid {form}: unprintable character; write "
            f"\\u{ord(odd.group()):04x} in double quotes"
        )
    builder = _Builder(source, _SURROGATE_PAIR.sub(_joined, text))
    try:
        return builder.document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", error)
        raise InputError(f"{source}, line {line}: invalid {form}: {problem}") from error
    finally:
        builder.close()


def _joined(match: re.Match[str]) -> str:
    """JSON can escape a character as a surrogate pair, which YAML does not support."""
    halves = bytes.fromhex(match.group(2) + match.group(3))
    return match.group(1) + halves.decode("utf-16-be")


class _Builder:
    """Builds the tree from parser events, to reject deep nesting before the stack overflows."""

    def __init__(self, source: str, text: str) -> None:
        self._source = source
        self._loader = _LOADER(text)

    def close(self) -> None:
        self._loader.dispose()

    def document(self) -> LocatedValue | None:
        found = None
        while not self._at(yaml.StreamEndEvent):
            event = self._next()
            if isinstance(event, yaml.DocumentStartEvent):
                if found is not None:
                    self._refuse(
                        event,
                        "a second document starts here; a golden file must be a single document",
                    )
                found = self._value(0)
        return found

    def _value(self, depth: int) -> LocatedValue:
        event = self._next()
        if depth > MAX_DEPTH:
            self._refuse(event, _TOO_DEEP)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(
                event, f"the alias *{event.anchor} is not supported; repeat the value instead"
            )
        if isinstance(event, yaml.MappingStartEvent):
            return self._located(event, dict(self._pairs(depth)))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._located(event, tuple(self._members(depth)))
        return self._scalar(event)

    def _pairs(self, depth: int) -> Iterator[tuple[str, LocatedValue]]:
        seen: set[str] = set()
        while not self._at(yaml.MappingEndEvent):
            key = self._value(depth + 1)
            name = key.written
            if not isinstance(key.value, str):
                key.refuse(f"a key must be text, not {key.kind}")
            if name in seen:
                key.refuse(f"duplicate key {name!r}")
            seen.add(name)
            yield name, self._value(depth + 1)
        self._next()

    def _members(self, depth: int) -> Iterator[LocatedValue]:
        while not self._at(yaml.SequenceEndEvent):
            yield self._value(depth + 1)
        self._next()

    def _scalar(self, event: Any) -> LocatedValue:
        resolve: Any = self._loader.resolve
        tag = event.tag or resolve(yaml.ScalarNode, event.value, event.implicit)
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            value = self._loader.construct_object(node)
        except _INVALID_SCALAR:
            short = event.value if len(event.value) <= _SHOWN else f"{event.value[:_SHOWN]}…"
            self._refuse(event, f"{short} is not a valid number or date; put it in quotes")
        if isinstance(value, bytes):
            self._refuse(event, "binary values are not supported")
        return self._located(event, value, event.value)

    def _located(self, event: Any, value: Any, written: str = "") -> LocatedValue:
        return LocatedValue(self._source, event.start_mark.line + 1, value, written)

    def _at(self, kind: type) -> bool:
        return bool(self._loader.check_event(kind))

    def _next(self) -> Any:
        return self._loader.get_event()

    def _refuse(self, event: Any, reason: str) -> NoReturn:
        raise InputError(f"{self._source}, line {event.start_mark.line + 1}: {reason}")


# --- lines of JSON ----------------------------------------------------------------------------


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as pairs, to detect duplicate keys."""


def read_json_lines(source: str, text: str) -> Iterator[LocatedValue]:
    """One value for each non-blank line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _json_line(source, number, line)


def _json_line(source: str, number: int, line: str) -> LocatedValue:
    place = LocatedValue(source, number, None)
    try:
        value = json.loads(line, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place.refuse(f"invalid JSON: {error.msg} at column {error.colno}")
    except RecursionError:
        place.refuse(_TOO_DEEP)
    except InputError as error:
        place.refuse(f"invalid JSON: {error}")
    except ValueError:  # Python's limit on digits; its message would confuse
        place.refuse("a number has too many digits; put it in quotes")
    return _placed(place, value, 0)


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a number")


def _placed(place: LocatedValue, value: Any, depth: int) -> LocatedValue:
    if depth > MAX_DEPTH:
        place.refuse(_TOO_DEEP)
    if isinstance(value, _Pairs):
        inner: dict[str, LocatedValue] = {}
        for key, held in value:
            if key in inner:
                place.refuse(f"duplicate key {key!r}")
            inner[key] = _placed(place, held, depth + 1)
        return LocatedValue(place.source, place.line, inner)
    if isinstance(value, list):
        members = tuple(_placed(place, held, depth + 1) for held in value)
        return LocatedValue(place.source, place.line, members)
    written = "" if value is None else json.dumps(value)
    return LocatedValue(place.source, place.line, value, written)
