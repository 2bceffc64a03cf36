"""Estimates whether a collection contains an answer, from the best similarity.

Cosines are not comparable across models and collections, so each generation is calibrated when it
is built. Its own sentences represent questions that it answers; on two judged sets, their best
similarities are distributed like those of real questions. Everyday questions represent those that
it doesn't answer. A logistic curve separates the two. If golden tests provide a threshold, that is
the middle of the curve instead.
"""

import asyncio
import heapq
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, pvariance

from surefind.model import Calibration, Confidence, Evidence, Threshold
from surefind.ports import Catalog, DenseQuery, Embedder, VectorIndex

SAMPLE = 64
_STRONG, _FAIR = 0.8, 0.5
_BELOW_STRONG = 0.79
_LEAST = 1e-9
_SHORTEST, _LONGEST = 20, 200
_STALE = 0.2
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

UNRELATED = (
    "how do I bake sourdough bread at home",
    "best exercises for lower back pain",
    "who won the football world cup in 1998",
    "how much does a night train to Vienna cost",
    "symptoms of vitamin D deficiency",
    "how to teach a puppy not to bite",
    "what time does the supermarket close on Sunday",
    "growing tomatoes on a balcony",
    "how late can I file an income tax return",
    "who is the murderer in the novel",
    "how long should I boil an egg",
    "which paint is best for a bathroom ceiling",
    "how to remove red wine stains from a carpet",
    "average house price near the beach",
    "what do llamas eat",
    "when is the next lunar eclipse",
    "how to change a bicycle tyre",
    "learn guitar chords quickly",
    "why do cats purr",
    "what should I wear to a winter wedding",
    "how to ask for a higher salary",
    "why did the Roman empire fall",
    "vegetarian lasagne recipe",
    "fix a dripping kitchen tap",
    "which wine goes with salmon",
    "rent a car without a credit card",
    "how deep is the ocean",
    "sore throat home remedies",
    "what is the offside rule",
    "do I need a visa for Japan",
    "how to fold a fitted sheet",
    "songs for a birthday party",
)


def judge(
    calibration: Calibration | None,
    best_similarity: float | None,
    learned: Threshold | None = None,
) -> Confidence | None:
    """The confidence, or None without a similarity or calibration."""
    if best_similarity is None:
        return None
    if learned is not None:
        middle, slope = learned.similarity, learned.slope
    elif calibration is not None:
        middle, slope = calibration.middle, calibration.slope
    else:
        return None
    value = _logistic(slope * (best_similarity - middle))
    return Confidence(value, _evidence(value), middle, learned=learned is not None)


def shifted(confidence: Confidence, log_odds: float) -> Confidence:
    """The confidence with more or less evidence, as a shift of the logarithm of its odds."""
    value = min(max(confidence.value, _LEAST), 1 - _LEAST)
    value = _logistic(math.log(value / (1 - value)) + log_odds)
    return replace(confidence, value=value, evidence=_evidence(value))


def at_most_fair(confidence: Confidence) -> Confidence:
    """The confidence if words of the question were replaced by guesses."""
    value = min(confidence.value, _BELOW_STRONG)
    return replace(confidence, value=value, evidence=_evidence(value))


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, log_odds))))


def _evidence(value: float) -> Evidence:
    if value >= _STRONG:
        return Evidence.STRONG
    return Evidence.FAIR if value >= _FAIR else Evidence.THIN


def still_fits(calibration: Calibration | Threshold | None, chunks: int) -> bool:
    """Whether the collection has nearly the same size, so that the calibration still applies."""
    if calibration is None:
        return False
    return abs(chunks - calibration.chunks) <= _STALE * calibration.chunks


async def calibrate(index: VectorIndex, catalog: Catalog, embedder: Embedder) -> Calibration | None:
    """Calibrate, or return None if the best similarity can't separate the two kinds."""
    sentences = await _sentences(catalog)
    if len(sentences) < 2:
        return None
    answered = await _best(sentences, index, embedder)
    unanswered = await _best(UNRELATED, index, embedder)
    gap = fmean(answered) - fmean(unanswered)
    variance = (pvariance(answered) + pvariance(unanswered)) / 2
    if gap <= 0 or variance <= 0:
        return None
    return Calibration(
        slope=gap / variance,
        middle=(fmean(answered) + fmean(unanswered)) / 2,
        answered=len(answered),
        answered_mean=fmean(answered),
        unanswered=len(unanswered),
        unanswered_mean=fmean(unanswered),
        chunks=await catalog.count(),
    )


async def _best(questions: Sequence[str], index: VectorIndex, embedder: Embedder) -> list[float]:
    # Concurrent calls let a remote embedder batch them into one request.
    vectors = await asyncio.gather(*(embedder.embed_query(question) for question in questions))
    queries = [DenseQuery(vector, 1) for vector in vectors]
    return [ranking.scores[0] for ranking in await index.search(queries) if ranking.scores]


async def _sentences(catalog: Catalog) -> list[str]:
    """A reproducible sample of sentences, at most one per chunk."""
    sample: list[tuple[str, str]] = []
    async for record in catalog.chunks():
        sentence = _sentence(record.chunk.text, record.chunk.content_hash)
        if sentence:
            # Keeping the largest hashes gives an even sample.
            entry = (record.chunk.content_hash, sentence)
            (heapq.heappush if len(sample) < SAMPLE else heapq.heappushpop)(sample, entry)
    return [sentence for _, sentence in sorted(sample)]


def _sentence(text: str, chance: str) -> str:
    sentences = [
        sentence.strip()[:_LONGEST]
        for sentence in _SENTENCE.split(text)
        if len(sentence.strip()) >= _SHORTEST and not sentence.startswith("#")
    ]
    return sentences[int(chance[:8], 16) % len(sentences)] if sentences else ""
