"""What the published shapes report about a hit: similarity, flaws and assumed fields."""

from __future__ import annotations

from surefind.contracts.rules import is_url
from surefind.model import ChunkRecord, Hit


def similarity(hit: Hit) -> float:
    """The cosine in 0..1; in lexical mode, the ranking score."""
    return hit.score if hit.similarity is None else hit.similarity


def flaws_of(record: ChunkRecord) -> list[str]:
    """The record's flaws, plus violations of the contracts: no text or no absolute URL."""
    flaws = list(record.flaws)
    if not record.chunk.text.strip() and "text is missing" not in flaws:
        flaws.append("text is missing")
    if not is_url(record.url) and not any(flaw.startswith("url ") for flaw in flaws):
        flaws.append(f"url is not absolute: {record.url!r}" if record.url else "url is missing")
    return flaws


def assumed_of(record: ChunkRecord, **names: str) -> list[str]:
    """The published names of the fields that hold a default value; `names` maps them."""
    return [published for own, published in names.items() if own in record.assumed]
