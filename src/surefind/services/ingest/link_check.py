"""Checks the links between the pages of a collection.

A link is reported only if it is certainly broken. Links out of the sources, links that only the
site itself can resolve, and links to other files are not checked.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from surefind.model import BrokenLink, SourcePage, is_unpublished
from surefind.ports import Site, Source
from surefind.text.documents import ReadPage
from surefind.text.links import references, suffix_of
from surefind.text.sites.addresses import address_key

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_HTTP = ("http://", "https://")
_FILES = frozenset({".md", ".mdx", ".markdown", ".rst"})
_HTML = frozenset({".html", ".htm"})
_SITE_ROOT = "@site/"


@dataclass(frozen=True, slots=True)
class SourceRoot:
    """The root of a source; `prefix` is its path below the root of the site."""

    name: str
    site: Site
    prefix: str

    @classmethod
    def of(cls, page: SourcePage, source: Source) -> "SourceRoot":
        below = page.source_path[len(source.name) + 1 :]
        prefix = page.site_path.removesuffix(below) if below else ""
        return cls(source.name, source.site, prefix)

    def source_paths(self, site_paths: Sequence[str]) -> list[str]:
        """The source paths of those `site_paths` that are inside the source."""
        inside = (path for path in site_paths if path.startswith(self.prefix))
        return [f"{self.name}/{path[len(self.prefix) :]}" for path in inside]


@dataclass(frozen=True, slots=True)
class _LinkedPage:
    """Links and anchors are stored as lines of one string, because large sites have millions.

    `anchors` is None if they are unknown.
    """

    url: str
    home: SourceRoot | None = None
    links: str = ""
    anchors: str | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a link: a page with an optional anchor, or the missing page."""

    source_path: str = ""
    anchor: str = ""
    missing: str = ""


class LinkCheck:
    """Collects pages one by one, and checks their links once all are added."""

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
        """Add a page of which only the URL is known."""
        self._know(source_path, _LinkedPage(url))

    def leave(self, source_path: str) -> None:
        """Add a page that is not part of the collection; links to it are not checked."""
        self._left.add(source_path)

    def broken(self) -> Iterator[BrokenLink]:
        """All broken links, sorted by page."""
        for source_path in sorted(self._pages):
            yield from self.broken_of(source_path)

    def broken_of(self, source_path: str) -> Iterator[BrokenLink]:
        """The broken links of a page."""
        for link, target in self._targets(source_path):
            reason = self._reason(target)
            if reason:
                yield BrokenLink(source_path, link, reason)

    def unknown(self, source_path: str) -> set[str]:
        """The linked pages whose anchors are unknown."""
        linked = {target.source_path for _, target in self._targets(source_path) if target.anchor}
        return {path for path in linked if path and self._pages[path].anchors is None}

    def learn(self, source_path: str, anchors: Collection[str]) -> None:
        """Add the anchors of a known page."""
        page = self._pages[source_path]
        self._pages[source_path] = _LinkedPage(page.url, page.home, page.links, _lines(anchors))

    def _targets(self, source_path: str) -> list[tuple[str, _Target]]:
        links = self._pages[source_path].links.split("\n")
        followed = ((link, self._follow(source_path, link)) for link in links)
        return [(link, target) for link, target in followed if target is not None]

    def _follow(self, source_path: str, link: str) -> _Target | None:
        """The target of a link, or None if it can't be checked."""
        target, _, fragment = link.partition("#")
        target, anchor = target.partition("?")[0], unquote(fragment)
        page = self._pages[source_path]
        foreign = _SCHEME.match(target) and not target.startswith(_HTTP)
        if page.home is None or foreign or not link:
            return None
        if not target:
            return _Target(source_path, anchor)
        files = _files(source_path, page.home, target)
        found = next((path for path in files if path in self._pages or path in self._left), None)
        if found is not None:
            return _Target(found, anchor) if found in self._pages else None
        own_suffix, suffix = suffix_of(source_path), suffix_of(target)
        served = suffix in _HTML and (own_suffix not in _FILES or page.url.endswith(suffix))
        named = suffix in _FILES and own_suffix in _FILES and not target.startswith(_HTTP)
        if suffix and not (served or named):
            return None
        rooted = (
            target.startswith("/") and not page.home.prefix
        )  # relative to the site's root, which is unknown
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
        """Why the link is broken; empty if it is not."""
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
        while is_unpublished(page.url) and (key := posixpath.dirname(key)):
            if key in self._folders or key.endswith(":"):
                break
            self._folders.add(key)


def _files(source_path: str, home: SourceRoot, target: str) -> list[str]:
    """The source paths that a link to a file may refer to; empty if all are outside the source."""
    path = unquote(target)
    if path.startswith(_HTTP):
        return []
    if path.startswith(_SITE_ROOT):
        return home.source_paths([path.removeprefix(_SITE_ROOT)])
    below = posixpath.dirname(source_path[len(home.name) + 1 :])
    top = (home.prefix + below).partition("/")[0]  # the docs folder of a site
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
