"""Page URLs of all kinds of sites: normalization, comparison and links."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote, urljoin, urlsplit

_URI_SAFE = ";,/:@&=+$-_.!~*'()"
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_INDEX_FILE = re.compile(r"/index\.html?$")


def clashes(urls: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """URLs claimed by more than one page, with those pages: a site can serve only one of them.

    `urls` maps page paths to URLs.
    """
    pages: dict[str, list[str]] = {}
    for path, url in sorted(urls.items()):
        pages.setdefault(address_key(url), []).append(path)
    return {url: tuple(paths) for url, paths in pages.items() if len(paths) > 1}


def address_key(url: str) -> str:
    """Equal for equivalent URLs: with or without a trailing slash, `%20` or a space."""
    return unquote(_INDEX_FILE.sub("", url)).rstrip("/")


def addresses_below(base_url: str, link: str, *page_urls: str) -> tuple[str, ...]:
    """Resolve a link against each page URL; empty if it leaves the site."""
    try:
        found = dict.fromkeys(_path_of(urljoin(url, link)) for url in page_urls)
    except ValueError:  # brackets without a valid IPv6 address
        return ()
    base = base_url.rstrip("/")
    return tuple(url for url in found if url == base or url.startswith(f"{base}/"))


def _path_of(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()


def encode_uri(path: str) -> str:
    """Encode a path like a browser: `ü` becomes `%C3%BC`; existing escapes stay."""
    return quote(_ESCAPE.sub("%25", path), safe=_URI_SAFE + "%")
