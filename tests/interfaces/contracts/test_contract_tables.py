"""The tables of docs/contracts.md say what the models do: every field, default, type and limit.

Each model is made from its table alone, and tried at and beyond each limit that the table names,
and far out where it names none. So a change of the table alone, or of the model alone, is noticed.
"""

import importlib
import json
import re
import types
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

TESTS = Path(__file__).parents[2]
PAGE = (TESTS.parent / "docs" / "contracts.md").read_text()
HEAD = "| field | type | default | rule | difference, and why |"
REQUIRED, MADE = "required", "made"
FAR = 10**6


@dataclass(frozen=True)
class Row:
    """A field as the table has it."""

    name: str
    kind: str
    default: str
    rules: tuple[str, ...]

    def bounds(self, unit: str = "") -> tuple[float | None, float | None]:
        for rule in self.rules:
            found = re.fullmatch(rf"(\d+)(?: to (\d+)| or more){unit}", rule)
            if found:
                return float(found[1]), float(found[2]) if found[2] else None
        return None, None

    @property
    def choices(self) -> list[str]:
        found = [rule for rule in self.rules if rule.startswith("one of ")]
        return re.findall("`([^`]+)`", found[0] if found else self.kind)

    @property
    def base(self) -> str:
        return self.kind.removesuffix(" or null")


@dataclass(frozen=True)
class Entity:
    name: str
    path: str
    rows: tuple[Row, ...]

    @property
    def model(self) -> Any:
        module, _, name = self.path.rpartition(".")
        return getattr(importlib.import_module(module), name)


@cache
def entities() -> dict[str, Entity]:
    found = {}
    for title, path, table in re.findall(
        rf"^#### (\w+: \w+)\n\n`([\w.]+)`[^|]*?\n\n{re.escape(HEAD)}\n\|[-|]+\|\n((?:\|.+\n)+)",
        PAGE,
        re.MULTILINE,
    ):
        rows = []
        for line in table.splitlines():
            name, kind, default, rule, _ = (cell.strip() for cell in line[1:-1].split("|"))
            rules = tuple(part for part in rule.split("; ") if part)
            rows.append(Row(name.strip("`"), kind, default.strip("`"), rules))
        found[title] = Entity(title, path, tuple(rows))
    return found


def all_rows() -> Iterator[Any]:
    for entity in entities().values():
        for row in entity.rows:
            yield pytest.param(entity, row, id=f"{entity.name} {row.name}".replace(": ", "."))


ENTITIES = [pytest.param(entity, id=name.replace(": ", ".")) for name, entity in entities().items()]

# --- what a model says of itself --------------------------------------------------------------


def names_of(model: Any) -> list[str]:
    if is_dataclass(model):
        return [field.name for field in fields(model)]
    return list(model.model_fields)


def default_of(model: Any, name: str) -> object:
    """REQUIRED, MADE, or the default as JSON."""
    if is_dataclass(model):
        [field] = [field for field in fields(model) if field.name == name]
        if field.default_factory is not MISSING:
            return MADE
        return REQUIRED if field.default is MISSING else json.dumps(field.default)
    field = model.model_fields[name]
    if field.default_factory is not None:
        return MADE
    return REQUIRED if field.default is PydanticUndefined else json.dumps(field.default)


NAMES = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    datetime: "date and time",
    UUID: "UUID",
}


def kind_of(annotation: Any) -> str:
    """An annotation in the words of the tables."""
    while hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        parts = [one for one in arguments if one is not type(None)]
        null = ["null"] if len(parts) < len(arguments) else []
        return " or ".join([*map(kind_of, parts), *null])
    if origin is list:
        return f"list of {kind_of(arguments[0])}"
    if origin is dict:
        return "mapping"
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in arguments)
    return NAMES.get(annotation) or _named(annotation)


def _named(kind: type) -> str:
    if issubclass(kind, Enum):
        return ", ".join(f"`{one.value}`" for one in kind)
    return f"`{kind.__name__}`"


