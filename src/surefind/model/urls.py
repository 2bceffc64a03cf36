"""URLs: which are safe as links, which can address a service, and those of unpublished pages.

A page without a published address has a URL such as `surefind://docs/guide/install.md`: collection
and source path. It names no host, because only an interface that serves the page knows one.
"""

import re
from urllib.parse import quote, urlsplit

_IGNORED = re.compile(r"[\t\n\r]")
_LEADING = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LINKED = {"http", "https"}
_OWN = "surefind"
_READ = "/read/"
_FORMER_OWN = "http://localhost:8000/read/"
"""How earlier versions stored the URLs of unpublished pages."""
_OWN_MACHINE = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - compared, not bound


def unpublished_url(collection: str, source_path: str) -> str:
    return f"{_OWN}://{quote(collection)}/{quote(source_path)}"


def reader_path(url: str) -> str | None:
    """The path of an unpublished page in surefind's reader; None for every other URL."""
    for prefix in (f"{_OWN}://", _FORMER_OWN):
        if url.startswith(prefix):
            return _READ + url.removeprefix(prefix)
    return None


def is_unpublished(url: str) -> bool:
    return reader_path(url) is not None


def as_stored(url: str) -> str:
    """The stored form of a URL that a local reader serves; any other URL unchanged."""
    try:
        parts = urlsplit(url)
        own = parts.hostname in _OWN_MACHINE
    except ValueError:
        return url
    if parts.scheme in _LINKED and own and parts.path.startswith(_READ):
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        return f"{_OWN}://{parts.path.removeprefix(_READ)}{anchor}"
    return url


def is_link(url: str) -> bool:
    r"""True for http, https, relative and our own URLs; false for any that a browser would run.

    Parses like a browser, which ignores leading blanks and control characters, and every tab and
    line break: `java\nscript:` is `javascript:`.
    """
    scheme = _SCHEME.match(_IGNORED.sub("", url.lstrip(_LEADING)))
    if scheme is not None and scheme[1].lower() not in {*_LINKED, _OWN}:
        return False
    try:
        return urlsplit(url).port != 0
    except ValueError:  # an unclosed bracket or an invalid port
        return False


def is_address(url: str) -> bool:
    """True for an http or https URL with a host and, if it has a port, a valid one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in _LINKED and bool(parts.hostname) and port != 0
