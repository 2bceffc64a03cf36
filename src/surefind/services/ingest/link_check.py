"""Do the links between pages lead somewhere? Asked of the pages that a collection holds.

A link is called broken only where that is certain. What leaves the sources, what only the site
itself could answer and what is no page is not judged.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from surefind.model import BrokenLink, SourcePage
from surefind.ports import Site, Source
from surefind.text.documents import ReadPage
from surefind.text.links import references, suffix_of
from surefind.text.sites.addresses import address_key
from surefind.text.sites.plain import READER_URL

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_HTTP = ("http://", "https://")
_FILES = frozenset({".md", ".mdx", ".markdown", ".rst"})
_HTML = frozenset({".html", ".htm"})
_SITE_ROOT = "@site/"


@dataclass(frozen=True, slots=True)
class SourceRoot:
    """Where pages come from: `prefix` is the path of the source's root below its site's."""

    name: str
    site: Site
    prefix: str

    @classmethod
    def of(cls, page: SourcePage, source: Source) -> "SourceRoot":
        below = page.source_path[len(source.name) + 1 :]
        prefix = page.site_path.removesuffix(below) if below else ""
        return cls(source.name, source.site, prefix)

    def source_paths(self, site_paths: Sequence[str]) -> list[str]:
        """Of those that lie in the source at all."""
        inside = (path for path in site_paths if path.startswith(self.prefix))
        return [f"{self.name}/{path[len(self.prefix) :]}" for path in inside]


@dataclass(frozen=True, slots=True)
class _LinkedPage:
    """Names are kept as lines of one text: a large tree has millions of them.

    `anchors` is None where they are not known.
    """

    url: str
    home: SourceRoot | None = None
    links: str = ""
    anchors: str | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """What a link leads to: a page, perhaps at an anchor; or why to none."""

    source_path: str = ""
    anchor: str = ""
    missing: str = ""


class LinkCheck:
    """Pages are added one by one; their links are judged when all are there."""

    def __init__(self) -> None:
        self._pages: dict[str, _LinkedPage] = {}
        self._left: set[str] = set()
        self._by_address: dict[str, str] = {}
        self._folders: set[str] = set()
        self._homes: dict[SourceRoot, SourceRoot] = {}

    def add(self, page: SourcePage, home: SourceRoot, read: ReadPage) -> None:
        suffix = page.suffix or suffix_of(page.site_path)
        found = references(page.content, suffix, read.structure)
        partial = posixpath.basename(page.source_path).startswith("_")
        judged = found.whole and not partial and suffix != ".txt"
        self._know(
            page.source_path,
            _LinkedPage(
                url=read.document.url,
                home=self._homes.setdefault(home, home),
                links="\n".join(link for link in found.links if "\n" not in link),
                anchors=_lines(found.anchors) if judged else None,
            ),
        )

    def know(self, source_path: str, url: str) -> None:
        """A page is there, though nothing more is known of it."""
        self._know(source_path, _LinkedPage(url))

    def leave(self, source_path: str) -> None:
        """A page that is no part of the collection, but may be linked to."""
        self._left.add(source_path)

    def broken(self) -> Iterator[BrokenLink]:
        """Page by page, in the order of their paths."""
        for source_path in sorted(self._pages):
            yield from self.broken_of(source_path)

    def broken_of(self, source_path: str) -> Iterator[BrokenLink]:
        """Those of one page."""
        for link, target in self._targets(source_path):
            reason = self._reason(target)
            if reason:
                yield BrokenLink(source_path, link, reason)

    def unknown(self, source_path: str) -> set[str]:
        """Pages whose anchors are linked to from the page and not known."""
        linked = {target.source_path for _, target in self._targets(source_path) if target.anchor}
        return {path for path in linked if path and self._pages[path].anchors is None}

    def learn(self, source_path: str, anchors: Collection[str]) -> None:
        """The anchors of a page that was only known to be there."""
        page = self._pages[source_path]
        self._pages[source_path] = _LinkedPage(page.url, page.home, page.links, _lines(anchors))

    def _targets(self, source_path: str) -> list[tuple[str, _Target]]:
        links = self._pages[source_path].links.split("\n")
        followed = ((link, self._follow(source_path, link)) for link in links)
        return [(link, target) for link, target in followed if target is not None]

    def _follow(self, source_path: str, link: str) -> _Target | None:
        """None where it can't be said."""
        target, _, fragment = link.partition("#")
        target, anchor = target.partition("?")[0], unquote(fragment)
        page = self._pages[source_path]
        foreign = _SCHEME.match(target) and not target.startswith(_HTTP)
        if page.home is None or foreign or not link:
            return None
        if not target:
            return _Target(source_path, anchor)
        files = _files(source_path, page.home, target)
        there = next((path for path in files if path in self._pages or path in self._left), None)
        if there is not None:
            return _Target(there, anchor) if there in self._pages else None
        written, wanted = suffix_of(source_path), suffix_of(target)
        served = wanted in _HTML and (written not in _FILES or page.url.endswith(wanted))
        named = wanted in _FILES and written in _FILES and not target.startswith(_HTTP)
        if wanted and not (served or named):
            return None
        rooted = target.startswith("/") and not page.home.prefix  # only a site knows the root
        if named and not rooted:
            return _Target(missing=files[0]) if files else None
        addresses = page.home.site.addresses(target, page.url)
        missing = files[:1] if named and addresses else []
        return _Target(missing=missing[0]) if missing else self._follow_address(addresses, anchor)

    def _follow_address(self, addresses: Sequence[str], anchor: str) -> _Target | None:
        for address in addresses:
            key = address_key(address)
            if key in self._by_address:
                return _Target(self._by_address[key], anchor)
            if key in self._folders:
                return None
        return _Target(missing=addresses[0]) if addresses else None

    def _reason(self, target: _Target) -> str:
        """Why what a link leads to is not there; empty where it is."""
        if target.missing:
            return f"there is no page {target.missing}"
        known = self._pages[target.source_path].anchors
        if known is None or target.anchor.startswith((":~:", "!")):
            return ""
        if target.anchor in {"", "top"} or f"\n{target.anchor}\n" in known:
            return ""
        return f"{target.source_path} has no heading #{target.anchor}"

    def _know(self, source_path: str, page: _LinkedPage) -> None:
        self._pages[source_path] = page
        key = address_key(page.url)
        self._by_address[key] = source_path
        while page.url.startswith(READER_URL) and (key := posixpath.dirname(key)):
            if key in self._folders or key.endswith(":"):
                break
            self._folders.add(key)


def _files(source_path: str, home: SourceRoot, target: str) -> list[str]:
    """The source paths that a link to a file may mean; none where all lie outside the source."""
    path = unquote(target)
    if path.startswith(_HTTP):
        return []
    if path.startswith(_SITE_ROOT):
        return home.source_paths([path.removeprefix(_SITE_ROOT)])
    below = posixpath.dirname(source_path[len(home.name) + 1 :])
    top = (home.prefix + below).partition("/")[0]  # of a site, the folder that its docs are in
    if path.startswith("/"):
        plain = posixpath.normpath(path.lstrip("/"))
        own = [plain] if plain.startswith(f"{home.name}/") else []
        return [*home.source_paths([plain, f"{top}/{plain}"]), *own]
    found = posixpath.normpath(posixpath.join(posixpath.dirname(source_path), path))
    inside = [found] if found.startswith(f"{home.name}/") else []
    if path.startswith("."):
        return inside
    return [*inside, *home.source_paths([f"{top}/{posixpath.normpath(path)}"])]


def _lines(names: Collection[str]) -> str:
    return "\n" + "\n".join(sorted(names)) + "\n"
