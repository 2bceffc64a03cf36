"""Ranks passages by their pages, for results that are grouped by page.

A page that is about the subject has several good passages, and names the subject in its title or
its address. A page that mentions it has one good passage. So the second and third best passage of
a page, and its names, raise the score of each of its passages.

Where few pages have several passages among the candidates, other passages show only that a page is
long. So both parts are weighted by the share of the candidates that are not the best of their page.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

from surefind.model import PageScore

PASSAGES = 0.4
NAMES = 0.3
"""Weights of the second and third passage, and of the names, relative to the passage itself.
From .3 to .6 results are equally good; see `make bench-ranking`."""

FLOOR = 0.3
"""The score from which another passage counts. Nearly every page has passages with lower ones."""

_COUNTED = 3
_SUFFIX = re.compile(r"\.(?:mdx?|html?|rst|adoc|ipynb|txt)$")

PageKey: TypeAlias = tuple[int, str]
"""The number of the collection and the source path."""


@dataclass(frozen=True, slots=True)
class PageSupport:
    """The weighted support of each page. `total` is the most that can be added."""

    passages: Mapping[PageKey, float]
    names: Mapping[PageKey, float]
    total: float

    def score(self, own: float, page: PageKey) -> PageScore:
        """The parts of a passage's score; their sum is in 0..1."""
        whole = 1 + self.total
        return PageScore(
            own / whole, self.passages.get(page, 0.0) / whole, self.names.get(page, 0.0) / whole
        )

    def total_score(self, own: float, page: PageKey) -> float:
        """The sum of these parts."""
        whole = 1 + self.total
        passages, names = self.passages.get(page, 0.0), self.names.get(page, 0.0)
        return own / whole + passages / whole + names / whole


def page_support(
    ranked: Iterable[tuple[PageKey, float]],
    query_words: Collection[int],
    names: Mapping[PageKey, Collection[int]],
) -> PageSupport:
    """`ranked` has the page and the score of each candidate, best first."""
    best: dict[PageKey, list[float]] = {}
    count = 0
    for page, score in ranked:
        count += 1
        scores = best.setdefault(page, [])
        if len(scores) < _COUNTED:
            scores.append(score)
    weight = 1 - len(best) / count if count else 0.0
    return PageSupport(
        {page: weight * PASSAGES * _above_floor(scores[1:]) for page, scores in best.items()},
        {page: weight * NAMES * _overlap(query_words, names[page]) for page in best},
        weight * (PASSAGES * (_COUNTED - 1) * (1 - FLOOR) + NAMES),
    )


def names_of(title: str, url: str) -> str:
    """The text that names a page: its title, and the path of its address without a suffix."""
    path = url.partition("://")[2].partition("/")[2] if "://" in url else url
    return f"{title} {_SUFFIX.sub('', unquote(path))}"


def _above_floor(scores: Iterable[float]) -> float:
    return sum(max(0.0, score - FLOOR) for score in scores)


def _overlap(one: Collection[int], other: Collection[int]) -> float:
    """Twice the common words over the words of both: the F-measure of precision and recall."""
    total = len(one) + len(other)
    return 2 * len(set(one).intersection(other)) / total if total else 0.0
