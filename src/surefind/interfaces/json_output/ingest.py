"""Ingest reports and page previews as JSON."""

from surefind.interfaces.json_output import Json, rounded
from surefind.interfaces.json_output.generations import gate_json
from surefind.model import BrokenLink, Cost, IngestReport, PageFailure, Replication
from surefind.services.ingest.inspect import Inspection


def ingest_json(report: IngestReport) -> Json:
    return {
        "collection": report.collection,
        "generation": report.generation,
        "published": report.published,
        "pages": {
            "added": report.added,
            "changed": report.changed,
            "removed": report.removed,
            "unchanged": report.unchanged,
            "failed": len(report.failures),
            "left_out": len(report.left_out),
            "empty": len(report.empty_pages),
        },
        "new_chunks": report.new_chunks,
        "new_tokens": report.new_tokens,
        "documents": report.documents,
        "chunks": report.chunks,
        "index_points": report.index_points,
        "embedded": report.embedded,
        "from_cache": report.from_cache,
        **_cost(report.cost),
        "added_pages": list(report.added_pages),
        "changed_pages": list(report.changed_pages),
        "removed_pages": list(report.removed_pages),
        "unread_files": dict(report.unread),
        "failures": _notes(report.failures),
        "left_out": _notes(report.left_out),
        "warnings": _notes(report.warnings),
        "broken_links": _broken(report.broken_links),
        "empty_pages": list(report.empty_pages),
        **_replication(report.replication),
        "pruned_generations": list(report.pruned),
        "gate": report.gate and gate_json(report.gate),
        "seconds": round(report.seconds, 3),
    }


def inspection_json(inspection: Inspection) -> Json:
    document = inspection.document
    return {
        "source_path": inspection.source_path,
        "left_out": inspection.left_out or None,
        "url": document.url if document else None,
        "title": document.title if document else None,
        "version": document.version if document else None,
        "locale": document.locale if document else None,
        "text": document.text if document else None,
        "warnings": list(inspection.warnings),
        "unread": list(inspection.unread),
        "broken_links": _broken(inspection.broken_links),
        "chunks": [
            {
                "chunk_id": chunk.id,
                "position": chunk.position,
                "heading_path": list(chunk.heading_path),
                "anchor": chunk.anchor,
                "tokens": chunk.tokens,
                "content_type": chunk.content_type,
                "start": chunk.start,
                "end": chunk.end,
                "context": chunk.context,
                "text": chunk.text,
            }
            for chunk in inspection.chunks
        ],
    }


def _replication(replication: Replication | None) -> Json:
    if replication is None:
        return {}
    return {
        "replication": {
            "complete": replication.is_complete,
            "replicas": replication.replicas,
            "active": list(replication.active),
            "inactive": list(replication.inactive),
        }
    }


def _cost(cost: Cost | None) -> Json:
    if cost is None:
        return {}
    return {
        "cost": {
            "estimated": rounded(cost.amount),
            "tokens": cost.tokens,
            "price_per_million_tokens": cost.price_per_million_tokens,
        }
    }


def _notes(notes: tuple[PageFailure, ...]) -> list[Json]:
    return [{"source_path": note.source_path, "reason": note.reason} for note in notes]


def _broken(links: tuple[BrokenLink, ...] | None) -> list[Json] | None:
    """Null if links were not checked; an empty list means that none is broken."""
    if links is None:
        return None
    return [
        {"source_path": item.source_path, "link": item.link, "reason": item.reason}
        for item in links
    ]
