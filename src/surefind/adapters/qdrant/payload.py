"""Builds and parses the payload of a Qdrant point; no other file does.

Published contracts and other readers of the collection rely on the key names.
"""

from collections.abc import Mapping
from datetime import datetime

from surefind.adapters.files.checksums import check_text
from surefind.errors import StoreChanged
from surefind.model import FIELDS, Attribute, Chunk, ChunkRecord, FieldKind
from surefind.model.filters import path_prefixes

FRONT_MATTER = "front_matter"
PATHS = {"source_path": "source_path_steps", "url": "url_steps"}
"""Holds every ancestor of a path, so that "is below" becomes an equality test."""

FLAGS = {True: "true_fields", False: "false_fields"}
"""The names of true and of false fields, because the embedded engine can't match booleans."""

CHUNK_ID = "chunk_id"

_OWN = frozenset(field.name for field in FIELDS)
_ONE_CHUNK = frozenset({CHUNK_ID, "content_hash"})


def indexed_keys() -> dict[str, FieldKind]:
    """The fields of every chunk to index, except unique ones: filtering to one chunk is useless."""
    kept = {
        payload_key(field.name): field.kinds[0]
        for field in FIELDS
        if field.kinds[0] is not FieldKind.FLAG and field.name not in _ONE_CHUNK
    }
    return {**kept, **dict.fromkeys((*PATHS.values(), *FLAGS.values()), FieldKind.TEXT)}


def indexed_attributes(attributes: Mapping[str, Attribute]) -> dict[str, FieldKind]:
    """The front-matter keys to index. Each has one index; its first value determines the type.

    Flags need no index: the lists of true and false fields are indexed already.
    """
    found = {}
    for name, value in attributes.items():
        values = value if isinstance(value, tuple) else (value,)
        first = next((one for one in values if not isinstance(one, bool)), None)
        if first is not None:
            found[payload_key(name)] = _kind_of(first)
    return found


def _kind_of(value: str | float) -> FieldKind:
    """Index dates as dates, because filters on dates are mostly ranges."""
    if not isinstance(value, str):
        return FieldKind.NUMBER
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return FieldKind.TEXT
    return FieldKind.DATE if "-" in value else FieldKind.TEXT  # 20260131 is a number to most


def payload_key(field: str) -> str:
    """The payload key of a filter field."""
    return field if field in _OWN else f'{FRONT_MATTER}."{field}"'


def unquoted(key: str) -> str:
    """The key as the embedded engine reports it, without unnecessary quotes."""
    return key.replace('"', "")


def to_payload(record: ChunkRecord) -> dict[str, object]:
    chunk = record.chunk
    return {
        CHUNK_ID: chunk.id,
        "text": chunk.text,
        "url": record.url,
        "source_path": chunk.source_path,
        "slug": record.slug,
        "title": record.title,
        "version": record.version,
        "locale": record.locale,
        "section": record.section,
        "breadcrumb": record.breadcrumb,
        "heading_path": list(chunk.heading_path),
        "context": chunk.context,
        "anchor": chunk.anchor,
        "position": chunk.position,
        "order_index": chunk.position + 1,
        "start": chunk.start,
        "end": chunk.end,
        "tokens": chunk.tokens,
        "content_hash": chunk.content_hash,
        "has_code": chunk.has_code,
        "content_type": chunk.content_type,
        "created_at": record.created_at.isoformat(),
        "source": chunk.source_path.partition("/")[0],
        PATHS["source_path"]: path_prefixes(chunk.source_path),
        PATHS["url"]: path_prefixes(record.url),
        FRONT_MATTER: {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in record.attributes.items()
        },
        **_flags(record),
    }


def from_payload(payload: Mapping[str, object]) -> ChunkRecord:
    try:
        record = ChunkRecord(
            chunk=Chunk(
                id=str(payload[CHUNK_ID]),
                source_path=str(payload["source_path"]),
                position=_integer(payload["position"]),
                text=str(payload["text"]),
                start=_integer(payload["start"]),
                end=_integer(payload["end"]),
                heading_path=_strings(payload["heading_path"]),
                context=str(payload["context"]),
                anchor=str(payload["anchor"]),
                tokens=_integer(payload["tokens"]),
                content_hash=str(payload["content_hash"]),
                has_code=bool(payload["has_code"]),
                content_type=str(payload["content_type"]),
            ),
            url=str(payload["url"]),
            slug=str(payload["slug"]),
            title=str(payload["title"]),
            version=str(payload["version"]),
            locale=str(payload["locale"]),
            attributes=_attributes(payload[FRONT_MATTER]),
            created_at=datetime.fromisoformat(str(payload["created_at"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreChanged(
            f"surefind did not write the payload of a point ({error}); run `surefind ingest "
            "--rebuild`"
        ) from error
    check_text(record.chunk, "the vector index")
    return record


def _flags(record: ChunkRecord) -> dict[str, list[str]]:
    held = {"has_code": record.chunk.has_code, **record.attributes}
    return {
        key: [name for name, value in held.items() if value is flag] for flag, key in FLAGS.items()
    }


def _attributes(value: object) -> dict[str, Attribute]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not a mapping")
    return {
        str(name): tuple(held) if isinstance(held, list) else held for name, held in value.items()
    }


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(str(item) for item in value)


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not an integer")
    return value
