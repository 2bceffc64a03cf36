"""Hits as texts with metadata, as all frameworks have them."""

from collections.abc import Iterable
from typing import Any

from surefind.model import Evidence, Hit, SearchResult

_THIN = "The evidence is thin: the documentation probably does not answer this."


def text_of(hit: Hit) -> str:
    """The passage, with its context if the search was to add some."""
    return hit.text if hit.context is None else hit.context.text


def metadata_of(hit: Hit) -> dict[str, Any]:
    """Values that JSON can hold; front matter under a name of its own."""
    record = hit.record
    found: dict[str, Any] = {
        "chunk_id": record.chunk.id,
        "url": hit.url,
        "title": record.title,
        "section": record.section,
        "breadcrumb": record.breadcrumb,
        "source_path": record.chunk.source_path,
        "collection": hit.collection,
        "rank": hit.rank,
        "score": hit.score,
        "similarity": hit.similarity,
    }
    if record.version:
        found["version"] = record.version
    if record.locale:
        found["locale"] = record.locale
    if record.attributes:
        found["front_matter"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in record.attributes.items()
        }
    return found


def for_a_model(result: SearchResult) -> str:
    """Numbered passages with their links, for a model to cite, and a hint if they are weak."""
    parts = [f"[{hit.rank}] {hit.record.breadcrumb}\n{hit.url}\n\n{text_of(hit)}" for hit in result]
    if not parts:
        parts.append("No passage was found.")
    if result.confidence is not None and result.confidence.evidence is Evidence.THIN:
        parts.append(_THIN)
    return "\n\n".join(_distinct([*parts, *result.notes]))


def _distinct(parts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(parts))
