"""Parses sitemaps, as untrusted input."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

MAX_URLS = 50_000
MAX_SITEMAP_BYTES = 50_000_000  # the protocol's limit per file, decompressed
_MAX_DEPTH = 3
_MAX_FILES = 500
_GZIP_MAGIC = b"\x1f\x8b"

FetchSitemap = Callable[[str], Awaitable[bytes | None]]
"""The bytes of a sitemap; None if there is none; OSError if it can't be fetched."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The entries of one file; `problem` says why the rest is missing."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]
    problem: str | None = None


@dataclass(slots=True)
class Listing:
    """The combined entries of all sitemaps of a site."""

    max_urls: int
    pages: dict[str, None] = field(default_factory=dict)
    foreign: int = 0
    problems: list[str] = field(default_factory=list)


async def read_sitemaps(
    roots: Sequence[str], ours: Callable[[str], str | None], fetch: FetchSitemap, max_urls: int
) -> Listing:
    """Every page listed by `roots` and their nested sitemaps, three levels deep.

    `ours` normalizes an entry and returns None for other sites, whose entries are counted but
    never fetched.
    """
    listing = Listing(max_urls)
    level, seen = _own(roots, ours, listing), set[str]()
    for _ in range(_MAX_DEPTH):
        below: list[str] = []
        for url in level:
            if url in seen or not _has_room(listing, len(seen)):
                continue
            seen.add(url)
            sitemap = await _read(url, fetch, listing)
            listing.pages.update(dict.fromkeys(_own(sitemap.pages, ours, listing)))
            below += _own(sitemap.sitemaps, ours, listing)
        level = below
    if any(url not in seen for url in level):
        listing.problems.append(f"sitemaps nested more than {_MAX_DEPTH} deep were not read")
    return listing


def _own(urls: Sequence[str], ours: Callable[[str], str | None], listing: Listing) -> list[str]:
    normal = [ours(url) for url in urls]
    listing.foreign += normal.count(None)
    return [url for url in normal if url is not None]


def _has_room(listing: Listing, files: int) -> bool:
    if len(listing.pages) < listing.max_urls and files < _MAX_FILES:
        return True
    problem = f"the sitemaps exceed the limit of {listing.max_urls} URLs in {_MAX_FILES} files"
    if problem not in listing.problems:
        listing.problems.append(problem)
    return False


async def _read(url: str, fetch: FetchSitemap, listing: Listing) -> Sitemap:
    try:
        body = await fetch(url)
    except OSError as error:
        listing.problems.append(f"{url}: {error}")
        return Sitemap((), ())
    if body is None:
        return Sitemap((), ())
    room = listing.max_urls - len(listing.pages)
    sitemap = await asyncio.to_thread(parse_sitemap, body, room)
    if sitemap.problem:
        listing.problems.append(f"{url}: {sitemap.problem}")
    return sitemap


def parse_sitemap(body: bytes, max_urls: int = MAX_URLS) -> Sitemap:
    """Parse XML or one URL per line, compressed or not. Entries before an error are kept."""
    if body.startswith(_GZIP_MAGIC):
        try:
            body = zlib.decompressobj(wbits=31).decompress(body, MAX_SITEMAP_BYTES)
        except zlib.error as error:
            return Sitemap((), (), f"it can't be decompressed: {error}")
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = body.decode("utf-8", "replace").splitlines()
        urls = [line.strip() for line in lines if line.strip().startswith("http")]
        return Sitemap(tuple(urls[:max_urls]), ())
    reader = _Reader(max_urls)
    problem = None
    try:
        reader.read(body)
    except (expat.ExpatError, ValueError) as error:
        problem = str(error)
    return Sitemap(tuple(reader.found["url"]), tuple(reader.found["sitemap"]), problem)


class _Reader:
    """Collects `<url><loc>` and `<sitemap><loc>`; other `loc`s, such as images, are not pages."""

    def __init__(self, max_urls: int) -> None:
        self.found: dict[str, list[str]] = {"url": [], "sitemap": []}
        self._max_urls = max_urls
        self._path: list[str] = []
        self._text: list[str] = []

    def read(self, body: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.EntityDeclHandler = _refuse_entity
        parser.Parse(body, True)  # noqa: FBT003 - expat takes no keyword

    def _start(self, name: str, _attributes: object) -> None:
        self._path.append(name.rpartition(" ")[2])
        self._text.clear()

    def _end(self, _name: str) -> None:
        kind = self._path[-2] if len(self._path) > 1 else ""
        if self._path.pop() != "loc" or kind not in self.found:
            return
        if len(self.found[kind]) >= self._max_urls:
            raise ValueError(f"it exceeds the limit of {self._max_urls} URLs")
        self.found[kind].append("".join(self._text).strip())


def _refuse_entity(*_declaration: object) -> None:
    """Reject entities, which no sitemap needs: they enable entity bombs and local file access."""
    raise ValueError("it declares entities, which are not allowed")
