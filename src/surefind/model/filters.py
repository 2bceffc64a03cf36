"""Conditions that a passage must meet, and the fields that they may speak of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Scalar = str | int | float | bool
Attribute = Scalar | tuple[Scalar, ...]
"""What a page says of itself in its front matter, as far as it can be filtered by."""


class FieldKind(StrEnum):
    TEXT = "text"
    PATH = "path"
    NUMBER = "number"
    DATE = "date"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Field:
    """Something to filter by. A key of the front matter may hold now a number, now a word."""

    name: str
    kinds: tuple[FieldKind, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field holds one of the values; with `exclude`, none of them."""

    key: str
    values: tuple[Scalar, ...]
    exclude: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """The field, a number or a date, lies between the bounds; a bound that is None is open."""

    key: str
    gte: float | datetime | None = None
    gt: float | datetime | None = None
    lte: float | datetime | None = None
    lt: float | datetime | None = None

    @property
    def bounds(self) -> tuple[float | datetime, ...]:
        return tuple(bound for bound in (self.gte, self.gt, self.lte, self.lt) if bound is not None)


@dataclass(frozen=True, slots=True)
class Under:
    """The path lies under this one, or is it: `docs/guide` holds `docs/guide/a.md`, whole steps."""

    key: str
    path: str


def path_prefixes(path: str) -> list[str]:
    """A path's every beginning, whole steps, itself included: `a/b/c` gives a, a/b, a/b/c."""
    scheme, mark, rest = path.rpartition("://")
    parts = [part for part in rest.split("/") if part]
    return [scheme + mark + "/".join(parts[: count + 1]) for count in range(len(parts))]


Condition = AnyOf | Between | Under

FIELDS = tuple(
    Field(name, (kind,))
    for name, kind in {
        "anchor": FieldKind.TEXT,
        "breadcrumb": FieldKind.TEXT,
        "chunk_id": FieldKind.TEXT,
        "content_hash": FieldKind.TEXT,
        "content_type": FieldKind.TEXT,
        "created_at": FieldKind.DATE,
        "has_code": FieldKind.FLAG,
        "locale": FieldKind.TEXT,
        "position": FieldKind.NUMBER,
        "section": FieldKind.TEXT,
        "slug": FieldKind.TEXT,
        "source": FieldKind.TEXT,
        "source_path": FieldKind.PATH,
        "title": FieldKind.TEXT,
        "tokens": FieldKind.NUMBER,
        "url": FieldKind.PATH,
        "version": FieldKind.TEXT,
    }.items()
)
"""What every chunk has. Front matter adds to it, under names of its own."""
