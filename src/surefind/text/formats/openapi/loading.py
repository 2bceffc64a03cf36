"""Loads JSON and YAML as plain data: bounded in depth and size, and without constructing objects.

PyYAML's own loaders recurse for each level, in C until the process crashes, and expand aliases
without a limit.
"""

import json
import re
from collections.abc import Iterable
from typing import TypeAlias

import yaml

from surefind.errors import InputError

Data: TypeAlias = "dict[str, Data] | list[Data] | str | int | float | bool | None"

_MAX_DEPTH = 200
_MAX_VALUES = 2_000_000
_MAX_OPENINGS = 2_000  # nested brackets on one level of indentation; libyaml slows down with more
_PARSER: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SPECIAL: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
}
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})(\.\d{1,17})?(?:[eE][-+]?\d{1,3})?")


def load(text: str) -> dict[str, Data]:
    """The mapping that a document consists of; InputError, with the reason, if there is none."""
    try:
        loaded = _from_json(text) if text.lstrip()[:1] == "{" else _from_yaml(text)
    except InputError:
        raise
    except RecursionError as error:
        raise InputError(_TOO_DEEP) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"its YAML is invalid{place}: {error.problem}; correct it") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"it is invalid ({str(error)[:200]}); correct it") from error
    if not isinstance(loaded, dict):
        raise InputError("it is not a mapping, as OpenAPI documents are; correct or remove it")
    return loaded


_TOO_DEEP = "its values are nested too deeply; correct it, or remove it from the source"


def _from_json(text: str) -> Data:
    try:
        loaded: Data = json.loads(text)
    except json.JSONDecodeError as error:
        try:
            return _from_yaml(text)  # YAML may begin with a brace, too
        except yaml.YAMLError:
            raise InputError(
                f"its JSON is invalid in line {error.lineno}: {error.msg}; correct it"
            ) from error
    return loaded


def _from_yaml(text: str) -> Data:
    if _longest_nesting(text) > _MAX_OPENINGS:
        raise InputError(_TOO_DEEP)
    return _YamlBuilder().build(yaml.parse(text, _PARSER))


def _longest_nesting(text: str) -> int:
    depth = deepest = 0
    for sign in re.findall(r"[\[\]{}]", text):
        depth += 1 if sign in "[{" else -1 if depth else 0
        deepest = max(deepest, depth)
    return deepest


class _YamlBuilder:
    """Builds the value of the first document from its events."""

    def __init__(self) -> None:
        self._open: list[dict[str, Data] | list[Data]] = []
        self._keys: list[str | None] = []
        self._anchors: dict[str, tuple[Data, int]] = {}
        self._starts: list[tuple[str | None, int]] = []
        self._values = 0

    def build(self, events: Iterable[yaml.Event]) -> Data:
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._count(1)
                value = _scalar(event)
                if event.anchor:
                    self._anchors[event.anchor] = (value, 1)
            elif isinstance(event, yaml.AliasEvent):
                value, size = self._anchors.get(event.anchor or "", (None, 1))
                self._count(size)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._start(event)
                continue
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                value = self._end()
            else:
                continue
            if not self._open:
                return value
            self._add(value)
        return None

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise InputError(_TOO_DEEP)
        self._count(1)
        self._open.append({} if isinstance(event, yaml.MappingStartEvent) else [])
        self._keys.append(None)
        self._starts.append((event.anchor, self._values))

    def _end(self) -> Data:
        value = self._open.pop()
        self._keys.pop()
        anchor, before = self._starts.pop()
        if anchor:
            self._anchors[anchor] = (value, self._values - before + 1)
        return value

    def _add(self, value: Data) -> None:
        parent = self._open[-1]
        if isinstance(parent, list):
            parent.append(value)
        elif self._keys[-1] is None:
            self._keys[-1] = _key(value)
        else:
            self._set(parent, self._keys[-1], value)
            self._keys[-1] = None

    def _set(self, parent: dict[str, Data], key: str, value: Data) -> None:
        if key == "<<":  # merge keys give defaults
            for merged in value if isinstance(value, list) else [value]:
                for name, inner in merged.items() if isinstance(merged, dict) else ():
                    self._count(1)
                    parent.setdefault(name, inner)
        else:
            parent[key] = value

    def _count(self, values: int) -> None:
        self._values += values
        if self._values > _MAX_VALUES:
            raise InputError("it has too many values, or aliases that expand to them; split it")


def _key(value: Data) -> str:
    """Keys are texts: the response `200`, and `on` and `yes` as they are written."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _scalar(event: yaml.ScalarEvent) -> Data:
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)
