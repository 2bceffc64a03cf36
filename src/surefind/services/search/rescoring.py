"""Adjusts the fused scores of hybrid search by what the records of the candidates show.

- A passage whose section has exactly the words of the query as its heading is nearly always the
  answer. Its score is raised most of the way to 1.
- Release notes, blog posts and other special pages mention every feature, so they match most
  queries, and are rarely the answer. Their scores are multiplied by the weight of their kind,
  unless the query names the kind, as in "what changed in the last release".

Only the candidates of the first batch are adjusted, so a larger `top_k` still only appends.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from surefind.model import AnyOf, ChunkRecord, Condition, Field, KindWeights, Mode, PageKind, Query
from surefind.services.search.fusion import Candidate

KIND = "kind"

DEFAULT_KIND_WEIGHTS: KindWeights = {
    PageKind.CHANGELOG: 0.7,
    PageKind.BLOG: 0.7,
    PageKind.UPGRADE: 0.7,
    PageKind.INDEX: 0.7,
    PageKind.TEST: 0.7,
}
"""On graded questions about real documentation, .6 and .7 are equally good and better than .8."""

EXACT_HEADING = 0.9
"""How much of the distance to 1 an exact heading gains. Every heading of surefind's own
documentation then finds its section among the first three; the judged sets are unaffected."""

_NAMED_BY = {
    PageKind.CHANGELOG: r"change ?logs?|changed|releases?|released|release notes|what.?s new|news",
    PageKind.BLOG: r"blogs?|posts?|announce\w*|news",
    PageKind.UPGRADE: r"upgrad\w+|migrat\w+|breaking",
    PageKind.INDEX: r"index|contents|overview|list",
    PageKind.TEST: r"tests?",
}
_NAMES = {kind: re.compile(rf"\b(?:{names})\b", re.IGNORECASE) for kind, names in _NAMED_BY.items()}
_VERSION = re.compile(r"\bv?\d+\.\d+|\bv\d+\b", re.IGNORECASE)
_VERSIONED = frozenset({PageKind.CHANGELOG, PageKind.BLOG, PageKind.UPGRADE})
_WORD = re.compile(r"\w+")
_SHORTEST_PLURAL = 4


@dataclass(frozen=True, slots=True)
class Rescoring:
    """The adjustments for one query. `weights` has the kinds whose weight is not 1."""

    heading: frozenset[str]
    weights: Mapping[str, float]

    def score(self, score: float, record: ChunkRecord) -> float:
        if self.is_heading_of(record):
            score += EXACT_HEADING * (1 - score)
        return score * self.weight(record)

    def is_heading_of(self, record: ChunkRecord) -> bool:
        return bool(self.heading) and _words(record.section) == self.heading

    def weight(self, record: ChunkRecord) -> float:
        """A kind with a weight above 1 keeps its score, and everything else is lowered instead."""
        if not self.weights:
            return 1.0
        kind = record.attributes.get(KIND)
        weight = self.weights.get(kind, 1.0) if isinstance(kind, str) else 1.0
        return weight / max(1.0, *self.weights.values())

    async def apply(
        self,
        candidates: Iterable[Candidate],
        fetch: Callable[[Sequence[Candidate]], Awaitable[Sequence[ChunkRecord]]],
    ) -> Iterator[Candidate]:
        """The candidates in the order of their adjusted scores."""
        first: list[Candidate] = []
        rest: list[Candidate] = []
        for candidate in candidates:
            (rest if candidate.row in candidate.pool.later else first).append(candidate)
        adjusted = []
        for candidate, record in zip(first, await fetch(first), strict=True):
            score = self.score(candidate.score, record)
            if score != candidate.score:
                candidate = replace(  # noqa: PLW2901 - the adjusted one takes its place
                    candidate,
                    score=score,
                    weight=self.weight(record),
                    exact_heading=self.is_heading_of(record),
                )
            adjusted.append(candidate)
        adjusted.sort(key=lambda candidate: -candidate.score)
        last = adjusted[-1].score if adjusted else 1.0
        return chain(adjusted, (replace(late, score=min(last, late.score)) for late in rest))


def rescoring_for(query: Query, weights: KindWeights) -> Rescoring | None:
    """None in dense and lexical mode, which rank by their own scores alone."""
    if query.mode is not Mode.HYBRID:
        return None
    return Rescoring(_words(query.text), _weights_for(query, weights))


def without_excluded(
    where: tuple[Condition, ...], rescoring: Rescoring | None, fields: Iterable[Field]
) -> tuple[Condition, ...]:
    """The conditions, and one more if kinds have a weight of 0 and the collection has kinds."""
    weights = rescoring.weights if rescoring is not None else {}
    excluded = tuple(kind for kind, weight in weights.items() if not weight)
    if not excluded or all(field.name != KIND for field in fields):
        return where
    return (*where, AnyOf(KIND, excluded, exclude=True))


def _weights_for(query: Query, weights: KindWeights) -> dict[str, float]:
    """The weights of the kinds that the query does not name and does not filter by."""
    if any(condition.key == KIND for condition in query.where):
        return {}
    versioned = _VERSION.search(query.text) is not None
    return {
        kind: weight
        for kind, weight in weights.items()
        if weight != 1.0 and not _names(kind, query.text) and not (versioned and kind in _VERSIONED)
    }


def _names(kind: str, text: str) -> bool:
    return kind in _NAMES and _NAMES[PageKind(kind)].search(text) is not None


def _words(text: str) -> frozenset[str]:
    """The words without their case and without a plural s."""
    return frozenset(
        word[:-1] if len(word) >= _SHORTEST_PLURAL and word[-1] == "s" != word[-2] else word
        for word in _WORD.findall(text.casefold())
    )
