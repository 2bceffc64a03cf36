"""What `connect --json` prints."""

from typing import Any

from surefind.mapping.inference import Choice
from surefind.services.connect import Proposal

Json = dict[str, Any]
_DIGITS = 4


def proposal_json(proposal: Proposal) -> Json:
    connection, identity, facts = proposal.connection, proposal.identity, proposal.facts
    median = identity.median
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
            "verdict": identity.verdict.value,
            "embedder": str(identity.embedder),
            "compared": len(identity.cosines),
            "median_cosine": None if median is None else round(median, _DIGITS),
            "cosines": [round(cosine, _DIGITS) for cosine in identity.cosines],
            "reason": identity.reason,
        },
        "limits": list(proposal.limits),
        "doubts": list(proposal.doubts),
        "usable": proposal.usable,
    }


def _choice(choice: Choice) -> Json | None:
    """Null where nothing looks like the role."""
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
