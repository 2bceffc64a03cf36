"""The JSON of `connect --json`, and of the vector checks in `audit --json`."""

from typing import Any

from surefind.mapping.inference import RoleChoice
from surefind.services.connected.connect import Proposal
from surefind.services.connected.vector_origin import OriginCounts

Json = dict[str, Any]
_DIGITS = 4


def proposal_json(proposal: Proposal) -> Json:
    connection, facts = proposal.connection, proposal.facts
    return {
        "name": connection.name,
        "collection": connection.collection,
        "points": facts.points,
        "looked_at": proposal.inference.points,
        "without_payload": proposal.inference.empty,
        "vector": {
            "name": connection.space.name,
            "dimensions": connection.space.dimensions,
            "distance": connection.space.distance.value,
            "unit_length": connection.unit,
            "scores_are_cosines": connection.gives_cosines,
        },
        "lexical": connection.lexical or None,
        "map": {choice.role.value: _choice(choice) for choice in proposal.inference.choices},
        "position_kind": connection.mapping.position_kind.value,
        "first_position": connection.mapping.first_position,
        "fields": {field.name: [kind.value for kind in field.kinds] for field in connection.fields},
        "model": {
            "verdict": proposal.identity.verdict.value,
            "embedder": str(proposal.identity.embedder),
            "reason": proposal.identity.reason,
            **origins_json(proposal.identity.counts),
        },
        "documents_table": _join(proposal),
        "limits": list(proposal.limits),
        "doubts": list(proposal.doubts),
        "usable": proposal.usable,
    }


def _join(proposal: Proposal) -> Json | None:
    join = proposal.join
    if join is None:
        return None
    return {
        "name": join.name,
        "rows": join.rows,
        "sampled": join.sampled,
        "without_row": list(join.lacking),
    }


def origins_json(counts: OriginCounts | None) -> Json:
    """How many of the compared vectors our embedder made."""
    if counts is None:
        return {"compared": 0, "same": 0, "loose": 0, "strangers": 0, "share": None}
    low, high = counts.interval()
    return {
        "compared": counts.compared,
        "same": counts.same,
        "loose": counts.loose,
        "strangers": counts.foreign,
        "share": round(counts.share, _DIGITS),
        "share_low": round(low, _DIGITS),
        "share_high": round(high, _DIGITS),
        "lowest_cosine": round(counts.lowest, _DIGITS),
        "median_cosine": round(counts.median, _DIGITS),
        "highest_cosine": round(counts.highest, _DIGITS),
        "examples": [
            {"point": one.label, "cosine": round(one.cosine, _DIGITS)} for one in counts.examples
        ],
    }


def _choice(choice: RoleChoice) -> Json | None:
    """Null if no key fits the role."""
    if not choice.keys:
        return None
    return {
        "keys": list(choice.keys),
        "fit": round(choice.score, _DIGITS),
        "evidence": list(choice.evidence),
        "example": choice.example,
        "given": choice.given,
        "ambiguous": choice.ambiguous,
        "runners_up": [
            {"key": other.path, "fit": round(other.score, _DIGITS), "same": other.same}
            for other in choice.runners_up
        ],
    }
