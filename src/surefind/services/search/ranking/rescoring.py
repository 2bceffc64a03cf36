"""Adjusts the fused scores of hybrid search by what the records of the candidates show.

- A passage whose section has exactly the words of the query as its heading is nearly always the
  answer. Its score is raised most of the way to 1.
- Release notes, blog posts and other special pages mention every feature, so they match most
  queries, and are rarely the answer. Their scores are multiplied by the weight of their kind,
  unless the query names the kind, as in "what changed in the last release".
- If results are grouped by page, the page counts as well, see `page_support`.

Only the candidates of the first batch are adjusted, so a larger `top_k` still only appends.
"""

import re
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from sys import intern
from weakref import WeakKeyDictionary

from surefind.model import (
    DEFAULT_LANGUAGE,
    LANGUAGE_NAMES,
    AnyOf,
    ChunkRecord,
    Condition,
    Field,
    GroupBy,
    KindWeights,
    Mode,
    PageKind,
    Query,
)
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.ranking.fusion import Candidate, Pool
from surefind.services.search.ranking.page_support import (
    PageKey,
    PageSupport,
    names_of,
    page_support,
)

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


Words = Callable[[str, str], Collection[int]]
"""The terms of a text in a language, without stop words."""


@dataclass(slots=True)
class Traits:
    """By point: the words of its section, see `heading_words`, its page, and its kind, if it has
    one. By page: the words of its title and address. `headings` are the words of all sections.
    """

    sections: dict[int, str] = field(default_factory=dict)
    headings: set[str] = field(default_factory=set)
    kinds: dict[int, str] = field(default_factory=dict)
    pages: dict[int, str] = field(default_factory=dict)
    names: dict[str, Collection[int]] = field(default_factory=dict)

    def learn(self, points: Iterable[int], records: Iterable[ChunkRecord], words: Words) -> None:
        for point, record in zip(points, records, strict=True):
            heading = self.sections[point] = intern(heading_words(record.section))
            self.headings.add(heading)
            page = self.pages[point] = intern(record.chunk.source_path)
            if page not in self.names:
                self.names[page] = frozenset(
                    words(names_of(record.title, record.url), record.language)
                )
            kind = record.attributes.get(KIND)
            if isinstance(kind, str):
                self.kinds[point] = intern(str(kind))

    def part(self, points: Iterable[int]) -> "Traits":
        known = [point for point in points if point in self.sections]
        pages = {point: self.pages[point] for point in known}
        sections = {point: self.sections[point] for point in known}
        return Traits(
            sections,
            set(sections.values()),
            {point: self.kinds[point] for point in known if point in self.kinds},
            pages,
            {page: self.names[page] for page in pages.values()},
        )


class TraitsCache:
    """The traits of passages that searches have ranked, by generation.

    A search ranks some eighty candidates and returns five. Traits are smaller than records, so
    more are kept. Connected collections may change, so theirs are read again for each search.
    """

    def __init__(self, words: Words, most: int = 100_000) -> None:
        self._words = words
        self._most = most  # about 25 MB
        self._kept: WeakKeyDictionary[OpenGeneration, Traits] = WeakKeyDictionary()

    async def read(self, generation: OpenGeneration, points: Sequence[int]) -> tuple[Traits, bool]:
        """The traits of these points and maybe more, and whether all came from the catalog."""
        traits = self._kept.get(generation) or Traits()
        if all(map(traits.sections.__contains__, points)):
            return traits, True
        missing = [point for point in points if point not in traits.sections]
        records, whole = await generation.numbered(missing)
        keep = whole and generation.manifest.connected is None
        if not keep or len(traits.sections) + len(missing) > self._most:
            traits = traits.part(points)  # a copy, because other searches use the original
        traits.learn(missing, records, self._words)
        if keep:
            self._kept[generation] = traits
        return traits, whole


ReadTraits = Callable[[str, Sequence[int]], Awaitable[Traits]]
"""Reads the traits of points of a collection."""


