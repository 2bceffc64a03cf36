"""Generations, their changes and gate results as JSON."""

from dataclasses import asdict

from surefind.interfaces.json_output import Json, rounded
from surefind.model import CollectionSummary, GateResult, Manifest, Rate, Threshold
from surefind.services.generations.generations import GenerationChanges

MAX_PATHS = 100


def collection_json(summary: CollectionSummary) -> Json:
    return {
        "name": summary.name,
        "served": summary.served,
        "generation": summary.generation,
        "documents": summary.documents,
        "chunks": summary.chunks,
        "created_at": summary.created_at and summary.created_at.isoformat(),
    }


def manifest_json(manifest: Manifest, *, current: bool) -> Json:
    return {
        "collection": manifest.collection,
        "generation": manifest.number,
        "current": current,
        "created_at": manifest.created_at.isoformat(),
        "documents": manifest.counted_documents,
        "chunks": manifest.chunks,
        "based_on": manifest.based_on,
        "sources": list(manifest.sources),
        "sites": list(manifest.sites),
        "source_digest": manifest.source_digest,
        "embedder": str(manifest.embedder),
        "chunker": str(manifest.chunker),
        "analyzer": manifest.lexical.analyzer,
        "languages": list(manifest.languages),
        "fields": {field.name: list(field.kinds) for field in manifest.fields},
        "calibration": manifest.calibration and asdict(manifest.calibration),
        "threshold": manifest.threshold and threshold_json(manifest.threshold),
        "gate": manifest.gate and gate_json(manifest.gate),
        "surefind_version": manifest.surefind_version,
    }


def changes_json(changes: GenerationChanges) -> Json:
    """Lists are cut at MAX_PATHS; `number` has the full count."""

    def listed(paths: list[str]) -> Json:
        return {"number": len(paths), "paths": paths[:MAX_PATHS]}

    return {
        "collection": changes.generation.collection,
        "generation": changes.generation.number,
        "compared_with": changes.compared_with,
        "added": listed(changes.pages.added),
        "changed": listed(changes.pages.changed),
        "removed": listed(changes.pages.removed),
        "unchanged": changes.pages.unchanged,
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
        "similarity": rounded(threshold.similarity),
        "false_accepts": _rate(threshold.false_accepts),
        "false_rejects": _rate(threshold.false_rejects),
        "false_accept_cost": threshold.false_accept_cost,
        "golden": threshold.golden,
        "golden_digest": threshold.golden_digest,
        "calibrated_at": threshold.calibrated_at.isoformat(),
    }


def _rate(rate: Rate) -> Json:
    return {
        "value": rounded(rate.value),
        "low": rounded(rate.low),
        "high": rounded(rate.high),
        "count": rate.count,
        "total": rate.total,
    }
