"""surefind's own JSON: what `--json` prints and `POST /retrieve` answers."""

from typing import Any

from surefind.model import (
    ChunkRecord,
    Hit,
    IngestReport,
    LegScore,
    Manifest,
    PageFailure,
    SearchResult,
)
from surefind.services.inspect import Inspection
from surefind.text.urls import reader_path, reader_url

DIGITS = 6

Json = dict[str, Any]


def search_json(result: SearchResult) -> Json:
    query, timings = result.query, result.timings
    return {
        "query": query.text,
        "mode": query.mode.value,
        "top_k": query.top_k,
        "threshold": query.threshold,
        "collection": query.collection,
        "generation": result.generation,
        "chunks": result.chunks,
        "status": result.status.value,
        "best_similarity": _rounded(result.best_similarity),
        "hits": [_hit(hit, query.collection) for hit in result.hits],
        "timings_ms": {
            "embedded": round(timings.embedded_ms, 3),
            "searched": round(timings.searched_ms, 3),
            "filtered": round(timings.filtered_ms, 3),
            "formatted": round(timings.formatted_ms, 3),
            "total": round(timings.total_ms, 3),
        },
    }


def chunk_json(record: ChunkRecord) -> Json:
    chunk = record.chunk
    return {
        "chunk_id": chunk.id,
        "text": chunk.text,
        "url": record.link,
        "title": record.title,
        "section": record.section,
        "breadcrumb": record.breadcrumb,
        "source_path": chunk.source_path,
        "slug": record.slug,
        "version": record.version,
        "locale": record.locale,
        "anchor": chunk.anchor,
        "position": chunk.position,
        "start": chunk.start,
        "end": chunk.end,
        "tokens": chunk.tokens,
        "has_code": chunk.has_code,
        "content_type": chunk.content_type,
        "content_hash": chunk.content_hash,
        "created_at": record.created_at.isoformat(),
    }


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
        "added_pages": list(report.added_pages),
        "changed_pages": list(report.changed_pages),
        "removed_pages": list(report.removed_pages),
        "failures": _notes(report.failures),
        "left_out": _notes(report.left_out),
        "warnings": _notes(report.warnings),
        "empty_pages": list(report.empty_pages),
        "pruned_generations": list(report.pruned),
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


def _notes(notes: tuple[PageFailure, ...]) -> list[Json]:
    return [{"source_path": note.source_path, "reason": note.reason} for note in notes]


def manifest_json(manifest: Manifest, *, current: bool) -> Json:
    return {
        "collection": manifest.collection,
        "generation": manifest.number,
        "current": current,
        "created_at": manifest.created_at.isoformat(),
        "documents": manifest.documents,
        "chunks": manifest.chunks,
        "based_on": manifest.based_on,
        "sources": list(manifest.sources),
        "sites": list(manifest.sites),
        "source_digest": manifest.source_digest,
        "embedder": str(manifest.embedder),
        "chunker": str(manifest.chunker),
        "analyzer": manifest.lexical.analyzer,
        "surefind_version": manifest.surefind_version,
    }


def _hit(hit: Hit, collection: str) -> Json:
    record = hit.record
    reader = reader_path(reader_url(collection, record.chunk.source_path)) or ""
    return {
        "rank": hit.rank,
        "score": _rounded(hit.score),
        "similarity": _rounded(hit.similarity),
        "legs": {"dense": _leg(hit.dense), "lexical": _leg(hit.lexical)},
        "read_path": reader + (f"#{record.chunk.anchor}" if record.chunk.anchor else ""),
        **chunk_json(record),
    }


def _leg(leg: LegScore | None) -> Json | None:
    return None if leg is None else {"rank": leg.rank, "score": _rounded(leg.score)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
