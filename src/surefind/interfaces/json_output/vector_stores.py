"""Collections, documents and hits as OpenAI's API shows vector stores, files and results."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime

from surefind.errors import UnknownDocument
from surefind.interfaces.json_output import Json, rounded
from surefind.model import (
    Attribute,
    ChunkRecord,
    CollectionSummary,
    DocumentRecord,
    Hit,
    Manifest,
)

MAX_ATTRIBUTES = 16
MAX_VALUE = 512
"""Characters; clients may reject longer ones, as they may reject more attributes."""
_FILE = "file-"


def store_json(collection: CollectionSummary) -> Json:
    """A collection that can't be read at the moment is not "completed".

    The documents of a connected collection are not counted.
    """
    files = collection.documents or 0
    created = 0 if collection.created_at is None else _seconds(collection.created_at)
    known = {"generation": str(collection.generation), "chunks": str(collection.chunks)}
    is_readable = collection.created_at is not None
    return {
        "id": collection.name,
        "object": "vector_store",
        "name": collection.name,
        "created_at": created,
        "last_active_at": created,
        "usage_bytes": 0,
        "file_counts": {
            **dict.fromkeys(("in_progress", "failed", "cancelled"), 0),
            "completed": files,
            "total": files,
        },
        "status": "completed" if is_readable else "in_progress",
        "expires_after": None,
        "expires_at": None,
        "metadata": known if is_readable else {},
    }


def file_json(document: DocumentRecord, manifest: Manifest, url: str) -> Json:
    own = {"source_path": document.source_path, "title": document.title, "url": url}
    return {
        "id": file_id(document.source_path),
        "object": "vector_store.file",
        "vector_store_id": manifest.collection,
        "created_at": _seconds(manifest.created_at),
        "usage_bytes": 0,
        "status": "completed",
        "last_error": None,
        "attributes": _attributes(own, document.attributes),
    }


def list_json(items: Sequence[Json], *, has_more: bool) -> Json:
    return {
        "object": "list",
        "data": list(items),
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": has_more,
    }


def content_json(texts: Sequence[str]) -> Json:
    return {
        "object": "vector_store.file_content.page",
        "data": [_text(text) for text in texts],
        "has_more": False,
        "next_page": None,
    }


def results_json(queries: Sequence[str], hits: Sequence[Hit]) -> Json:
    return {
        "object": "vector_store.search_results.page",
        "search_query": list(queries),
        "data": [_result(hit) for hit in hits],
        "has_more": False,
        "next_page": None,
    }


def _result(hit: Hit) -> Json:
    record = hit.record
    return {
        "file_id": file_id(record.chunk.source_path),
        "filename": record.chunk.source_path,
        "score": rounded(hit.score),
        "attributes": _attributes(_own_attributes(hit, record), record.attributes),
        "content": [_text(hit.text)],
    }


def _own_attributes(hit: Hit, record: ChunkRecord) -> dict[str, str | float]:
    own: dict[str, str | float] = {
        "chunk_id": record.chunk.id,
        "source_path": record.chunk.source_path,
        "url": hit.url,
        "title": record.title,
        "section": record.section,
        "breadcrumb": record.breadcrumb,
        "version": record.version,
        "locale": record.locale,
    }
    if hit.similarity is not None:
        own["similarity"] = round(hit.similarity, 6)
    return {name: value for name, value in own.items() if value != ""}


def _attributes(own: Mapping[str, str | float], front_matter: Mapping[str, Attribute]) -> Json:
    """As many as clients accept, the own ones first. Lists become text."""
    found: Json = {}
    for name, value in (*own.items(), *front_matter.items()):
        if len(found) < MAX_ATTRIBUTES and name not in found:
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            found[name] = shown[:MAX_VALUE] if isinstance(shown, str) else shown
    return found


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def file_id(source_path: str) -> str:
    """A page's path in letters that need no escaping in a URL."""
    return _FILE + base64.urlsafe_b64encode(source_path.encode()).decode().rstrip("=")


def source_path_of(file: str) -> str:
    encoded = file.removeprefix(_FILE)
    try:
        path = base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        path = ""
    if not path or file_id(path) != file:
        raise UnknownDocument(f"there is no file {file!r}; use the ID of a listed file") from None
    return path
