"""The payload of a Qdrant point: built and read here, and nowhere else.

The names are those that the published contracts and other readers of the collection expect.
"""

from collections.abc import Mapping
from datetime import datetime

from surefind.errors import StoreError
from surefind.model import Chunk, ChunkRecord


def to_payload(record: ChunkRecord) -> dict[str, object]:
    chunk = record.chunk
    return {
        "chunk_id": chunk.id,
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
    }


def from_payload(payload: Mapping[str, object]) -> ChunkRecord:
    try:
        return ChunkRecord(
            chunk=Chunk(
                id=str(payload["chunk_id"]),
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
            created_at=datetime.fromisoformat(str(payload["created_at"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"a point's payload is not one that surefind wrote: {error}") from error


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return tuple(str(item) for item in value)


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no integer")
    return value
