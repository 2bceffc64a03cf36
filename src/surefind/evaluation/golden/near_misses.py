"""What a collection has that is nearly what a golden test expects: most often it was mistyped."""

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
"""The share of letters that a suggestion has in common: a typing error, not another word."""
MAX_COMPARED = 100_000
"""So many names are compared letter by letter, which takes some seconds; then only ends are."""


@dataclass(slots=True)
class _NamedPage:
    """`headings` as they are compared -> as they are written."""

    url: str
    headings: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, None] = field(default_factory=dict)


class NearMisses:
    """Shown every chunk, it knows what is near to an expectation that means none of them."""

    def __init__(self) -> None:
        self._pages: dict[str, _NamedPage] = {}

    def show(self, record: ChunkRecord) -> None:
        chunk = record.chunk
        page = self._pages.setdefault(chunk.source_path, _NamedPage(record.url))
        page.anchors.setdefault(chunk.anchor)
        for heading in (*chunk.heading_path, record.section):
            page.headings.setdefault(folded(heading), squeezed(heading))

    def of(self, expectations: Iterable[Expectation]) -> Mapping[Expectation, str]:
        """What to tell of each; those that nothing is near to are left out."""
        pages = self._pages.values()
        sources = _Names(self._pages)
        addresses = _Names({address_key(page.url): page for page in pages})
        paths = _Names({address_key(page.url, path_only=True): page for page in pages})
        told: dict[Expectation, str] = {}
        for one in expectations:
            if isinstance(one, BySource):
                told[one] = _told(one, one.source_path, sources)
            elif isinstance(one, ByAddress):
                names = paths if one.url.startswith("/") else addresses
                told[one] = _told(one, address_key(one.url.partition("#")[0]), names)
        return {one: hint for one, hint in told.items() if hint}


class _Names:
    """Pages by their names, and the nearest of them."""

    def __init__(self, pages: Mapping[str, _NamedPage]) -> None:
        self.pages = pages
        self._left = MAX_COMPARED
        self._known: dict[str, str] = {}
        self._by_end: dict[str, list[str]] = {}
        for name in pages:
            self._by_end.setdefault(name.rpartition("/")[2], []).append(name)

    def nearest(self, wanted: str) -> str:
        """One that differs in the folders before it alone, else one that is spelt nearly so."""
        if wanted not in self._known:
            self._known[wanted] = self._elsewhere(wanted) or self._misspelt(wanted)
        return self._known[wanted]

    def _elsewhere(self, wanted: str) -> str:
        end = f"/{wanted.lstrip('/')}"
        alike = self._by_end.get(end.rpartition("/")[2], ())
        same = [
            name
            for name in alike
            if f"/{name}".endswith(end) or end.endswith(f"/{name.lstrip('/')}")
        ]
        return same[0] if len(same) == 1 else ""  # one of many index pages is a guess

    def _misspelt(self, wanted: str) -> str:
        if self._left <= 0:
            return ""
        self._left -= len(self.pages)
        return _closest(wanted, self.pages)


def _told(one: ByAddress | BySource, wanted: str, names: _Names) -> str:
    if wanted in names.pages:
        return _within(one, names.pages[wanted])
    nearest = names.nearest(wanted)
    return f"did you mean {nearest}?" if nearest else ""


def _within(one: ByAddress | BySource, page: _NamedPage) -> str:
    if one.heading and folded(one.heading) not in page.headings:
        near = _closest(folded(one.heading), page.headings)
        meant = f"did you mean {page.headings[near]!r}?" if near else "see its headings"
        return f"the page is there, and has no such heading; {meant}"
    anchor = unquote(urlsplit(one.url).fragment) if isinstance(one, ByAddress) else ""
    if anchor and anchor not in page.anchors:
        near = _closest(anchor, page.anchors)
        meant = f"did you mean #{near}?" if near else "see its headings"
        return f"the page is there, and has no such anchor; {meant}"
    return "the page is there, and the heading is not that of the anchor"


def _closest(wanted: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(wanted, [name for name in names if name], 1, _NEAR)
    return near[0] if near else ""
