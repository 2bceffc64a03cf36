"""Paths into a payload: `metadata.source`, `content[].text`, `"a.b".c`.

The notation is Qdrant's, so that filters can use it. Paths also lead into JSON objects stored as
strings, which the engine can't filter by.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

Scalar = str | int | float | bool
Leaf = Scalar | tuple[Scalar, ...]
"""The value at a path, or the values of a list in order."""

MAX_DEPTH = 8
MAX_PATHS = 1000
MAX_ITEMS = 500
_LONGEST_JSON = 2_000_000
_LONGEST_KEY = 200
_PART = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|([^".\[\]][^.\[\]]*))((?:\[\])?)(\.|$)')
_MISSING = frozenset(
    {"", "none", "null", "nil", "nan", "n/a", "na", "-", "unknown", "undefined", "unknown_source"}
)


def is_missing(value: object) -> bool:
    """Whether a value is empty, or a word for an empty value such as "null"."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in _MISSING
    if isinstance(value, tuple | list):
        return all(is_missing(item) for item in value)
    return False


def parts_of(path: str) -> list[str]:
    """Split a path; steps into list items end with `[]`. ValueError if it is invalid."""
    steps: list[str] = []
    at = 0
    while at < len(path) or not steps:
        match = _PART.match(path, at)
        if match is None or (match[4] == "." and match.end() == len(path)):
            raise ValueError(f"invalid payload path {path!r}; write it like metadata.source")
        name = match[2] if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])
        steps.append(name + match[3])
        at = match.end()
    return steps


def joined(parent: str, key: str) -> str:
    if any(character in key for character in '."[]\\') or not key:
        escaped = key.replace("\\", "\\\\").replace('"', '\\"')
        key = f'"{escaped}"'
    return f"{parent}.{key}" if parent else key


def read(payload: Mapping[str, object] | None, path: str) -> Leaf | None:
    """The value at a path; None if there is none."""
    held: object = payload
    for step in parts_of(path):
        held = _step(held, step)
        if held is None:
            return None
    return _leaf(held)


def _step(held: object, step: str) -> object:
    if isinstance(held, list):  # into every item of the list
        found = [_step(item, step) for item in held[:MAX_ITEMS]]
        return [item for item in found if item is not None] or None
    inside = opened(held)
    if inside is None:
        return None
    if step in inside:
        return inside[step]
    return inside.get(step.removesuffix("[]"))


def opened(value: object) -> Mapping[str, object] | None:
    """An object, or a JSON object stored as a string."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    if len(value) > _LONGEST_JSON:
        return None
    try:
        read_object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return read_object if isinstance(read_object, dict) else None


def is_plain(payload: Mapping[str, object] | None, path: str) -> bool:
    """Whether the engine can follow the path, that is, without JSON stored as a string."""
    held: object = payload
    for step in parts_of(path):
        while isinstance(held, list):
            held = next((item for item in held if isinstance(item, Mapping)), None)
        if not isinstance(held, Mapping):
            return False
        held = held.get(step, held.get(step.removesuffix("[]")))
    return held is not None


def _leaf(value: object) -> Leaf | None:
    if isinstance(value, list):
        items = tuple(islice(_flat(value), MAX_ITEMS))
        return items or None
    return value if isinstance(value, str | int | float | bool) else None


def _flat(values: Sequence[object]) -> Iterator[Scalar]:
    for value in values:
        if isinstance(value, str | int | float | bool):
            yield value
        elif isinstance(value, list):
            yield from _flat(value)


def leaves(payload: Mapping[str, object] | None) -> dict[str, Leaf]:
    """Every path of a payload with its value, up to limits on size and depth."""
    found: dict[str, Leaf] = {}
    _walk(payload or {}, "", 0, found)
    return found


def _walk(inside: Mapping[str, object], parent: str, depth: int, found: dict[str, Leaf]) -> None:
    # Top-level values first, so that large nested objects do not crowd them out.
    nested: list[tuple[str, Mapping[str, object]]] = []
    for key, value in inside.items():
        if len(found) >= MAX_PATHS:
            return
        if len(key) > _LONGEST_KEY:
            continue
        path = joined(parent, key)
        deeper = opened(value)
        if deeper is not None:
            nested.append((path, deeper))
        elif isinstance(value, list) and _holds_objects(value):
            nested += [(f"{path}[]", _merged(value))]
        else:
            leaf = _leaf(value)
            if leaf is not None:
                found[path] = leaf
    if depth < MAX_DEPTH:
        for path, deeper in nested:
            _walk(deeper, path, depth + 1, found)


def _holds_objects(items: Sequence[object]) -> bool:
    return any(
        isinstance(item, dict) or (isinstance(item, list) and _holds_objects(item))
        for item in items[:MAX_ITEMS]
    )


def _merged(items: Sequence[object]) -> dict[str, object]:
    """Merge the objects of a list; each key has the values that `_step` would find."""
    merged: dict[str, list[object]] = {}
    for inside in _objects(items):
        for key, value in inside.items():
            merged.setdefault(str(key), []).append(value)
    return dict(merged)


def _objects(items: Sequence[object]) -> Iterator[Mapping[str, object]]:
    for item in items[:MAX_ITEMS]:
        if isinstance(item, list):
            yield from _objects(item)
        else:
            inside = opened(item)
            if inside is not None:
                yield inside
