"""Search results and passages as JSON."""

from collections.abc import Callable
from dataclasses import asdict

from surefind.interfaces.json_output import Json, rounded
from surefind.interfaces.rendering.elements import JsonNode, Spans, json_of, marked
from surefind.interfaces.rendering.rendered_passage import rendered_passage
from surefind.model import (
    ChunkRecord,
    Confidence,
    Hit,
    LegScore,
    SearchResult,
    reader_path,
    unpublished_url,
)
from surefind.services.search.facets import FilterOptions
from surefind.services.search.filters import describe
from surefind.services.search.why_not import WhyNot

Matches = Callable[[str, str], Spans]
"""Finds the words of a query, the second argument, in a text."""


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
        "best_similarity": rounded(result.best_similarity),
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


def hit_json(hit: Hit) -> Json:
    record = hit.record
    reader = reader_path(unpublished_url(hit.collection, record.chunk.source_path)) or ""
    return {
        "rank": hit.rank,
        "score": rounded(hit.score),
        "similarity": rounded(hit.similarity),
        "collection": hit.collection,
        "legs": {"dense": _leg(hit.dense), "lexical": _leg(hit.lexical)},
        "exact_heading": hit.exact_heading,
        "page": hit.page
        and {
            "own": rounded(hit.page.own),
            "passages": rounded(hit.page.passages),
            "names": rounded(hit.page.names),
        },
        "weight": rounded(hit.weight),
        "reranking": hit.reranking
        and {"score": rounded(hit.reranking.score), "rank_before": hit.reranking.rank_before},
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


def rendered_json(hit: Hit, query: str, matches: Matches | None = None) -> list[JsonNode]:
    """The passage as a tree of elements, with the matches of the query marked."""
    record = hit.record
    nodes = rendered_passage(record.chunk.text, record.breadcrumb, record.chunk.content_type)
    if matches is not None:
        nodes = marked(nodes, lambda text: matches(text, query))
    return json_of(nodes)


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


def why_not_json(answer: WhyNot) -> Json:
    return {
        "wanted": answer.wanted,
        "cause": answer.cause.value,
        "message": answer.message,
        "rank": answer.rank,
        "score": rounded(answer.score),
        "similarity": rounded(answer.similarity),
        "filters": list(answer.filters),
        "chunk": answer.record and chunk_json(answer.record),
        "ahead": [
            {
                "rank": hit.rank,
                "score": rounded(hit.score),
                "chunk_id": hit.record.chunk.id,
                "title": hit.record.title,
                "breadcrumb": hit.record.breadcrumb,
                "source_path": hit.record.chunk.source_path,
                "url": hit.record.link,
            }
            for hit in answer.ahead
        ],
    }


def fields_json(options: FilterOptions) -> Json:
    return {
        "collection": options.generation.collection,
        "generation": options.generation.number,
        "fields": [
            {
                "name": facet.field.name,
                "kinds": list(facet.field.kinds),
                "front_matter": facet.from_front_matter,
                "values": facet.values
                and [{"value": value, "chunks": number} for value, number in facet.values],
            }
            for facet in options.facets
        ],
        "folders": [{"path": path, "chunks": number} for path, number in options.folders],
    }


def _leg(leg: LegScore | None) -> Json | None:
    if leg is None:
        return None
    return {"rank": leg.rank, "score": rounded(leg.score), "share": rounded(leg.share)}


def _confidence(confidence: Confidence | None) -> Json | None:
    if confidence is None:
        return None
    return {
        "value": rounded(confidence.value),
        "evidence": confidence.evidence.value,
        "threshold": rounded(confidence.threshold),
        "learned": confidence.learned,
    }
