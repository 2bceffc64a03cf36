"""Which questions look answered, although no page answers them?

Without a page on its subject, a question still finds passages on similar subjects, so its
confidence is high. Its best passages differ in other ways: they come from many pages, hardly any
is more similar than the rest, and none has all of its words. How much each of these matters is
learned from the collection: questions made from its links and headings are searched with the page
that answers them, and without it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.model import AnyOf, Condition, Hit, Mode, Query, SearchResult
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.search.filters import read_expressions
from surefind.services.search.search import Searcher

FEWEST_TESTS = 30
FALSE_ALARMS = 0.05
"""At most this share of the collection's own questions look unanswered, with their page there."""
_DEPTH = 10
_READ = 5
_LINK_TEXT = re.compile(r"(?<!!)\[[^\[\]\n]+\]\([^()\s]+(?: [^()\n]*)?\)")
_PENALTY = 1.0
_ITERATIONS = 25
_LARGEST = 30.0
Numbers = NDArray[np.float64]


class MissingAnswers:
    """Learned from a collection; says which questions look as if their page did not exist."""

    def __init__(self, searcher: Searcher, encoder: Bm25Encoder, collection: str) -> None:
        self._searcher = searcher
        self._encoder = encoder
        self._collection = collection
        self._model: _Model | None = None
        self._threshold = 0.0

    async def learn(self, tests: Sequence[GoldenTest]) -> bool:
        """Learn from tests that expect a page. False if there are too few of them."""
        answered, unanswered = [], []
        for test in tests:
            pages = [one.source_path for one in test.expected if isinstance(one, BySource)]
            if not pages:
                continue
            where = read_expressions(test.where)
            answered.append(await self._evidence(test.query_text, where))
            without = AnyOf("source_path", tuple(pages), exclude=True)
            unanswered.append(await self._evidence(test.query_text, (*where, without)))
        if len(answered) < FEWEST_TESTS:
            return False
        self._model = _fitted(np.array(answered), np.array(unanswered))
        scores = self._model.scores(np.array(answered))
        # Above 0, no answer is more likely than one.
        self._threshold = max(0.0, float(np.quantile(scores, 1 - FALSE_ALARMS)))
        return True

    async def looks_unanswered(self, question: str) -> bool:
        assert self._model is not None
        evidence = np.array([await self._evidence(question, ())])
        return float(self._model.scores(evidence)[0]) > self._threshold

    async def _evidence(self, text: str, where: tuple[Condition, ...]) -> tuple[float, ...]:
        query = Query(
            text, top_k=_DEPTH, mode=Mode.HYBRID, collection=self._collection, where=where
        )
        return _evidence(await self._searcher.search(query), self._encoder)


def _evidence(result: SearchResult, encoder: Bm25Encoder) -> tuple[float, ...]:
    """What the best passages look like; higher numbers speak for an answer."""
    hits = result.hits
    if not hits:
        return (0.0,) * 5
    similarities = sorted((hit.similarity or 0.0 for hit in hits), reverse=True)
    pages = Counter(hit.record.chunk.source_path for hit in hits)
    lexical = max(hit.lexical.score if hit.lexical else 0.0 for hit in hits)
    words = max(1, len(encoder.words(result.query.text, hits[0].record.language)))
    return (
        similarities[0],
        similarities[0] - similarities[-1],
        max(pages.values()) / len(hits),
        lexical / words,
        max(_covered(hit, result.query.text, encoder) for hit in hits[:_READ]),
    )


def _covered(hit: Hit, question: str, encoder: Bm25Encoder) -> float:
    """The share of the question's words in a passage. The text of a link belongs to its target."""
    language = hit.record.language
    words = encoder.words(question, language)
    passage = encoder.words(_LINK_TEXT.sub(" ", hit.record.chunk.passage), language)
    return len(words & passage) / len(words) if words else 0.0


@dataclass(frozen=True)
class _Model:
    """A logistic regression; higher scores speak against an answer."""

    mean: Numbers
    deviation: Numbers
    weights: Numbers

    def scores(self, evidence: Numbers) -> Numbers:
        scores: Numbers = _with_constant((evidence - self.mean) / self.deviation) @ self.weights
        return scores


def _fitted(answered: Numbers, unanswered: Numbers) -> _Model:
    """Newton's method, with a penalty that keeps the weights finite if a line separates both."""
    evidence = np.vstack([answered, unanswered])
    wanted = np.concatenate([np.zeros(len(answered)), np.ones(len(unanswered))])
    mean, deviation = evidence.mean(0), evidence.std(0) + 1e-9
    rows = _with_constant((evidence - mean) / deviation)
    penalty = np.full(rows.shape[1], _PENALTY)
    weights = np.zeros(rows.shape[1])
    for _ in range(_ITERATIONS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -_LARGEST, _LARGEST)))
        slope = rows.T @ (chance - wanted) + penalty * weights
        curvature = (rows.T * (chance * (1 - chance))) @ rows + np.diag(penalty)
        weights = weights - np.linalg.solve(curvature, slope)
    return _Model(mean, deviation, weights)


def _with_constant(rows: Numbers) -> Numbers:
    return np.hstack([np.ones((len(rows), 1)), rows])
