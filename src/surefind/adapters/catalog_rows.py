"""Columns shared by the SQL catalogs, and the conversion of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from surefind.adapters.files.checksums import check_text, damaged, has_checksum, with_checksum
from surefind.model import Attribute, Chunk, ChunkRecord, Document, DocumentRecord, Manifest

MANIFESTS: TypeAdapter[Manifest] = TypeAdapter(Manifest)

RECORD_COLUMNS = """
    c.chunk_id, c.source_path, c.position, c.text, c.start_offset, c.end_offset,
    c.context, c.anchor, c.tokens, c.content_hash, c.has_code, c.content_type,
    d.url, d.slug, d.title, d.version, d.locale, c.term_count,
    c.heading_path, d.attributes, c.created_at, c.point_id
"""
"""Each store encodes the last four in its own way and decodes them for `record_of`."""


def record_of(
    row: Sequence[Any],
    heading_path: tuple[str, ...],
    attributes: Mapping[str, Any],
    created_at: datetime,
) -> ChunkRecord:
    """Build a record. Positional for speed, because every hit of every search passes here.

    StoreChanged if the text does not match its hash.
    """
    (chunk_id, source_path, position, text, start, end, context, anchor, tokens, *rest) = row
    (content_hash, has_code, content_type, url, slug, title, version, locale, terms, *_) = rest
    chunk = Chunk(
        chunk_id,
        source_path,
        position,
        text,
        start,
        end,
        heading_path,
        context,
        anchor,
        tokens,
        content_hash,
        bool(has_code),
        content_type,
    )
    check_text(chunk, "the catalog")
    return ChunkRecord(
        chunk,
        url,
        slug,
        title,
        created_at,
        version,
        locale,
        attributes_of(attributes) if attributes else {},
        terms,
    )


def document_of(row: Sequence[Any], attributes: Mapping[str, Any]) -> DocumentRecord:
    source_path, url, slug, title, content_hash, validator, chunks, *_ = row
    return DocumentRecord(
        source_path,
        url,
        slug,
        title,
        content_hash,
        validator,
        chunks,
        attributes_of(attributes),
    )


WHOLE_COLUMNS = """
    source_path, url, slug, title, text, content_hash, version, locale, validator,
    front_matter, attributes
"""


def whole_document_of(
    row: Sequence[Any], front_matter: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Document:
    source_path, url, slug, title, text, content_hash, version, locale, validator, *_ = row
    return Document(
        source_path,
        url,
        slug,
        title,
        text,
        content_hash,
        version,
        locale,
        validator,
        front_matter,
        attributes_of(attributes),
    )


def attributes_of(stored: Mapping[str, Any]) -> Mapping[str, Attribute]:
    """Convert JSON lists to tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }


def written_manifest(manifest: Manifest, indent: int | None = None) -> str:
    return with_checksum(MANIFESTS.dump_json(manifest, indent=indent).decode())


def manifest_of(stored: str | bytes, where: object) -> Manifest:
    """Parse a manifest; StoreChanged if it is damaged."""
    content = stored.encode() if isinstance(stored, str) else stored
    has_checksum(content, where)
    try:
        return MANIFESTS.validate_json(content)
    except ValidationError as error:
        raise damaged(where, "it is not a manifest") from error
