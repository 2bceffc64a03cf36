"""Qdrant's filters, as its REST interface writes them, in the words of the embedded engine."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import qdrant_edge as edge

Json = Any
IdsWhere = Callable[[Callable[[Mapping[str, Json]], bool]], set[Any]]
"""The points whose payload a function holds to be right."""

_MAX_ID = 2**64 - 1
_INDEX_FOR = {str: {"keyword", "uuid"}, int: {"integer"}, bool: {"bool"}, float: {"float"}}


class BadRequest(Exception):  # noqa: N818 - reads as the answer it is
    pass


class Filters:
    """`ids_where` answers what the engine itself can't: it matches no booleans."""

    def __init__(self, ids_where: IdsWhere) -> None:
        self._ids_where = ids_where

    def read(self, written: Json) -> edge.Filter | None:
        if not written:
            return None
        parts = {name: self._all(written.get(name)) for name in ("must", "should", "must_not")}
        minimum = written.get("min_should")
        return edge.Filter(
            **{name: conditions or None for name, conditions in parts.items()},
            min_should=edge.MinShould(self._all(minimum["conditions"]), minimum["min_count"])
            if minimum
            else None,
        )

    def _all(self, written: Json) -> list[Any]:
        listed = [written] if isinstance(written, dict) else written or []
        return [self._condition(one) for one in listed]

    def _condition(self, written: Json) -> Any:  # noqa: PLR0911 - one for each kind
        if "key" in written:
            return self._field(written)
        if "has_id" in written:
            return edge.HasIdCondition({checked_id(one) for one in written["has_id"]})
        if "is_empty" in written:
            return edge.IsEmptyCondition(written["is_empty"]["key"])
        if "is_null" in written:
            return edge.IsNullCondition(written["is_null"]["key"])
        if "has_vector" in written:
            return edge.HasVectorCondition(written["has_vector"])
        if "nested" in written:
            inner = Filters(_no_booleans_inside).read(written["nested"]["filter"])
            return edge.NestedCondition(written["nested"]["key"], inner or edge.Filter())
        if written.keys() & {"must", "should", "must_not", "min_should"}:
            return self.read(written)
        raise BadRequest(
            "Format error in JSON body: data did not match any variant of untagged enum Condition"
        )

    def _field(self, written: Json) -> Any:
        key, match = written["key"], written.get("match")
        if match is not None and isinstance(match.get("value"), bool):
            flag = match["value"]
            held = self._ids_where(lambda payload: flag in map(_as_bool, values_at(payload, key)))
            return edge.HasIdCondition(held)
        options: dict[str, Any] = {}
        if match is not None:
            options["match"] = _match(match)
        if written.get("range") is not None:
            options["range"] = _range(written["range"])
        if written.get("values_count") is not None:
            options["values_count"] = edge.ValuesCount(**_given(written["values_count"]))
        for name in ("is_empty", "is_null"):
            if written.get(name) is not None:
                options[name] = written[name]
        if not options:
            raise BadRequest("Validation error in JSON body: [filter: No conditions specified]")
        return edge.FieldCondition(key, **options)


def _match(written: Json) -> Any:
    kinds: dict[str, Callable[[Any], Any]] = {
        "value": edge.MatchValue,
        "text": edge.MatchText,
        "text_any": edge.MatchTextAny,
        "phrase": edge.MatchPhrase,
        "any": edge.MatchAny,
        "except": edge.MatchExcept,
    }
    for name, kind in kinds.items():
        if name in written:
            return kind(written[name])
    raise BadRequest("Format error in JSON body: unknown kind of match")


def _range(written: Json) -> Any:
    bounds = _given(written)
    if any(isinstance(bound, str) for bound in bounds.values()):
        return edge.RangeDateTime(**bounds)
    return edge.RangeFloat(**bounds)


def _given(written: Mapping[str, Json]) -> dict[str, Any]:
    return {name: value for name, value in written.items() if value is not None}


def checked_id(written: Json) -> int | str | UUID:
    if isinstance(written, int) and not isinstance(written, bool) and 0 <= written <= _MAX_ID:
        return written
    try:
        return UUID(written)
    except (ValueError, AttributeError, TypeError):
        raise BadRequest(
            f"Format error in JSON body: value {written} is not a valid point ID, valid values are "
            "either an unsigned integer or a UUID"
        ) from None


def _no_booleans_inside(_: Callable[[Mapping[str, Json]], bool]) -> set[Any]:
    raise BadRequest("Bad request: a boolean inside a nested condition is beyond this service")


def _as_bool(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def values_at(payload: Json, key: str) -> Iterator[Json]:
    """What a payload holds under a key such as `a."b.c".d[]`; lists give each of their members."""
    steps = list(_steps(key))
    yield from _descend(payload, steps)


def _steps(key: str, *, members: bool = False) -> Iterator[str]:
    part, quoted = "", False
    for letter in key:
        if letter == '"':
            quoted = not quoted
        elif letter == "." and not quoted:
            yield part if members else part.removesuffix("[]")
            part = ""
        else:
            part += letter
    yield part if members else part.removesuffix("[]")


def canonical(key: str) -> str:
    """As a server writes it: in quotes only where they are needed."""
    plain = re.compile(r"[A-Za-z0-9_-]+(\[\d*\])?")
    return ".".join(
        step if plain.fullmatch(step) else f'"{step}"' for step in _steps(key, members=True)
    )


def _descend(value: Json, steps: list[str]) -> Iterator[Json]:
    if isinstance(value, list):
        for member in value:
            yield from _descend(member, steps)
    elif not steps:
        yield value
    elif isinstance(value, dict) and steps[0] in value:
        yield from _descend(value[steps[0]], steps[1:])


def unindexed(written: Json, schema: Mapping[str, Json]) -> tuple[str, set[str]] | None:
    """The first key that a filter asks for and no index knows, and the kinds that would do."""
    for condition in _leaves(written):
        key, wanted = canonical(condition["key"]), _wanted_index(condition)
        if wanted and (key not in schema or schema[key]["data_type"] not in wanted):
            return key, wanted
    return None


def _leaves(written: Json) -> Iterator[Json]:
    if not isinstance(written, dict):
        return
    if "key" in written:
        yield written
    for name in ("must", "should", "must_not"):
        listed = written.get(name) or []
        for one in [listed] if isinstance(listed, dict) else listed:
            yield from _leaves(one)


def _wanted_index(condition: Json) -> set[str]:
    match, between = condition.get("match"), condition.get("range")
    if match is not None:
        if "text" in match or "text_any" in match or "phrase" in match:
            return {"text"}
        value = match.get("value", (match.get("any") or match.get("except") or [""])[0])
        return _INDEX_FOR[type(value)]
    if between is not None:
        dated = any(isinstance(bound, str) for bound in between.values())
        return {"datetime"} if dated else {"integer", "float"}
    return set()
