"""Filters: parse them, check them against a collection's fields, and apply them."""

import difflib
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from surefind.errors import InputError
from surefind.model import (
    FIELDS,
    AnyOf,
    Attribute,
    Between,
    ChunkRecord,
    Condition,
    Field,
    FieldKind,
    Scalar,
    Under,
)
from surefind.model.filters import path_prefixes
from surefind.model.strings import check_string

MAX_CONDITIONS = 32
_SHOWN = 200  # characters of an invalid expression quoted in an error
MAX_VALUES = 256
_ALIASES = {"language": "locale", "document": "source_path", "path": "source_path"}
_BOUNDS = ("gte", "gt", "lte", "lt")
_EXPRESSION = re.compile(r"([^=<>!^~]+)(>=|<=|!=|\^=|=|>|<)(.*)", re.DOTALL)
_SIGNS = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt"}
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
NUMBER_OR_DATE = f"^(?:{_NUMBER.pattern}|{_DATE.pattern})$"
"""For JSON Schema; accepts impossible days."""
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


# --- reading ----------------------------------------------------------------------------------


def read_where(where: Mapping[str, object]) -> tuple[Condition, ...]:
    """`{"version": "2.0", "tags": ["a", "b"], "tokens": {"gte": 50}, "url": {"under": "…"}}`."""
    conditions: list[Condition] = []
    for key, value in where.items():
        if isinstance(value, Mapping):
            conditions += _read_operators(key, value)
        else:
            conditions.append(AnyOf(key, _values(key, value)))
    return tuple(conditions)


def _read_operators(key: str, operators: Mapping[str, object]) -> list[Condition]:
    known = (*_BOUNDS, "under", "not", "any")
    unknown = sorted(set(map(str, operators)) - set(known))
    if unknown or not operators:
        raise InputError(
            f"where: {key}: unknown operator {', '.join(unknown) or '{}'}; use {', '.join(known)}"
        )
    conditions: list[Condition] = []
    bounds = {name: _bound(key, operators[name]) for name in _BOUNDS if name in operators}
    if bounds:
        conditions.append(Between(key, **bounds))
    if "under" in operators:
        if not isinstance(operators["under"], str):
            raise InputError(f"where: {key}: under must be a path as a string")
        conditions.append(Under(key, operators["under"]))
    if "any" in operators:
        conditions.append(AnyOf(key, _values(key, operators["any"])))
    if "not" in operators:
        conditions.append(AnyOf(key, _values(key, operators["not"]), exclude=True))
    return conditions


def read_expressions(expressions: Sequence[str]) -> tuple[Condition, ...]:
    """Parse conditions such as `version=2.0`, `locale!=fr`, `tokens>=50`, `source_path^=docs`.

    Repeated keys with `=` are alternatives.
    """
    any_of: dict[tuple[str, bool], tuple[Scalar, ...]] = {}
    others: list[Condition] = []
    for expression in expressions:
        match = _EXPRESSION.fullmatch(expression)
        key = match[1].strip() if match else ""
        if match is None or not key:
            raise InputError(
                f"where: {_quoted(expression)} is not a valid condition; write key=value, "
                "key!=value, key>=number, key<date or key^=path"
            )
        sign, value = match[2], match[3].strip()
        if sign in ("=", "!="):
            place = (key, sign == "!=")
            any_of[place] = (*any_of.get(place, ()), value)
        elif sign == "^=":
            others.append(Under(key, value))
        else:
            bounds = {_SIGNS[sign]: _number_or_date(key, value)}
            others.append(Between(key, **bounds))
    chosen = [AnyOf(key, values, exclude) for (key, exclude), values in any_of.items()]
    return (*chosen, *others)


def _values(key: str, given: object) -> tuple[Scalar, ...]:
    values = given if isinstance(given, list | tuple) else [given]
    if not values or len(values) > MAX_VALUES:
        raise InputError(f"where: {key} takes 1 to {MAX_VALUES} values, not {len(values)}")
    for value in values:
        if not isinstance(value, str | int | float | bool) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise InputError(
                f"where: {key}: {_quoted(value)} must be a text, number, date, true or false"
            )
    return tuple(values)


