"""Identifies the model that made a collection's vectors by re-embedding a sample of its texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefind.mapping.records import text_in
from surefind.model import (
    CollectionFacts,
    EmbedderFingerprint,
    PayloadMapping,
    VectorSpace,
    point_label,
)
from surefind.ports import Embedder, ForeignPoint
from surefind.services.connected.vector_origin import (
    CountProgress,
    OriginCounts,
    Pair,
    compare,
    is_comparable,
    sample_size,
)

COMPARED = sample_size(share=0.02, certainty=0.95)
"""Enough texts to find a second model with 95 % certainty if it made 2 % of the vectors."""

_MOST_FOREIGN, _MOST_WITHOUT_SAME = 0.8, 0.6
SAME_SHARE = 0.9

# Common models, suggested when the size of the vectors is wrong.
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


class ModelVerdict(StrEnum):
    SAME = "same"
    DOUBTFUL = "doubtful"
    MIXED = "mixed"
    OTHER = "other"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Identity:
    """`counts` is None if nothing could be compared."""

    verdict: ModelVerdict
    embedder: EmbedderFingerprint
    reason: str
    counts: OriginCounts | None = None


async def identify(
    points: Sequence[ForeignPoint],
    mapping: PayloadMapping,
    space: VectorSpace,
    embedder: Embedder,
    facts: CollectionFacts,
    progress: CountProgress | None = None,
) -> Identity:
    """Compare the points, which must include the vectors of `space`, with their texts."""
    made_by = embedder.fingerprint
    if made_by.dimensions != space.dimensions:
        return Identity(ModelVerdict.OTHER, made_by, _wrong_size(space, made_by))
    pairs = _pairs(points, mapping)
    if not pairs:
        reason = "no point has both a text and a vector, so the model could not be checked"
        return Identity(ModelVerdict.UNTESTED, made_by, reason)
    complete = len(pairs) == facts.points
    counts = await compare(pairs, embedder, complete=complete, progress=progress)
    verdict = verdict_on(counts)
    return Identity(verdict, made_by, _reason(verdict, counts, made_by), counts)


def _pairs(points: Sequence[ForeignPoint], mapping: PayloadMapping) -> list[Pair]:
    """Distinct texts, evenly spread over the sample."""
    usable: dict[str, Pair] = {}
    for point in points:
        text = text_in(point.payload, mapping)
        if point.vector is not None and is_comparable(text, point.vector):
            usable.setdefault(text, Pair(point_label(point.id), text, point.vector))
    pairs = list(usable.values())
    if len(pairs) <= COMPARED:
        return pairs
    return [pairs[len(pairs) * number // COMPARED] for number in range(COMPARED)]


def verdict_on(counts: OriginCounts) -> ModelVerdict:
    # In a narrow collection, some foreign vectors look loose by chance, but none looks the same.
    most = _MOST_FOREIGN if counts.same else _MOST_WITHOUT_SAME
    if counts.share > most:
        return ModelVerdict.OTHER
    if counts.foreign and counts.conclusive:
        return ModelVerdict.MIXED
    if counts.same >= SAME_SHARE * counts.compared:
        return ModelVerdict.SAME
    return ModelVerdict.DOUBTFUL


def _reason(verdict: ModelVerdict, counts: OriginCounts, made_by: EmbedderFingerprint) -> str:
    model = f"{made_by.provider}/{made_by.model}"
    spread = f"cosine {counts.lowest:.3f} to {counts.highest:.3f}, median {counts.median:.3f}"
    if verdict is ModelVerdict.OTHER:
        return (
            f"{counts.foreign} of {counts.compared} vectors were not made from their text by "
            f"{model} ({spread}): another model of the same size made them, or they belong to "
            "other texts; set embedder and embed_model to the model that made them"
        )
    if verdict is ModelVerdict.MIXED:
        return (
            f"{counts.foreign} {share_in_words(counts)} were not made from their text by "
            f"{model} ({spread}): another model made them, or they belong to other texts. "
            "Searches miss these passages or return them for the wrong questions; embed them again"
        )
    if verdict is ModelVerdict.SAME:
        roughly = f"; {counts.loose} of them only roughly" if counts.loose else ""
        return (
            f"{counts.compared} stored texts, embedded again with {model}, match their vectors "
            f"({spread}){roughly}"
        )
    return (
        f"of {counts.compared} stored texts, embedded again with {model}, {counts.same} match "
        f"their vectors and {counts.loose + counts.foreign} only roughly ({spread}): this is "
        "probably the right model, but it embedded more or less than the stored text, such as a "
        "title before it, a prefix, only its beginning, or another key"
    )


def share_in_words(counts: OriginCounts) -> str:
    """What follows the count: `of 150 vectors (9 %; of all vectors probably 5 % to 15 %)`."""
    share = f"of {counts.compared} vectors ({percent(counts.share)}"
    if counts.complete:
        return f"{share})"
    low, high = counts.interval()
    return f"{share}; of all vectors probably {percent(low)} to {percent(high)})"


def percent(share: float) -> str:
    hundredths = share * 100
    return f"{hundredths:.0f} %" if hundredths >= 10 else f"{hundredths:.2g} %"


def _wrong_size(space: VectorSpace, made_by: EmbedderFingerprint) -> str:
    known = _MODELS_BY_SIZE.get(space.dimensions)
    suggestion = f" (models of that size: {known})" if known else ""
    return (
        f"the stored vectors have {space.dimensions} dimensions, those of "
        f"{made_by.provider}/{made_by.model} have {made_by.dimensions}; set embedder and "
        f"embed_model to the model that made them{suggestion}"
    )
