"""Ranks release notes, blog posts and other special pages lower than documentation.

They mention every feature, so they match most queries, and are rarely the answer. In hybrid search
the fused score of such a page is multiplied by the weight of its kind. A query that names the kind,
such as "what changed in the last release", is ranked without it.

Only the candidates of the first look are weighed, so a larger `top_k` still only appends.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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


def weights_for(query: Query, weights: KindWeights) -> dict[str, float]:
    """The weights that apply to a query: only in hybrid mode, and not for a kind that it names."""
    if query.mode is not Mode.HYBRID or any(c.key == KIND for c in query.where):
        return {}
    versioned = _VERSION.search(query.text) is not None
    return {
        kind: weight
        for kind, weight in weights.items()
        if weight != 1.0 and not _names(kind, query.text) and not (versioned and kind in _VERSIONED)
    }


def _names(kind: str, text: str) -> bool:
    return kind in _NAMES and _NAMES[PageKind(kind)].search(text) is not None


def weight_of(record: ChunkRecord, weights: Mapping[str, float]) -> float:
    """A kind with a weight above 1 keeps its score, and everything else is lowered instead."""
    kind = record.attributes.get(KIND)
    weight = weights.get(kind, 1.0) if isinstance(kind, str) else 1.0
    return weight / max(1.0, *weights.values())


async def weighed(
    candidates: Iterable[Candidate],
    weights: Mapping[str, float],
    fetch: Callable[[Sequence[Candidate]], Awaitable[Sequence[ChunkRecord]]],
) -> Iterator[Candidate]:
    """The candidates in the order of their weighed scores."""
    first: list[Candidate] = []
    rest: list[Candidate] = []
    for candidate in candidates:
        (rest if candidate.row in candidate.pool.later else first).append(candidate)
    records = await fetch(first)
    kept = [
        replace(candidate, score=candidate.score * weight, weight=weight)
        for candidate, record in zip(first, records, strict=True)
        for weight in [weight_of(record, weights)]
    ]
    kept.sort(key=lambda candidate: -candidate.score)
    last = kept[-1].score if kept else 1.0
    return chain(kept, (replace(late, score=min(last, late.score)) for late in rest))


def without_excluded(
    where: tuple[Condition, ...], weights: Mapping[str, float], fields: Iterable[Field]
) -> tuple[Condition, ...]:
    """The conditions, and one more if kinds have a weight of 0 and the collection has kinds."""
    excluded = tuple(kind for kind, weight in weights.items() if not weight)
    if not excluded or all(field.name != KIND for field in fields):
        return where
    return (*where, AnyOf(KIND, excluded, exclude=True))
