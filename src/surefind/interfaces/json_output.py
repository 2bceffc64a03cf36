"""surefind's own JSON: what `--json` prints and `POST /retrieve` answers."""

from dataclasses import asdict
from typing import Any

from surefind.model import (
    BrokenLink,
    ChunkRecord,
    Confidence,
    Cost,
    GateResult,
    Hit,
    IngestReport,
    LegScore,
    Manifest,
    PageFailure,
    Rate,
    SearchResult,
    Threshold,
)
from surefind.services.generations.generations import GenerationChanges
from surefind.services.ingest.inspect import Inspection
from surefind.services.search.facets import FilterOptions
from surefind.services.search.filters import describe
from surefind.services.search.why_not import WhyNot
from surefind.text.sites.plain import reader_path, reader_url

DIGITS = 6
PATHS_TOLD = 100

Json = dict[str, Any]


def search_json(result: SearchResult) -> Json:
    query, timings = result.query, result.timings
    return {
        "query": query.text,
        "mode": query.mode.value,
        "top_k": query.top_k,
        "threshold": query.threshold,
        "collection": query.collection,
        "collections": list(query.collections),
        "generation": result.generation,
        "chunks": result.chunks,
        "status": result.status.value,
        "where": [describe(condition) for condition in query.where],
        "best_similarity": _rounded(result.best_similarity),
        "confidence": _confidence(result.confidence),
        "notes": list(result.notes),
        "remembered": result.remembered,
        "hits": [hit_json(hit) for hit in result.hits],
        "over_budget": [
            {"chunk_id": hit.record.chunk.id, "rank": hit.rank, "tokens": hit.tokens}
            for hit in result.over_budget
        ],
        "timings_ms": {
            **{stage: round(spent, 3) for stage, spent in timings.stages},
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
        "front_matter": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in record.attributes.items()
        },
        "anchor": chunk.anchor,
        "position": chunk.position,
        "start": chunk.start,
        "end": chunk.end,
        "tokens": chunk.tokens,
        "has_code": chunk.has_code,
        "content_type": chunk.content_type,
        "content_hash": chunk.content_hash,
        "created_at": (None if "created_at" in record.assumed else record.created_at.isoformat()),
        "flaws": list(record.flaws),
        "assumed": list(record.assumed),
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
        **_cost(report.cost),
        "added_pages": list(report.added_pages),
        "changed_pages": list(report.changed_pages),
        "removed_pages": list(report.removed_pages),
        "failures": _notes(report.failures),
        "left_out": _notes(report.left_out),
        "warnings": _notes(report.warnings),
        "broken_links": _broken(report.broken_links),
        "empty_pages": list(report.empty_pages),
        "pruned_generations": list(report.pruned),
        "gate": report.gate and gate_json(report.gate),
        "seconds": round(report.seconds, 3),
    }


def gate_json(gate: GateResult) -> Json:
    return {
        "generation": gate.generation or None,
        "golden": gate.golden,
        "verdict": gate.verdict or None,
        "held": gate.held,
        "tests": gate.tests,
        "passed": gate.passed,
        "reasons": list(gate.reasons),
        "warnings": list(gate.warnings),
        "failed": [asdict(test) for test in gate.failed],
        "compared_with": gate.compared_with,
        "not_compared": gate.not_compared or None,
        "comparison": list(gate.comparison),
    }


def threshold_json(threshold: Threshold) -> Json:
    return {
        "similarity": _rounded(threshold.similarity),
        "false_accepts": _rate(threshold.false_accepts),
        "false_rejects": _rate(threshold.false_rejects),
        "false_accept_cost": threshold.false_accept_cost,
        "golden": threshold.golden,
        "golden_digest": threshold.golden_digest,
        "calibrated_at": threshold.calibrated_at.isoformat(),
    }


