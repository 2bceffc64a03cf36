"""Example responses for the OpenAPI document."""

from surefind.interfaces.json_output import Json

_HASH = "f613f151b0ec34fca52f600ac39e2d8c818f262cca6024f6368d6025e9d4b29e"
_MADE = "2026-11-15T22:24:47.057013+00:00"

CHUNK: Json = {
    "chunk_id": "install-first-start-irl42352eb-0",
    "text": "## First start\n\nPress the button for five seconds until the light turns blue.",
    "url": "https://docs.example.com/install#first-start",
    "title": "Installing",
    "section": "First start",
    "breadcrumb": "Installing > First start",
    "source_path": "handbook/install.md",
    "slug": "install",
    "version": "",
    "locale": "",
    "front_matter": {},
    "anchor": "first-start",
    "position": 1,
    "start": 115,
    "end": 192,
    "tokens": 17,
    "has_code": False,
    "content_type": "text",
    "content_hash": _HASH,
    "created_at": _MADE,
}
CHUNKS: Json = {"chunks": [CHUNK]}
DOCUMENTS: Json = {
    "total": 1,
    "limit": 100,
    "next": None,
    "documents": [
        {
            "source_path": "handbook/install.md",
            "url": "https://docs.example.com/install",
            "slug": "install",
            "title": "Installing",
            "chunks": 2,
            "content_hash": _HASH,
        }
    ],
}
COLLECTIONS: Json = {
    "collections": [
        {
            "name": "docs",
            "served": True,
            "generation": 3,
            "documents": 1,
            "chunks": 2,
            "created_at": _MADE,
        }
    ]
}
GENERATION: Json = {
    "collection": "docs",
    "generation": 3,
    "current": True,
    "created_at": _MADE,
    "documents": 1,
    "chunks": 2,
    "based_on": 2,
    "sources": ["handbook"],
}
GENERATIONS: Json = {"generations": [GENERATION]}
CHANGES: Json = {
    "collection": "docs",
    "generation": 3,
    "compared_with": 2,
    "added": {"number": 1, "paths": ["handbook/errors.md"]},
    "changed": {"number": 1, "paths": ["handbook/install.md"]},
    "removed": {"number": 0, "paths": []},
    "unchanged": 12,
}
FIELDS: Json = {
    "collection": "docs",
    "generation": 3,
    "fields": [
        {
            "name": "version",
            "kinds": ["text"],
            "front_matter": False,
            "values": [{"value": "2.0", "chunks": 40}, {"value": "1.0", "chunks": 38}],
        },
        {"name": "tokens", "kinds": ["number"], "front_matter": False, "values": None},
    ],
    "folders": [{"path": "handbook/guide", "chunks": 25}],
}
GAPS: Json = {
    "query_log": True,
    "collection": "docs",
    "since": "2026-01-01T12:00:00+00:00",
    "until": "2026-01-31T12:00:00+00:00",
    "searches": 120,
    "judged": 118,
    "thin": 3,
    "gaps_total": 1,
    "gaps": [
        {
            "questions": ["How do I connect it to my phone?", "Can I connect my phone?"],
            "count": 3,
            "recent": 3,
            "trend": "new",
            "confidence": 0.124,
            "clients": None,
            "first": "2026-01-20T08:00:00+00:00",
            "last": "2026-01-30T08:00:00+00:00",
            "nearest": [
                {"url": "https://docs.example.com/install", "title": "Installing", "times": 3}
            ],
        }
    ],
    "possible_total": 0,
    "possible": [],
}
