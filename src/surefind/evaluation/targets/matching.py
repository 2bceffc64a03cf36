"""Whether a target's result meets an expectation, and why none of them does.

A target's index is out of reach, so only what a result says about itself counts. A section is
compared where a result names one; otherwise its page decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    BySource,
    ByText,
    Expectation,
    address_key,
    folded,
    squeezed,
)
from surefind.model import TargetHit

_SHOWN = 3
_LONG_PART = 40
"""A result of this many characters may be a part of an expected passage."""


class TargetCause(StrEnum):
    """Why a target did not return what a test expects, as far as its answers show."""

    OUTRANKED = "outranked"
    NO_RESULTS = "no_results"
    WRONG_SECTION = "wrong_section"
    WRONG_PAGE = "wrong_page"
    OTHER_SITE = "other_site"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Miss:
    """Why an expectation was not met; `ahead` names the results in its place."""

    cause: TargetCause
    message: str
    ahead: tuple[str, ...] = ()


def meets(hit: TargetHit, expectation: Expectation) -> bool:
    if isinstance(expectation, ByText):
        wanted, text = squeezed(expectation.text), squeezed(hit.text)
        return wanted in text or (len(text) >= _LONG_PART and text in wanted)
    if isinstance(expectation, ByAddress | BySource):
        return is_on_page(hit, expectation) and _is_in_section(hit, expectation)
    if isinstance(expectation, ByChunk):
        return hit.id == expectation.chunk_id
    return expectation.name in _names(hit.id, hit.source_path, hit.url)


@lru_cache(maxsize=4096)
def _names(identity: str, source_path: str, url: str) -> frozenset[str]:
    """What a document may be called. Cached, because results recur in many answers."""
    name = source_path.rpartition("/")[2]
    step = _key(url, path_only=True).rpartition("/")[2] if url else ""
    return frozenset({identity, source_path, name, PurePosixPath(name).stem, step, url})


@lru_cache(maxsize=4096)
def _key(url: str, *, path_only: bool) -> str:
    return address_key(url, path_only=path_only)


def is_on_page(hit: TargetHit, expectation: ByAddress | BySource) -> bool:
    """Whether a result is on the expected page.

    An id may be a path or a URL. If a result has only a URL, it is on the page of a source path
    that its URL ends with.
    """
    if isinstance(expectation, BySource):
        if expectation.source_path in {hit.source_path, hit.id}:
            return True
        place = hit.source_path or hit.url or hit.id
        wanted = _key(f"/{expectation.source_path}", path_only=False)
        return bool(place) and _path(place).endswith(wanted)
    address = expectation.url.partition("#")[0]
    url = hit.url or hit.id
    return _key(url, path_only=address.startswith("/")) == _key(address, path_only=False)


def _path(place: str) -> str:
    if "://" in place:
        return _key(place, path_only=True)
    return _key(f"/{place.lstrip('/')}", path_only=True)


def _is_in_section(hit: TargetHit, expectation: ByAddress | BySource) -> bool:
    anchor = unquote((hit.url or hit.id).partition("#")[2])
    if isinstance(expectation, ByAddress):
        wanted = unquote(expectation.url.partition("#")[2])
        if wanted and anchor and wanted != anchor:
            return False
    if expectation.heading and hit.headings:
        return folded(expectation.heading) in map(folded, hit.headings)
    return True


def is_judged_by_page(hit: TargetHit, expectation: Expectation) -> bool:
    """Whether a section is expected, but the result only says which page it is from."""
    if not isinstance(expectation, ByAddress | BySource) or hit.headings:
        return False
    if isinstance(expectation, ByAddress) and "#" in expectation.url:
        return "#" not in hit.url
    return bool(expectation.heading)


@lru_cache(maxsize=4096)
def site_of(url: str) -> str:
    """The host of a URL; empty without one. Cached, because results recur in many answers."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def miss_of(
    expectation: Expectation, hits: Sequence[TargetHit], deeper: Sequence[TargetHit], top_k: int
) -> Miss:
    """Why no result meets an expectation.

    `hits` are the judged results, `deeper` those of the same question if more were requested.
    """
    rank = next((at for at, hit in enumerate(deeper, 1) if meets(hit, expectation)), None)
    if rank is not None:
        ahead = tuple(hit.name for hit in deeper[: rank - 1])
        return Miss(
            TargetCause.OUTRANKED,
            f"rank {rank}, below the first {top_k}; ahead of it: {_few(ahead)}",
            ahead[:top_k],
        )
    searched = max(len(hits), len(deeper))
    ahead = tuple(hit.name for hit in hits)
    if not hits:
        return Miss(TargetCause.NO_RESULTS, "the target returned no results")
    if isinstance(expectation, ByAddress | BySource):
        near = next((hit for hit in hits if is_on_page(hit, expectation)), None)
        if near is not None:
            return Miss(TargetCause.WRONG_SECTION, f"another section: {near.name}", ahead)
    site = site_of(expectation.url) if isinstance(expectation, ByAddress) else ""
    sites = [site_of(hit.url) for hit in hits]
    if site and all(sites) and site not in sites:
        others = _few(tuple(dict.fromkeys(sites)))
        return Miss(TargetCause.OTHER_SITE, f"all results are from other sites: {others}", ahead)
    if isinstance(expectation, ByAddress | BySource) and any(sites):
        return Miss(
            TargetCause.WRONG_PAGE,
            f"not among {searched} results; other pages: {_few(ahead)}",
            ahead,
        )
    return Miss(TargetCause.MISSING, f"not among {searched} results: {_few(ahead)}", ahead)


def _few(names: Sequence[str]) -> str:
    left = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {left} more" if left > 0 else "")