def _rate(rate: Rate) -> Json:
    return {
        "value": _rounded(rate.value),
        "low": _rounded(rate.low),
        "high": _rounded(rate.high),
        "count": rate.count,
        "total": rate.total,
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


def _cost(cost: Cost | None) -> Json:
    if cost is None:
        return {}
    return {
        "cost": {
            "estimated": _rounded(cost.amount),
            "tokens": cost.tokens,
            "price_per_million_tokens": cost.price_per_million_tokens,
        }
    }


def _notes(notes: tuple[PageFailure, ...]) -> list[Json]:
    return [{"source_path": note.source_path, "reason": note.reason} for note in notes]


def _broken(links: tuple[BrokenLink, ...] | None) -> list[Json] | None:
    """Null where links were not checked: that is not the same as none."""
    if links is None:
        return None
    return [
        {"source_path": item.source_path, "link": item.link, "reason": item.reason}
        for item in links
    ]


def manifest_json(manifest: Manifest, *, current: bool) -> Json:
    return {
        "collection": manifest.collection,
        "generation": manifest.number,
        "current": current,
        "created_at": manifest.created_at.isoformat(),
        "documents": documents_of(manifest),
        "chunks": manifest.chunks,
        "based_on": manifest.based_on,
        "sources": list(manifest.sources),
        "sites": list(manifest.sites),
        "source_digest": manifest.source_digest,
        "embedder": str(manifest.embedder),
        "chunker": str(manifest.chunker),
        "analyzer": manifest.lexical.analyzer,
        "fields": {field.name: list(field.kinds) for field in manifest.fields},
        "calibration": manifest.calibration and asdict(manifest.calibration),
        "threshold": manifest.threshold and threshold_json(manifest.threshold),
        "gate": manifest.gate and gate_json(manifest.gate),
        "surefind_version": manifest.surefind_version,
    }


def changes_json(changes: GenerationChanges) -> Json:
    """Long lists are cut: what a page or a terminal shows of them, nobody reads to the end."""

    def told(paths: list[str]) -> Json:
        return {"number": len(paths), "paths": paths[:PATHS_TOLD]}

    return {
        "collection": changes.generation.collection,
        "generation": changes.generation.number,
        "compared_with": changes.compared_with,
        "added": told(changes.pages.added),
        "changed": told(changes.pages.changed),
        "removed": told(changes.pages.removed),
        "unchanged": changes.pages.unchanged,
    }


def offer_json(offer: FilterOptions) -> Json:
    return {
        "collection": offer.generation.collection,
        "generation": offer.generation.number,
        "fields": [
            {
                "name": facet.field.name,
                "kinds": list(facet.field.kinds),
                "front_matter": facet.from_front_matter,
                "values": facet.values
                and [{"value": value, "chunks": number} for value, number in facet.values],
            }
            for facet in offer.facets
        ],
    }


def documents_of(manifest: Manifest) -> int | None:
    """None for a collection that something else filled: only a look at every point would tell."""
    return manifest.documents if manifest.connected is None else None


def hit_json(hit: Hit) -> Json:
    record = hit.record
    reader = reader_path(reader_url(hit.collection, record.chunk.source_path)) or ""
    return {
        "rank": hit.rank,
        "score": _rounded(hit.score),
        "similarity": _rounded(hit.similarity),
        "collection": hit.collection,
        "legs": {"dense": _leg(hit.dense), "lexical": _leg(hit.lexical)},
        "reranking": hit.reranking
        and {"score": _rounded(hit.reranking.score), "rank_before": hit.reranking.rank_before},
        "context": hit.context and asdict(hit.context),
        "highlights": [list(span) for span in hit.highlights],
        "section_highlights": [list(span) for span in hit.section_highlights],
        "also": [
            {
                "chunk_id": same.chunk.id,
                "url": same.link,
                "version": same.version,
                "locale": same.locale,
            }
            for same in hit.also
        ],
        "read_path": reader + (f"#{record.chunk.anchor}" if record.chunk.anchor else ""),
        **chunk_json(record),
    }


def why_not_json(answer: WhyNot) -> Json:
    return {
        "wanted": answer.wanted,
        "cause": answer.cause.value,
        "message": answer.message,
        "rank": answer.rank,
        "score": _rounded(answer.score),
        "similarity": _rounded(answer.similarity),
        "filters": list(answer.filters),
        "chunk": answer.record and chunk_json(answer.record),
        "ahead": [
            {
                "rank": hit.rank,
                "score": _rounded(hit.score),
                "chunk_id": hit.record.chunk.id,
                "url": hit.record.link,
            }
            for hit in answer.ahead
        ],
    }


def _leg(leg: LegScore | None) -> Json | None:
    if leg is None:
        return None
    return {"rank": leg.rank, "score": _rounded(leg.score), "share": _rounded(leg.share)}


def _confidence(confidence: Confidence | None) -> Json | None:
    if confidence is None:
        return None
    return {
        "value": _rounded(confidence.value),
        "evidence": confidence.evidence.value,
        "threshold": _rounded(confidence.threshold),
        "learned": confidence.learned,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