# --- values that the table allows -------------------------------------------------------------


def entity_named(name: str, like: Entity) -> Entity:
    return entities()[f"{like.name.partition(':')[0]}: {name}"]


def value_for(entity: Entity, row: Row) -> Any:
    kind = row.base
    if row.name == "vector":
        return [0.1] * 1024  # as many as the default model gives
    if kind.startswith("list of "):
        least, _ = row.bounds(" items")
        return ["x" * 10] * int(least or 0)
    if row.choices and kind not in {f"`{name}`" for name in row.choices}:
        return row.choices[0]
    plain: dict[str, Any] = {
        "text": text_of(row),
        "whole number": int(row.bounds()[0] or 0),
        "number": float(row.bounds()[1] or 1.0),
        "true or false": True,
        "date and time": datetime(2026, 1, 2, tzinfo=UTC),
        "mapping": {},
        "UUID": UUID(int=1),
    }
    if kind in plain:
        return plain[kind]
    return made(entity_named(row.choices[0], entity))


def text_of(row: Row, characters: int | None = None) -> str:
    if "URL" in row.rules:
        return "https://example.com/a"
    least, _ = row.bounds(" characters")
    wanted = int(least or 1) if characters is None else characters
    return "x" * wanted


def values(entity: Entity, **change: Any) -> dict[str, Any]:
    """The required fields alone, so that the defaults are tried too."""
    required = [row for row in entity.rows if row.default == REQUIRED]
    return {**{row.name: value_for(entity, row) for row in required}, **change}


def made(entity: Entity, **change: Any) -> Any:
    return entity.model(**values(entity, **change))


# --- values at and beyond the limits ----------------------------------------------------------


def queries(row: Row) -> Iterator[tuple[Any, bool]]:
    """(a value, whether the table allows it)"""
    kind = row.base
    if kind == "list of text":
        yield from ((["x" * 10] * count, fine) for count, fine in counts(row, " items"))
    elif row.choices and kind == "text":
        yield from ((choice, True) for choice in row.choices)
        yield "other", False
    elif kind == "text":
        yield from text_probes(row)
    elif kind in {"number", "whole number"}:
        yield from number_probes(row)
    elif kind.startswith("`") and len(row.choices) > 1 and " or " not in kind:
        yield from ((choice, True) for choice in row.choices)
        yield "other", False
    if row.kind.endswith(" or null"):
        yield None, True


def counts(row: Row, unit: str) -> Iterator[tuple[int, bool]]:
    low, high = row.bounds(unit)
    yield int(low or 0), True
    if low:
        yield int(low) - 1, False
    if high:
        yield from ((int(high), True), (int(high) + 1, False))
    else:
        yield 1000, True


def text_probes(row: Row) -> Iterator[tuple[str, bool]]:
    if "URL" in row.rules:
        yield from (("https://example.com/a", True), ("http://localhost:8000/read/a.md", True))
        no_urls = ("", "nonsense", "/docs/a", "javascript:alert(1)", "https://a b", "http://")
        yield from ((address, False) for address in no_urls)
        return
    filled = "not blank" in row.rules
    for count, fine in counts(row, " characters"):
        yield "x" * count, fine and not (filled and count == 0)
    least = int(row.bounds(" characters")[0] or 1)
    yield " " * least, not filled
    yield "nonsense, but long enough", True


def number_probes(row: Row) -> Iterator[tuple[float, bool]]:
    whole = row.base == "whole number"
    step: float = 1 if whole else 0.001
    low, high = row.bounds()
    cases = [(low, True), (None if low is None else low - step, False)]
    cases += [(high, True), (None if high is None else high + step, False)]
    if low is None:
        cases.append((-FAR, True))
    if high is None:
        cases.append((FAR, True))
    for value, fine in cases:
        if value is not None:
            yield int(value) if whole else float(value), fine


