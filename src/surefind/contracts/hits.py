"""What the published shapes say of a hit: its similarity, its flaws, what is assumed of it."""

from __future__ import annotations

from surefind.contracts.rules import is_url
from surefind.model import ChunkRecord, Hit


def similarity(hit: Hit) -> float:
    """The cosine in 0..1; where nothing was embedded, the score of the order stands in for it."""
    return hit.score if hit.similarity is None else hit.similarity


def flaws_of(record: ChunkRecord) -> list[str]:
    """The record's own flaws, and those by the contracts' rules: a text, and an absolute URL."""
    flaws = list(record.flaws)
    if not record.chunk.text.strip() and "text is missing" not in flaws:
        flaws.append("text is missing")
    if not is_url(record.url) and not any(flaw.startswith("url ") for flaw in flaws):
        flaws.append(f"url is not absolute: {record.url!r}" if record.url else "url is missing")
    return flaws


def assumed_of(record: ChunkRecord, **names: str) -> list[str]:
    """The published names, given by the record's own, of the fields that hold a stand-in."""
    return [published for own, published in names.items() if own in record.assumed]
