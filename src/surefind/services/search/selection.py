"""Selects hits from candidates: collapses duplicates, groups, and diversifies."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from surefind.model import ChunkRecord, Collapse, GroupBy, Hit, Query
from surefind.ports import Matrix
from surefind.services.search.ranking.fusion import Candidate

FetchRecords = Callable[[Sequence[Candidate]], Awaitable[Sequence[ChunkRecord]]]

_DIVERSE = 50
_NEAR = 0.8
_SAME_PAGE = 0.7
_SHINGLE = 3
_FAR = 0.05
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Chosen:
    """A candidate with its record and its duplicates."""

    candidate: Candidate
    record: ChunkRecord
    also: list[ChunkRecord] = field(default_factory=list)


async def choose(
    candidates: Iterable[Candidate], query: Query, fetch: FetchRecords
) -> list[Chosen]:
    """Select at most `top_k` candidates in order. Records are fetched as needed."""
    waiting = iter(candidates)
    if query.group_by is None and query.collapse is Collapse.OFF:
        first = list(islice(waiting, query.top_k))
        return [Chosen(*one) for one in zip(first, await fetch(first), strict=True)]
    chooser = _Chooser(query)
    batch = 2 * query.top_k
    while not chooser.full and (part := list(islice(waiting, batch))):
        for candidate, record in zip(part, await fetch(part), strict=True):
            chooser.offer(candidate, record)
        batch *= 2
    return chooser.chosen


class _Chooser:
    def __init__(self, query: Query) -> None:
        self.chosen: list[Chosen] = []
        self._query = query
        self._groups: Counter[tuple[str, ...]] = Counter()
        self._by_hash: dict[str, Chosen] = {}
        self._editions: set[tuple[str, str]] = set()
        self._shingles: dict[str, frozenset[str]] = {}

    @property
    def full(self) -> bool:
        return len(self.chosen) == self._query.top_k

    def offer(self, candidate: Candidate, record: ChunkRecord) -> None:
        same = self._same_as(candidate, record)
        if same is not None:
            self._fold(same, candidate, record)
            return
        if self.full or not self._has_room(candidate, record):
            return
        chosen = Chosen(candidate, record)
        self.chosen.append(chosen)
        self._by_hash.setdefault(record.chunk.content_hash, chosen)

    def _fold(self, kept: Chosen, candidate: Candidate, record: ChunkRecord) -> None:
        """Of identical texts, show the one with the shortest URL, usually the default version."""
        equal = kept.record.chunk.content_hash == record.chunk.content_hash
        shorter = equal and len(record.url) < len(kept.record.url)
        if shorter and self._has_room(candidate, record):
            self._groups[self._group(kept.candidate, kept.record)] -= 1
            kept.record, record = record, kept.record
        kept.also.append(record)

    def _has_room(self, candidate: Candidate, record: ChunkRecord) -> bool:
        """Whether the group of a record can take one more; if so, it has."""
        group = self._group(candidate, record)
        if self._query.group_by is not None and self._groups[group] >= self._query.group_size:
            return False
        self._groups[group] += 1
        return True

    def _group(self, candidate: Candidate, record: ChunkRecord) -> tuple[str, ...]:
        group = (candidate.collection, record.chunk.source_path)
        if self._query.group_by is GroupBy.SECTION:
            return (*group, *record.chunk.heading_path)
        return group

    def _same_as(self, candidate: Candidate, record: ChunkRecord) -> Chosen | None:
        if self._query.collapse is Collapse.OFF:
            return None
        self._editions.add((record.version, record.locale))
        if self._query.collapse is Collapse.SAME and len(self._editions) == 1:
            return self._by_hash.get(
                record.chunk.content_hash
            )  # no other versions that could be duplicates
        for kept in self.chosen:
            if self._counts_as(kept, candidate, record):
                return kept
        return None

    def _counts_as(self, kept: Chosen, candidate: Candidate, record: ChunkRecord) -> bool:
        if kept.record.chunk.content_hash == record.chunk.content_hash:
            return True
        versions = (kept.record.version, kept.record.locale) != (record.version, record.locale)
        if self._query.collapse is Collapse.SAME and not versions:
            return False
        if _far(kept.candidate, candidate):
            return False
        least = _SAME_PAGE if versions else _NEAR
        return self._alike(kept.record, record) >= least

    def _alike(self, one: ChunkRecord, other: ChunkRecord) -> float:
        """The share of three-word shingles in common."""
        return _shared(self._shingles_of(one), self._shingles_of(other))

    def _shingles_of(self, record: ChunkRecord) -> frozenset[str]:
        text = record.chunk.text
        shingles = self._shingles.get(text)
        if shingles is None:
            shingles = self._shingles[text] = _word_shingles(text)
        return shingles


def near_copy(wanted: ChunkRecord, hits: Iterable[Hit]) -> Hit | None:
    """The first near-duplicate among the hits, as defined by `Collapse.NEAR`."""
    shingles = _word_shingles(wanted.chunk.text)
    for hit in hits:
        shown = hit.record.chunk
        same = shown.content_hash == wanted.chunk.content_hash
        if same or _shared(_word_shingles(shown.text), shingles) >= _NEAR:
            return hit
    return None


def _word_shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    last = max(1, len(words) - _SHINGLE + 1)
    return frozenset(" ".join(words[at : at + _SHINGLE]) for at in range(last))


def _shared(ours: frozenset[str], theirs: frozenset[str]) -> float:
    union = len(ours | theirs)
    return len(ours & theirs) / union if union else 0.0


def _far(one: Candidate, other: Candidate) -> bool:
    """Similar texts have similar cosines, so this skips most comparisons."""
    cosine, other_cosine = one.similarity, other.similarity
    if cosine is None or other_cosine is None:
        return False
    return abs(cosine - other_cosine) > _FAR


# --- diversity --------------------------------------------------------------------------------


async def diversified(
    candidates: Iterable[Candidate],
    query: Query,
    vectors: Callable[[Sequence[Candidate]], Awaitable[Matrix]],
) -> Iterator[Candidate]:
    """Maximal marginal relevance over the first fifty or so; the score becomes the marginal one.

    Each pick only lowers the others' scores, so they never increase.
    """
    waiting = iter(candidates)
    pool = list(islice(waiting, max(_DIVERSE, 2 * query.top_k)))
    picked = _picked(pool, await vectors(pool), query.diversity) if pool else []
    last = picked[-1].score if picked else 0.0
    rest = (replace(late, score=min(last, late.score)) for late in waiting)
    return iter([*picked, *rest])


def _picked(pool: Sequence[Candidate], vectors: Matrix, diversity: float) -> list[Candidate]:
    relevance = np.array([candidate.score for candidate in pool])
    similarity = np.clip(vectors @ vectors.T, 0.0, 1.0)
    nearest = np.zeros(len(pool))
    free = np.ones(len(pool), dtype=bool)
    picked: list[Candidate] = []
    for _ in pool:
        marginal = (1 - diversity) * relevance + diversity * (1 - nearest)
        best = int(np.argmax(np.where(free, marginal, -1.0)))
        picked.append(replace(pool[best], score=float(marginal[best])))
        free[best] = False
        nearest = np.maximum(nearest, similarity[best])
    return picked