COUPLED: dict[tuple[str, str], str] = {
    ("Validation: ValidationReport", "total_queries"): "successful_queries",
    ("Validation: ValidationReport", "successful_queries"): "total_queries",
    ("Validation: ValidationReport", "failed_queries"): "total_queries",
}
"""Fields of which another rule wants the same value."""
COUNTED = {("Implementation: SearchQueryResponse", "total_results")}
"""It must be the number of results, so that only the OpenAPI document shows its limits."""

# --- the tests --------------------------------------------------------------------------------


def test_there_is_a_table_of_every_shape() -> None:
    contracts = [name.partition(":")[0] for name in entities()]
    assert {name: contracts.count(name) for name in contracts} == {
        "Validation": 3,
        "Testing": 6,
        "Layer": 2,
        "API": 5,
        "Implementation": 14,
    }
    assert PAGE.count(HEAD) == len(entities())


@pytest.mark.parametrize("entity", ENTITIES)
def test_a_table_has_exactly_the_fields_of_its_model(entity: Entity) -> None:
    assert sorted(row.name for row in entity.rows) == sorted(names_of(entity.model))
    assert made(entity)


@pytest.mark.parametrize(("entity", "row"), list(all_rows()))
def test_types_and_defaults_are_those_of_the_model(entity: Entity, row: Row) -> None:
    hints = get_type_hints(entity.model, include_extras=True)
    assert kind_of(hints[row.name]) == row.kind
    assert default_of(entity.model, row.name) == row.default
    if row.default == REQUIRED:
        left_out = {name: value for name, value in values(entity).items() if name != row.name}
        with pytest.raises((TypeError, ValueError), match=row.name):
            entity.model(**left_out)


@pytest.mark.parametrize(("entity", "row"), list(all_rows()))
def test_the_limits_are_those_of_the_model(entity: Entity, row: Row) -> None:
    known = r"(URL|not blank|one of .+|\d+( to \d+| or more)( characters| items)?)"
    assert all(re.fullmatch(known, rule) for rule in row.rules), row.rules
    if (entity.name, row.name) in COUNTED or row.name == "vector":
        return
    for value, fine in queries(row):
        change = {row.name: value}
        coupled = COUPLED.get((entity.name, row.name))
        if fine and coupled is not None:
            change[coupled] = value
        if fine:
            assert made(entity, **change), value
        else:
            with pytest.raises(ValueError, match=row.name):
                made(entity, **change)


@pytest.mark.parametrize(("entity", "row"), list(all_rows()))
def test_openapi_says_the_same(entity: Entity, row: Row) -> None:
    model = entity.model
    if not issubclass(model, BaseModel):
        return
    told = model.model_json_schema()["properties"][row.name]
    told = {**told, **next((one for one in told.get("anyOf", []) if "type" in one), {})}
    limits = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format")
    found = {name: told[name] for name in limits if name in told and row.base in BOUNDED}
    wanted: dict[str, Any] = {}
    for unit, names in UNITS.items():
        wanted |= {
            name: bound
            for name, bound in zip(names, row.bounds(unit), strict=True)
            if bound is not None
        }
    if "URL" in row.rules:
        wanted["format"] = "uri"
    if "not blank" in row.rules:
        wanted.setdefault("minLength", 1)
    assert found == wanted


BOUNDED = {"text", "number", "whole number", "list of text"}
UNITS = {
    "": ("minimum", "maximum"),
    " characters": ("minLength", "maxLength"),
    " items": ("minItems", "maxItems"),
}


def test_every_rule_names_a_test_that_exists() -> None:
    tables = re.findall(
        r"^\| rule \| test \| difference, and why \|\n\|[-|]+\|\n((?:\|.+\n)+)", PAGE, re.MULTILINE
    )
    rows = [line[1:-1].split("|") for table in tables for line in table.splitlines()]
    assert len(tables) == 5
    assert len(rows) > 25
    written = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert {cells[1].strip().strip("`") for cells in rows} <= written
