"""Collections that something else filled: which key of a payload says what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """What a key of a payload may say of a passage."""

    TEXT = "text"
    URL = "url"
    SOURCE_PATH = "source_path"
    TITLE = "title"
    SECTION = "section"
    POSITION = "position"
    ID = "id"
    DOCUMENT = "document"
    HASH = "hash"
    CREATED_AT = "created_at"


class PositionKind(StrEnum):
    """What a position counts. Only ordinals say whether one is missing."""

    ORDINAL = "ordinal"
    OFFSET = "offset"
    LINE = "line"
    PAGE = "page"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class PayloadMapping:
    """Where each role is kept. Of several keys, the first that a point has anything in counts.

    Keys are paths: `metadata.source`, `content[].text`, `"a.b".c`. A path leads through JSON that
    is written in a string as if it were an object. `first_position` is what positions count from.
    """

    keys: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    position_kind: PositionKind = PositionKind.ORDINAL
    first_position: int = 0

    def of(self, role: Role) -> tuple[str, ...]:
        return self.keys.get(role, ())

    def has(self, role: Role) -> bool:
        return bool(self.keys.get(role))