def _bound(key: str, value: object) -> float | datetime:
    if isinstance(value, bool) or not isinstance(value, str | int | float | datetime):
        raise InputError(f"where: {key}: {_quoted(value)} is neither a number nor a date")
    if isinstance(value, datetime):
        return _aware(value)
    return _number_or_date(key, str(value))


def _number_or_date(key: str, value: str) -> float | datetime:
    if _DATE.fullmatch(value):
        return _date(key, value)
    number = _number(value)
    if number is None:
        raise InputError(
            f"where: {key}: {_quoted(value)} is neither a number nor a date "
            "(2026-01-31, or with a time)"
        )
    return number


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _date(key: str, value: str) -> datetime:
    try:
        return _aware(datetime.fromisoformat(value))
    except ValueError as error:
        raise InputError(f"where: {key}: {_quoted(value)} is not a date: {error}") from None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# --- checking ---------------------------------------------------------------------------------


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def checked(where: Sequence[Condition], fields: Iterable[Field]) -> tuple[Condition, ...]:
    """Convert the conditions to the types of the fields. An unknown field is an InputError."""
    if not where:
        return ()
    if len(where) > MAX_CONDITIONS:
        raise InputError(
            f"where: at most {MAX_CONDITIONS} conditions, not {len(where)}; remove some"
        )
    known = {field.name: field for field in (*FIELDS, *fields)}
    return tuple(_checked(condition, known) for condition in where)


def _checked(condition: Condition, known: Mapping[str, Field]) -> Condition:
    check_string("where", condition.key)
    for value in _strings(condition):
        check_string(f"where: {condition.key}", value)
    field = known.get(_ALIASES.get(condition.key, condition.key))
    if field is None:
        near = difflib.get_close_matches(condition.key, known, n=1)
        meant = f", did you mean {near[0]}?" if near else "."
        raise InputError(
            f"where: unknown field {_quoted(condition.key)}{meant} Available fields: "
            f"{', '.join(sorted(known))}"
        )
    if isinstance(condition, AnyOf):
        values = [typed for value in condition.values for typed in _typed(field, value)]
        return replace(condition, key=field.name, values=tuple(dict.fromkeys(values)))
    if isinstance(condition, Under):
        return _checked_path(field, condition)
    return _checked_range(field, condition)


def _strings(condition: Condition) -> list[str]:
    if isinstance(condition, AnyOf):
        return [value for value in condition.values if isinstance(value, str)]
    return [condition.path] if isinstance(condition, Under) else []


def _typed(field: Field, value: Scalar) -> list[Scalar]:
    """The value in each kind of the field; text can be parsed as any kind."""
    found = [typed for kind in field.kinds for typed in _as_kind(kind, value)]
    if not found:
        kinds = " or ".join(field.kinds)
        raise InputError(f"where: {field.name} must be a {kinds}, not {_quoted(value)}")
    return found


def _as_kind(kind: FieldKind, value: Scalar) -> list[Scalar]:
    if kind in (FieldKind.TEXT, FieldKind.PATH, FieldKind.DATE):
        return [value] if isinstance(value, str) else []
    if kind is FieldKind.FLAG:
        flag = _FLAGS.get(value.lower()) if isinstance(value, str) else value
        return [flag] if isinstance(flag, bool) else []
    if isinstance(value, str):
        number = _number(value)
        if number is None:
            return []
        return [int(number) if number.is_integer() else number]
    return [] if isinstance(value, bool) else [value]


def _checked_path(field: Field, condition: Under) -> Under:
    if FieldKind.PATH not in field.kinds:
        paths = ", ".join(known.name for known in FIELDS if FieldKind.PATH in known.kinds)
        raise InputError(f"where: {field.name} is not a path; the path fields are {paths}")
    beginnings = path_prefixes(condition.path)
    if not beginnings:
        raise InputError(f"where: {field.name}: the path is empty; give a folder or page")
    return Under(field.name, beginnings[-1])


