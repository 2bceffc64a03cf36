"""Translates filters on surefind's fields into filters on payload keys."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from surefind.errors import InputError
from surefind.model import (
    AnyOf,
    Between,
    Condition,
    Connection,
    Field,
    FieldKind,
    PositionKind,
    Role,
    Under,
)

ROLES = {
    "chunk_id": Role.ID,
    "created_at": Role.CREATED_AT,
    "position": Role.POSITION,
    "section": Role.SECTION,
    "source_path": Role.SOURCE_PATH,
    "title": Role.TITLE,
    "url": Role.URL,
}
"""surefind's fields that can be mapped to a payload key."""


def mapped_fields(connection: Connection) -> tuple[Field, ...]:
    """The mapped fields under surefind's names, with the kinds found in the payloads."""
    kinds = {field.name: field.kinds for field in connection.fields}
    found = []
    for name, role in ROLES.items():
        held = {kind for key in connection.mapping.of(role) for kind in kinds.get(key, ())}
        if role in {Role.URL, Role.SOURCE_PATH}:
            held.add(FieldKind.PATH)  # so that a filter by path fails with its own message
        if held:
            found.append(Field(name, tuple(sorted(held))))
    return tuple(found)


def alternatives(where: Sequence[Condition], connection: Connection) -> list[tuple[Condition, ...]]:
    """For each condition, the same condition on every key that can hold the field."""
    return [tuple(_on_keys(condition, connection)) for condition in where]


def _on_keys(condition: Condition, connection: Connection) -> list[Condition]:
    if isinstance(condition, Under):
        raise InputError(
            f"where: {condition.key}^=…: a connected collection can't be filtered by a path "
            "prefix; compare the whole value with ="
        )
    known = {field.name for field in connection.fields}
    role = ROLES.get(condition.key)
    mapped = connection.mapping.of(role) if role is not None else ()
    keys = [key for key in mapped if key in known]
    if not keys and condition.key in known:
        keys = [condition.key]
    if not keys:
        filters = f"filter by one of: {', '.join(sorted(known))}" if known else "remove the filter"
        reason = (
            f"{condition.key} of {connection.name!r} is in a key that Qdrant can't filter by"
            if mapped
            else f"the payloads of {connection.name!r} have no {condition.key}"
        )
        raise InputError(f"where: {reason}; {filters}")
    shifted = _as_stored(condition, connection) if role is Role.POSITION else condition
    return [replace(shifted, key=key) for key in keys]


def _as_stored(condition: AnyOf | Between, connection: Connection) -> AnyOf | Between:
    """Convert positions: surefind counts from 0, the payload may count from 1."""
    mapping = connection.mapping
    first = mapping.first_position
    if not first or mapping.position_kind is not PositionKind.ORDINAL:
        return condition
    if isinstance(condition, AnyOf):
        values = tuple(
            value + first if isinstance(value, int) and not isinstance(value, bool) else value
            for value in condition.values
        )
        return replace(condition, values=values)
    return Between(
        condition.key,
        gte=_moved(condition.gte, first),
        gt=_moved(condition.gt, first),
        lte=_moved(condition.lte, first),
        lt=_moved(condition.lt, first),
    )


def _moved(bound: float | datetime | None, by: int) -> float | datetime | None:
    return bound + by if isinstance(bound, int | float) else bound


def holds(key: str, value: str, connection: Connection) -> tuple[AnyOf, ...] | None:
    """Conditions that match `value` in `key`, one per kind; None if Qdrant can't filter by it."""
    kinds = {field.name: field.kinds for field in connection.fields}.get(key)
    if kinds is None:
        return None
    found: list[AnyOf] = []
    if FieldKind.TEXT in kinds:
        found.append(AnyOf(key, (value,)))
    if FieldKind.NUMBER in kinds and value.isascii() and value.isdecimal():
        found.append(AnyOf(key, (int(value),)))
    return tuple(found) or None
