"""Suggestions for stale expectations: the most similar page, heading or anchor."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from surefind.evaluation.golden.expectations import (
    ByAddress,
    BySource,
    Expectation,
    address_key,
    folded,
    squeezed,
)
from surefind.model import ChunkRecord

_NEAR = 0.75
"""How similar a suggestion must be: close enough to be a typing error."""
_NEAR_STEM = 0.6
MAX_COMPARED = 100_000
"""Limits letter-by-letter comparisons to a few seconds; beyond it, only path ends are compared."""


@dataclass(slots=True)
class _NamedPage:
    """A page; `headings` maps folded headings to the originals."""

    url: str
    headings: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, None] = field(default_factory=dict)


class NearMisses:
    """Finds suggestions: call `show` for every chunk, then `of`."""

    def __init__(self, max_compared: int = MAX_COMPARED) -> None:
        """`max_compared` limits the names that are compared for each kind of expectation."""
        self._max_compared = max_compared
        self._pages: dict[str, _NamedPage] = {}

    def show(self, record: ChunkRecord) -> None:
        chunk = record.chunk
        page = self._pages.setdefault(chunk.source_path, _NamedPage(record.url))
        page.anchors.setdefault(chunk.anchor)
        for heading in (*chunk.heading_path, record.section):
            page.headings.setdefault(folded(heading), squeezed(heading))

    def of(self, expectations: Iterable[Expectation]) -> Mapping[Expectation, str]:
        """Hints for the expectations that have a near miss."""
        pages = self._pages.values()
        sources = _Names(self._pages, self._max_compared)
        addresses = _Names({address_key(page.url): page for page in pages}, self._max_compared)
        paths = _Names(
            {address_key(page.url, path_only=True): page for page in pages}, self._max_compared
        )
        hints: dict[Expectation, str] = {}
        for one in expectations:
            if isinstance(one, BySource):
                hints[one] = _hint(one, one.source_path, sources)
            elif isinstance(one, ByAddress):
                names = paths if one.url.startswith("/") else addresses
                hints[one] = _hint(one, address_key(one.url.partition("#")[0]), names)
        return {one: hint for one, hint in hints.items() if hint}


class _Names:
    """Pages by name, with a search for the most similar name."""

    def __init__(self, pages: Mapping[str, _NamedPage], max_compared: int) -> None:
        self.pages = pages
        self._left = max_compared
        self._known: dict[str, str] = {}
        self._by_end: dict[str, list[str]] = {}
        for name in pages:
            self._by_end.setdefault(name.rpartition("/")[2], []).append(name)

    def nearest(self, name: str) -> str:
        """A page with the same path ending in another folder, or else one with a similar name."""
        if name not in self._known:
            self._known[name] = self._elsewhere(name) or self._misspelt(name)
        return self._known[name]

    def _elsewhere(self, name: str) -> str:
        end = f"/{name.lstrip('/')}"
        alike = self._by_end.get(end.rpartition("/")[2], ())
        same = [
            known
            for known in alike
            if f"/{known}".endswith(end) or end.endswith(f"/{known.lstrip('/')}")
        ]
        return same[0] if len(same) == 1 else ""  # with several candidates it would be a guess

    def _misspelt(self, name: str) -> str:
        if self._left <= 0:
            return ""
        self._left -= len(self.pages)
        near = _closest(name, self.pages)
        return near if _ratio(_stem(name), _stem(near)) >= _NEAR_STEM else ""


def _hint(one: ByAddress | BySource, name: str, names: _Names) -> str:
    if name in names.pages:
        return _within(one, names.pages[name])
    nearest = names.nearest(name)
    return f"did you mean {nearest}?" if nearest else ""


def _within(one: ByAddress | BySource, page: _NamedPage) -> str:
    if one.heading and folded(one.heading) not in page.headings:
        near = _closest(folded(one.heading), page.headings)
        meant = f"did you mean {page.headings[near]!r}?" if near else "see its headings"
        return f"the page exists, but not this heading; {meant}"
    anchor = unquote(urlsplit(one.url).fragment) if isinstance(one, ByAddress) else ""
    if anchor and anchor not in page.anchors:
        near = _closest(anchor, page.anchors)
        meant = f"did you mean #{near}?" if near else "see its headings"
        return f"the page exists, but not this anchor; {meant}"
    return "the page exists, but its anchor and heading are of different sections"


def _stem(path: str) -> str:
    """The name of the page alone: paths in one folder with one extension are always similar."""
    return path.rstrip("/").rpartition("/")[2].partition(".")[0]


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _closest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, [known for known in names if known], 1, _NEAR)
    return near[0] if near else ""