class Rescoring:
    """The adjustments for one query.

    A kind with a weight above 1 keeps its score, and everything else is lowered instead.
    """

    def __init__(self, query: Query, weights: KindWeights, words: Words) -> None:
        self._query = query
        self._words = words
        self._support: PageSupport | None = None
        self._heading = heading_words(query.text)
        known = query.language in LANGUAGE_NAMES
        self._language = query.language if known else DEFAULT_LANGUAGE
        self._given = {} if any(one.key == KIND for one in query.where) else weights
        self._weights: dict[str, float] = {}
        above = [self._weight(kind) for kind, weight in self._given.items() if weight > 1]
        self._highest = max([1.0, *above])

    @property
    def excluded(self) -> tuple[str, ...]:
        """The kinds with a weight of 0."""
        given = self._given.items()
        return tuple(kind for kind, weight in given if not weight and not self._weight(kind))

    def score(self, score: float, record: ChunkRecord) -> float:
        """The score of a passage that is not a candidate, with the pages of the last pool."""
        traits = Traits()
        traits.learn([0], [record], self._words)
        weight = self._weight(traits.kinds.get(0, "")) / self._highest
        if self._support is not None:
            score = self._support.total_score(score, (0, traits.pages[0]))
        return _adjusted(score, weight, exact_heading=self._is_heading(traits.sections[0]))

    def _is_heading(self, section: str) -> bool:
        return bool(self._heading) and section == self._heading

    def _weight(self, kind: str) -> float:
        """The weight of a kind; 1 if the query names the kind."""
        weight = self._weights.get(kind)
        if weight is None:
            weight = self._given.get(kind, 1.0)
            if weight != 1.0 and _names(self._query.text, kind):
                weight = 1.0
            self._weights[kind] = weight
        return weight

    async def apply(
        self, pool: Pool, threshold: float, read_traits: ReadTraits
    ) -> Iterator[Candidate]:
        """The candidates that reach the threshold, in the order of their adjusted scores."""
        exact: set[int] = set()
        weights: dict[int, float] = {}
        pages: dict[int, PageKey] = {}
        names: dict[PageKey, Collection[int]] = {}
        by_page = self._query.group_by is GroupBy.DOCUMENT
        for origin, collection in enumerate(pool.collections):
            rows, points = pool.first_batch(origin)
            traits = await read_traits(collection, points)
            if self._heading and self._heading in traits.headings:
                sections = map(traits.sections.__getitem__, points)
                by_row = zip(rows, sections, strict=True)
                exact.update(row for row, section in by_row if section == self._heading)
            for point in filter(traits.kinds.__contains__, points):
                weights[rows[points.index(point)]] = self._weight(traits.kinds[point])
            if by_page:
                for row, point in zip(rows, points, strict=True):
                    page = pages[row] = origin, traits.pages[point]
                    names[page] = traits.names[page[1]]
        if by_page:
            ranked = ((pages[row], score) for row, score in pool.ranked() if row in pages)
            self._support = page_support(
                ranked, self._words(self._query.text, self._language), names
            )
        elif not exact and self._highest == 1.0 and all(one == 1.0 for one in weights.values()):
            return pool.candidates(threshold)
        return self._reordered(pool, threshold, exact, weights, pages)

    def _reordered(
        self,
        pool: Pool,
        threshold: float,
        exact: Collection[int],
        weights: Mapping[int, float],
        pages: Mapping[int, PageKey],
    ) -> Iterator[Candidate]:
        """Only a few candidates are adjusted, and only a few are taken, so no objects are made."""
        ranked = pool.ranked(threshold)
        own = dict(ranked) if not pool.later else {r: s for r, s in ranked if r not in pool.later}
        fused, support = own, self._support
        if support is not None:
            fused = {row: support.total_score(score, pages[row]) for row, score in own.items()}
        adjusted = dict(fused)
        for row in fused if self._highest > 1 else {*exact, *weights}.intersection(fused):
            weight = weights.get(row, 1.0) / self._highest
            adjusted[row] = _adjusted(fused[row], weight, exact_heading=row in exact)
        order = sorted(adjusted, key=adjusted.__getitem__, reverse=True)
        for row in order:
            changed = adjusted[row] != fused[row]
            yield pool.candidate(
                row,
                adjusted[row],
                weights.get(row, 1.0) / self._highest if changed else 1.0,
                exact_heading=changed and row in exact,
                page=None if support is None else support.score(own[row], pages[row]),
            )
        last = adjusted[order[-1]] if order else 1.0
        for row, score in pool.ranked(threshold) if pool.later else ():
            if row in pool.later:
                yield pool.candidate(row, min(last, score))


def _adjusted(score: float, weight: float, *, exact_heading: bool) -> float:
    if exact_heading:
        score += EXACT_HEADING * (1 - score)
    return score * weight


def rescoring_for(query: Query, weights: KindWeights, words: Words) -> Rescoring | None:
    """None in dense and lexical mode, which rank by their own scores alone."""
    return Rescoring(query, weights, words) if query.mode is Mode.HYBRID else None


def without_excluded(
    where: tuple[Condition, ...], rescoring: Rescoring | None, fields: Iterable[Field]
) -> tuple[Condition, ...]:
    """The conditions, and one more if kinds have a weight of 0 and the collection has kinds."""
    excluded = rescoring.excluded if rescoring is not None else ()
    if not excluded or all(field.name != KIND for field in fields):
        return where
    return (*where, AnyOf(KIND, excluded, exclude=True))


def _names(text: str, kind: str) -> bool:
    """Whether a query is about a kind of pages, or about a version that such pages are about."""
    if kind in _NAMES and _NAMES[PageKind(kind)].search(text) is not None:
        return True
    return kind in _VERSIONED and _VERSION.search(text) is not None


def heading_words(text: str) -> str:
    """The different words in a fixed order, without their case and without a plural s."""
    words = {
        word[:-1] if len(word) >= _SHORTEST_PLURAL and word[-1] == "s" != word[-2] else word
        for word in _WORD.findall(text.casefold())
    }
    return " ".join(sorted(words))
