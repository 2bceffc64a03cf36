"""Is it our model's work? Stored texts are embedded and laid beside the stored vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from surefind.mapping.records import text_in
from surefind.model import EmbedderFingerprint, PayloadMapping, VectorSpace
from surefind.ports import Embedder, ForeignPoint, Matrix

COMPARED = 24
SAME_MEDIAN = 0.97
OTHER_MEDIAN = 0.5
_RECOGNISED = 0.5
_SHORTEST, _LONGEST = 20, 4000

# For the message about a wrong size: what people mostly have.
_MODELS_BY_SIZE = {
    256: "embed-v4.0 shortened, text-embedding-3-* shortened",
    384: "bge-small-en-v1.5 (embedder local), all-MiniLM-L6-v2, e5-small, embed-english-light-v3.0",
    512: "voyage-3-lite, jina-embeddings-v2-small, text-embedding-3-* shortened",
    768: "bge-base, all-mpnet-base-v2, nomic-embed-text, e5-base, text-embedding-004",
    1024: "Cohere's embed-english-v3.0 and embed-multilingual-v3.0, bge-m3, mxbai-embed-large",
    1536: "text-embedding-3-small, text-embedding-ada-002, Cohere's embed-v4.0",
    3072: "text-embedding-3-large, gemini-embedding-001",
    4096: "e5-mistral-7b, qwen3-embedding-8b",
}


class Verdict(StrEnum):
    SAME = "same"
    DOUBTFUL = "doubtful"
    OTHER = "other"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Identity:
    """What the comparison says. `cosines` rise; `recognised` is the share of texts whose own vector
    is the nearest of all that were compared.
    """

    verdict: Verdict
    embedder: EmbedderFingerprint
    reason: str
    cosines: tuple[float, ...] = ()
    recognised: float = 0.0

    @property
    def median(self) -> float | None:
        return float(np.median(self.cosines)) if self.cosines else None


async def identify(
    points: Sequence[ForeignPoint],
    mapping: PayloadMapping,
    space: VectorSpace,
    embedder: Embedder,
) -> Identity:
    """The points must have been fetched with the space's vectors."""
    made_by = embedder.fingerprint
    if made_by.dimensions != space.dimensions:
        return Identity(Verdict.OTHER, made_by, _wrong_size(space, made_by))
    pairs = _pairs(points, mapping)
    if not pairs:
        reason = "no stored text has a vector beside it, so nobody can tell which model made them"
        return Identity(Verdict.UNTESTED, made_by, reason)
    ours = await embedder.embed_passages([text for text, _ in pairs])
    theirs = np.stack([point.vector for _, point in pairs if point.vector is not None])
    return _judged(ours, _units(theirs), made_by)


def _pairs(
    points: Sequence[ForeignPoint], mapping: PayloadMapping
) -> list[tuple[str, ForeignPoint]]:
    """Different texts of a fair length, from all over the sample."""
    usable: dict[str, ForeignPoint] = {}
    for point in points:
        text = text_in(point.payload, mapping)
        vector = point.vector
        if vector is None or not np.isfinite(vector).all() or not vector.any():
            continue
        if _SHORTEST <= len(text) <= _LONGEST:
            usable.setdefault(text, point)
    pairs = list(usable.items())
    step = max(1, len(pairs) // COMPARED)
    return pairs[::step][:COMPARED]


def _judged(ours: Matrix, theirs: Matrix, made_by: EmbedderFingerprint) -> Identity:
    likeness = ours @ theirs.T
    cosines = np.sort(np.diagonal(likeness))
    median = float(np.median(cosines))
    # What all texts share, a prefix for one, draws all of them to the same vectors: it is left out.
    own = likeness - likeness.mean(axis=0)
    recognised = float(np.mean(own.max(axis=1) - np.diagonal(own) < 1e-4))
    told = tuple(float(cosine) for cosine in cosines)
    numbers = (
        f"{len(told)} stored texts embedded by {made_by.provider}/{made_by.model} have a median "
        f"cosine of {median:.3f} with their stored vectors ({told[0]:.3f} to {told[-1]:.3f})"
    )
    alone = len(told) == 1
    if median >= SAME_MEDIAN:
        return Identity(Verdict.SAME, made_by, numbers, told, recognised)
    if median < OTHER_MEDIAN or (recognised < _RECOGNISED and not alone):
        reason = (
            f"{numbers}: another model of the same size made them; set embedder and embed_model "
            "to the one that did"
        )
        return Identity(Verdict.OTHER, made_by, reason, told, recognised)
    reason = (
        f"{numbers}, and {recognised:.0%} find their own vector: the model seems right, but it "
        "has read something else than the text alone (a title or context before it, a prefix, "
        "a cut, or another key)"
    )
    return Identity(Verdict.DOUBTFUL, made_by, reason, told, recognised)


def _wrong_size(space: VectorSpace, made_by: EmbedderFingerprint) -> str:
    known = _MODELS_BY_SIZE.get(space.dimensions)
    likely = f"; models of that size are {known}" if known else ""
    return (
        f"the stored vectors have {space.dimensions} dimensions, those of "
        f"{made_by.provider}/{made_by.model} have {made_by.dimensions}{likely}; set embedder and "
        "embed_model to the one that made them"
    )


def _units(rows: Matrix) -> Matrix:
    """By way of 64 bits: an element may be large enough to overflow when it is squared."""
    wide = rows.astype(np.float64)
    units: Matrix = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    return units
