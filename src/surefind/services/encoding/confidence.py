"""How much the best passage speaks for an answer being there at all.

A cosine means something else for every model and every collection, so each generation is
calibrated when it is built: sentences of its own stand for questions that it answers (measured on
two judged sets, their best similarities are distributed as those of real questions), everyday
questions for those that it does not, and a logistic curve is laid between the two. Where golden
tests have taught a threshold, it stands in the middle of the curve instead.
"""

import asyncio
import heapq
import math
import re
from collections.abc import Sequence
from statistics import fmean, pvariance

from surefind.model import Calibration, Confidence, Evidence, Threshold
from surefind.ports import Catalog, DenseQuery, Embedder, VectorIndex

SAMPLE = 64
_STRONG, _FAIR = 0.8, 0.5
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
    """None where there is nothing to judge by."""
    if best_similarity is None:
        return None
    if learned is not None:
        middle, slope = learned.similarity, learned.slope
    elif calibration is not None:
        middle, slope = calibration.middle, calibration.slope
    else:
        return None
    distance = slope * (best_similarity - middle)
    value = 1 / (1 + math.exp(-max(-50.0, min(50.0, distance))))
    evidence = Evidence.THIN if value < _FAIR else Evidence.FAIR
    evidence = Evidence.STRONG if value >= _STRONG else evidence
    return Confidence(value, evidence, middle, learned=learned is not None)


def still_fits(calibration: Calibration | Threshold | None, chunks: int) -> bool:
    """A collection that has hardly changed in size is not calibrated again."""
    if calibration is None:
        return False
    return abs(chunks - calibration.chunks) <= _STALE * calibration.chunks


async def calibrate(index: VectorIndex, catalog: Catalog, embedder: Embedder) -> Calibration | None:
    """None where the two kinds of questions can't be told apart by their best similarity."""
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
    # At the same time: a service that is asked so answers all of them in one call.
    vectors = await asyncio.gather(*(embedder.embed_query(question) for question in questions))
    queries = [DenseQuery(vector, 1) for vector in vectors]
    return [ranking.scores[0] for ranking in await index.search(queries) if ranking.scores]


async def _sentences(catalog: Catalog) -> list[str]:
    """One sentence from each of some chunks, the same ones for the same content."""
    sample: list[tuple[str, str]] = []
    async for record in catalog.chunks():
        sentence = _sentence(record.chunk.text, record.chunk.content_hash)
        if sentence:
            # The largest hashes are an even sample; the smallest of them leaves first.
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
