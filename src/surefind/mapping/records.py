"""Converts a connected collection's payload to a ChunkRecord, and reports what is missing."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeGuard
from urllib.parse import urlsplit
from uuid import UUID

from surefind.mapping.moments import moment
from surefind.mapping.paths import Leaf, is_missing, leaves, read
from surefind.mapping.profiles import is_url, text_of, whole
from surefind.model import (
    Attribute,
    Chunk,
    ChunkRecord,
    Connection,
    PayloadMapping,
    PositionKind,
    Role,
    is_link,
    point_label,
)

_NEVER = datetime.fromtimestamp(0, UTC)
_LONGEST_ATTRIBUTE = 500
_MOST_ATTRIBUTES = 64

Payload = Mapping[str, object] | None


def value_of(payload: Payload, mapping: PayloadMapping, role: Role) -> Leaf | None:
    """The value of the role's first key that has one."""
    for key in mapping.of(role):
        value = read(payload, key)
        if value is not None and not is_missing(value):
            return value
    return None


def text_in(payload: Payload, mapping: PayloadMapping, role: Role = Role.TEXT) -> str:
    """The text of a role, empty if there is none; numbers are converted."""
    value = value_of(payload, mapping, role)
    if value is None or isinstance(value, bool):
        return ""
    text = text_of(value)
    return str(value) if text is None and not isinstance(value, tuple) else text or ""


def position_in(payload: Payload, mapping: PayloadMapping) -> int | None:
    """The position, converted to count from 0."""
    number = whole(value_of(payload, mapping, Role.POSITION))
    return None if number is None else max(0, number - mapping.first_position)


def document_of(payload: Payload, mapping: PayloadMapping) -> str:
    """The document's identity; empty if unknown."""
    for role in (Role.SOURCE_PATH, Role.URL, Role.DOCUMENT):
        name = text_in(payload, mapping, role)
        if name:
            return name.partition("#")[0] if role is Role.URL else name
    return ""


def record_of(point: UUID, payload: Payload, connection: Connection) -> ChunkRecord:
    """Convert a payload. Never fails, because a hit with an unusual payload is still a hit."""
    mapping = connection.mapping
    text = text_in(payload, mapping)
    address = value_of(payload, mapping, Role.URL)
    url, _, anchor = (address if _is_address(address) else "").partition("#")
    label = point_label(point)
    name = text_in(payload, mapping, Role.ID) or label
    title = text_in(payload, mapping, Role.TITLE)
    document = document_of(payload, mapping)
    position = position_in(payload, mapping)
    created = moment(value_of(payload, mapping, Role.CREATED_AT))
    return ChunkRecord(
        chunk=Chunk(
            id=name,
            source_path=document or name,
            position=position or 0,
            text=text,
            start=0,
            end=len(text),
            heading_path=_headings(payload, mapping, title),
            context="",
            anchor=anchor,
            tokens=len(text.split()),
            content_hash=_hash_of(text, label),
            has_code="```" in text,
            content_type="text",
        ),
        url=url,
        slug=text_in(payload, mapping, Role.SLUG) or _slug(url),
        title=title,
        created_at=created or _NEVER,
        attributes=_attributes(payload, connection),
        point=point,
        payload=payload or {},
        flaws=_flaws(payload, mapping, text),
        assumed=_assumed(source_path=document or None, position=position, created_at=created),
    )


def _assumed(**found: object) -> tuple[str, ...]:
    return tuple(name for name, value in found.items() if value is None)


def _is_address(value: Leaf | None) -> TypeGuard[str]:
    """Whether the value is a safe absolute or relative URL."""
    if not isinstance(value, str) or any(letter.isspace() for letter in value):
        return False
    try:
        urlsplit(value)
    except ValueError:
        return False
    return is_link(value) or is_url(value)


def _headings(payload: Payload, mapping: PayloadMapping, title: str) -> tuple[str, ...]:
    """The title, then the section if it differs; a list is already a path."""
    section = value_of(payload, mapping, Role.SECTION)
    if isinstance(section, tuple):
        steps = [str(step) for step in section if not is_missing(step)]
    else:
        steps = [] if section is None else [str(section)]
    # A page's title comes first; a title that equals the section comes last.
    if isinstance(section, tuple) and title and title not in steps:
        return (*steps, title)
    return tuple(dict.fromkeys([*([title] if title else []), *steps]))


def _hash_of(text: str, label: str) -> str:
    """The hash of the text; points without text get distinct hashes."""
    return hashlib.sha256((text or f"point {label}").encode("utf-8", "surrogatepass")).hexdigest()


def _slug(url: str) -> str:
    try:
        return urlsplit(url).path.strip("/")
    except ValueError:
        return ""


def _attributes(payload: Payload, connection: Connection) -> dict[str, Attribute]:
    """Values that can be filtered by and are short enough to show."""
    texts = set(connection.mapping.of(Role.TEXT))
    known = {field.name for field in connection.fields}
    kept: dict[str, Attribute] = {}
    for path, value in leaves(payload).items():
        if len(kept) == _MOST_ATTRIBUTES:
            break
        shown = known and path not in known
        if path in texts or shown or is_missing(value) or _is_long(value):
            continue
        kept[path] = value
    return kept


def _is_long(value: Leaf) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return sum(len(item) for item in items if isinstance(item, str)) > _LONGEST_ATTRIBUTE


def _flaws(payload: Payload, mapping: PayloadMapping, text: str) -> tuple[str, ...]:
    """Mapped roles whose value is missing or unreadable in this point."""
    flaws: list[str] = []
    if not payload:
        return ("it has no payload",)
    if not text:
        flaws.append("text is missing")
    for role in (Role.URL, Role.SOURCE_PATH, Role.TITLE, Role.POSITION, Role.CREATED_AT):
        if not mapping.has(role):
            continue
        value = value_of(payload, mapping, role)
        if value is None:
            flaws.append(f"{role} is missing")
        elif not _readable(role, value, mapping):
            shown = list(value) if isinstance(value, tuple) else str(value)
            flaws.append(f"{role} can't be read: {repr(shown)[:42]}")
    return tuple(flaws)


def _readable(role: Role, value: Leaf, mapping: PayloadMapping) -> bool:
    if role is Role.POSITION:
        return mapping.position_kind is PositionKind.PLACE or whole(value) is not None
    if role is Role.CREATED_AT:
        return moment(value) is not None
    return _is_address(value) if role is Role.URL else isinstance(value, str)
