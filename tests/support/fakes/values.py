"""Chunks and documents to put into stores."""

import hashlib
from datetime import UTC, datetime

from surefind.model import (
    Attribute,
    Chunk,
    ChunkRecord,
    Document,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


ATTRIBUTES: dict[str, Attribute] = {
    "date": "2026-01-02",
    "draft": False,
    "order": 3,
    "tags": ("alpha", "beta"),
    "weight": 0.5,
}


def record(number: int, text: str = "some words", source_path: str = "docs/page.md") -> ChunkRecord:
    return ChunkRecord(
        chunk=Chunk(
            id=f"chunk-{number}",
            source_path=source_path,
            position=number,
            text=text,
            start=0,
            end=len(text),
            heading_path=("Page", "Überschrift"),
            context="Page",
            anchor="section",
            tokens=len(text.split()),
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
            has_code=number % 2 == 0,
            content_type="text",
        ),
        url="https://docs.example.com/page",
        slug="page",
        title="Page",
        created_at=NOW,
        attributes=ATTRIBUTES,
        term_count=len(text.split()),
    )


def document(source_path: str = "docs/page.md", text: str = "some words") -> Document:
    return Document(
        source_path=source_path,
        url="https://docs.example.com/page",
        slug="page",
        title="Page",
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        front_matter={"title": "Page", "date": "2026-01-02"},
        attributes=ATTRIBUTES,
    )
