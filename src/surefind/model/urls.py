"""Checks URLs: which are safe as links, and which can address a service."""

import re
from urllib.parse import urlsplit

_IGNORED = re.compile(r"[\t\n\r]")
_LEADING = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LINKED = {"http", "https"}


def is_link(url: str) -> bool:
    r"""True for valid http, https and relative URLs; false for anything that a browser would run.

    Parses like a browser, which ignores leading blanks and control characters, and every tab and
    line break: `java\nscript:` is `javascript:`.
    """
    scheme = _SCHEME.match(_IGNORED.sub("", url.lstrip(_LEADING)))
    if scheme is not None and scheme[1].lower() not in _LINKED:
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
