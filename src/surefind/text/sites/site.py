"""What a documentation site does with its pages: where it serves them, or why it does not."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote, urljoin, urlsplit

from surefind.model import PageLocation
from surefind.text.urls import page_url, reader_url

_GLOB_LENGTH = 200  # a longer pattern, or one with more stars, could take for ever to match
_GLOB_STARS = 12
_GLOB_PART = re.compile(r"\*\*/|\*\*+|\*|\?|\{[^{}]*\}|\[!?[^\]\[\\]+\]|.", re.DOTALL)
_URI_SAFE = ";,/:@&=+$-_.!~*'()"
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_INDEX_FILE = re.compile(r"/index\.html?$")
_ENDINGS = (
    *("", ".md", ".mdx", ".markdown", ".rst", ".html", ".txt"),
    *("/index.md", "/index.mdx", "/README.md", "/readme.md", "/_index.md", "/index.rst"),
    "/index.html",
)


class PlainSite:
    """A site that serves every page under its path, without the extension."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - a plain site does not read it
    ) -> PageLocation:
        return PageLocation(page_url(site_path, self._base_url))

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """A page may be served with a slash at its end, which moves what its links lead to."""
        return addresses_below(self._base_url, link, page_url, f"{page_url.rstrip('/')}/")


class ReaderSite:
    """No site is known: pages are read in surefind's own reader."""

    def __init__(self, collection: str, folder: str) -> None:
        self._collection = collection
        self._folder = folder

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - nor does the reader
    ) -> PageLocation:
        return PageLocation(reader_url(self._collection, f"{self._folder}/{site_path}"))

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """Nobody knows what serves the pages: any usual spelling of a neighbour will do."""
        if link.startswith("/"):
            return ()
        folder = reader_url(self._collection, self._folder)
        found = addresses_below(folder, link, page_url, f"{page_url.rstrip('/')}/")
        return tuple(url.rstrip("/") + ending for url in found for ending in _ENDINGS)


def clashes(urls: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The addresses that more than one page claims, and those pages: a site can serve only one.

    `urls` holds each page's own, by its path.
    """
    pages: dict[str, list[str]] = {}
    for path, url in sorted(urls.items()):
        pages.setdefault(address_key(url), []).append(path)
    return {url: tuple(paths) for url, paths in pages.items() if len(paths) > 1}


def address_key(url: str) -> str:
    """Equal for spellings of one address: a slash at the end or not, `%20` or a space."""
    return unquote(_INDEX_FILE.sub("", url)).rstrip("/")


def addresses_below(base_url: str, link: str, *page_urls: str) -> tuple[str, ...]:
    """Where a link leads, seen from each of the addresses; none where it leaves the site."""
    try:
        found = dict.fromkeys(_path_of(urljoin(url, link)) for url in page_urls)
    except ValueError:  # brackets that hold no address
        return ()
    base = base_url.rstrip("/")
    return tuple(url for url in found if url == base or url.startswith(f"{base}/"))


def _path_of(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()


def encode_uri(path: str) -> str:
    """As browsers spell a path: `ü` becomes `%C3%BC`; what is already spelled `%20` stays."""
    return quote(_ESCAPE.sub("%25", path), safe=_URI_SAFE + "%")


def glob_expression(pattern: str, *, braces: bool) -> str | None:
    """The regular expression of a glob, without anchors; None where it can't be one."""
    if len(pattern) > _GLOB_LENGTH or pattern.count("*") > _GLOB_STARS:
        return None
    # `a/**` is everything below `a`; `**/` is any folder, also none.
    expression = "".join(_glob_part(part, braces=braces) for part in _GLOB_PART.findall(pattern))
    try:
        re.compile(expression)
    except re.error:  # a range that runs backwards
        return None
    return expression


def _glob_part(part: str, *, braces: bool) -> str:
    if part == "**/":
        return "(?:.*/)?"
    if part.startswith("*"):
        return "[^/]*" if part == "*" else ".*"
    if part == "?":
        return "[^/]"
    if len(part) > 1 and part[0] == "[":
        return f"[^/{part[2:]}" if part[1] == "!" else part.replace("[^", r"[\^")
    if braces and len(part) > 1:
        choices = part[1:-1].split(",")
        return f"(?:{'|'.join(_brace_choice(choice) for choice in choices)})"
    return re.escape(part)


def _brace_choice(choice: str) -> str:
    return "".join(_glob_part(part, braces=False) for part in _GLOB_PART.findall(choice))