def _checked_range(field: Field, condition: Between) -> Between:
    dated = {isinstance(bound, datetime) for bound in condition.bounds}
    if len(dated) > 1:
        raise InputError(
            f"where: {field.name}: one bound is a number, another a date; use the same kind"
        )
    kind = FieldKind.DATE if dated == {True} else FieldKind.NUMBER
    if kind not in field.kinds:
        kinds = " or ".join(field.kinds)
        raise InputError(
            f"where: {field.name} is a {kinds}, so it can't be compared with a {kind}; "
            "ranges need a number or date field"
        )
    return replace(condition, key=field.name)


# --- fields -----------------------------------------------------------------------------------


def fields_of(attributes: Iterable[Mapping[str, Attribute]]) -> tuple[Field, ...]:
    """The fields of the front matter of all pages."""
    kinds: dict[str, set[FieldKind]] = {}
    for page in attributes:
        for name, value in page.items():
            for scalar in value if isinstance(value, tuple) else (value,):
                kinds.setdefault(name, set()).update(_kinds(scalar))
    return tuple(Field(name, tuple(sorted(kinds[name]))) for name in sorted(kinds))


def _kinds(value: Scalar) -> set[FieldKind]:
    if isinstance(value, bool):
        return {FieldKind.FLAG}
    if isinstance(value, int | float):
        return {FieldKind.NUMBER}
    return {FieldKind.TEXT, FieldKind.DATE} if _DATE.fullmatch(value) else {FieldKind.TEXT}


# --- applying ---------------------------------------------------------------------------------


def failing(record: ChunkRecord, where: Sequence[Condition]) -> list[Condition]:
    """The conditions that a chunk does not meet."""
    return [condition for condition in where if not meets(record, condition)]


def meets(record: ChunkRecord, condition: Condition) -> bool:
    held = _held(record, condition.key)
    if isinstance(condition, Under):
        return any(condition.path in path_prefixes(str(value)) for value in held)
    if isinstance(condition, AnyOf):
        found = any(_equal(value, wanted) for value in held for wanted in condition.values)
        return found != condition.exclude
    return any(_is_between(value, condition) for value in held)


def _held(record: ChunkRecord, key: str) -> tuple[Scalar, ...]:
    own: dict[str, Scalar] = {
        "anchor": record.chunk.anchor,
        "breadcrumb": record.breadcrumb,
        "chunk_id": record.chunk.id,
        "content_hash": record.chunk.content_hash,
        "content_type": record.chunk.content_type,
        "created_at": record.created_at.isoformat(),
        "has_code": record.chunk.has_code,
        "locale": record.locale,
        "position": record.chunk.position,
        "section": record.section,
        "slug": record.slug,
        "source": record.chunk.source_path.partition("/")[0],
        "source_path": record.chunk.source_path,
        "title": record.title,
        "tokens": record.chunk.tokens,
        "url": record.url,
        "version": record.version,
    }
    if key in own:
        return (own[key],)
    value = record.attributes.get(key, ())
    return value if isinstance(value, tuple) else (value,)


def _equal(value: Scalar, wanted: Scalar) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _is_between(value: Scalar, condition: Between) -> bool:
    if isinstance(condition.bounds[0], datetime):
        if not isinstance(value, str) or not _DATE.fullmatch(value):
            return False
        return _within(_aware(datetime.fromisoformat(value)), condition)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return _within(float(value), condition)


def _within(value: float | datetime, condition: Between) -> bool:
    compared = (
        (condition.gte, operator.ge),
        (condition.gt, operator.gt),
        (condition.lte, operator.le),
        (condition.lt, operator.lt),
    )
    return all(bound is None or compare(value, bound) for bound, compare in compared)


def describe(condition: Condition) -> str:
    """The condition as an expression."""
    if isinstance(condition, Under):
        return f"{condition.key}^={condition.path}"
    if isinstance(condition, AnyOf):
        sign = "!=" if condition.exclude else "="
        return f"{condition.key}{sign}{' or '.join(map(str, condition.values))}"
    bounds = zip(_SIGNS, (condition.gte, condition.gt, condition.lte, condition.lt), strict=True)
    return " and ".join(
        f"{condition.key}{sign}{bound.isoformat() if isinstance(bound, datetime) else bound}"
        for sign, bound in bounds
        if bound is not None
    )
