"""Filter conditions, and the fields that they can refer to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Scalar = str | int | float | bool
Attribute = Scalar | tuple[Scalar, ...]
"""A value of a page's front matter that can be filtered by."""


class FieldKind(StrEnum):
    TEXT = "text"
    PATH = "path"
    NUMBER = "number"
    DATE = "date"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Field:
    """A field to filter by. Pages can hold values of different types under one front-matter key."""

    name: str
    kinds: tuple[FieldKind, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has one of the values; with `exclude`, none of them."""

    key: str
    values: tuple[Scalar, ...]
    exclude: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """The field, a number or a date, is between the bounds; None means unbounded."""

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
    """The path equals this one or is below it: `docs/guide` matches `docs/guide/a.md`."""

    key: str
    path: str


def path_prefixes(path: str) -> list[str]:
    """Every ancestor of a path and the path itself: `a/b/c` gives a, a/b, a/b/c."""
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
"""The fields of every chunk. Front matter adds further ones under their own names."""
