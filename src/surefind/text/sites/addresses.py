"""Addresses of pages, whatever site serves them: how they are spelled and when two are equal."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote, urljoin, urlsplit

_URI_SAFE = ";,/:@&=+$-_.!~*'()"
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_INDEX_FILE = re.compile(r"/index\.html?$")


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
