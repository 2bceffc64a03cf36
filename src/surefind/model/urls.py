"""Which urls may become links, and which are addresses of services."""

import re
from urllib.parse import urlsplit

_IGNORED = re.compile(r"[\t\n\r]")
_LEADING = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LINKED = {"http", "https"}


def is_link(url: str) -> bool:
    r"""True for http, https and relative urls that can be read: nothing that a browser would run.

    Read as browsers do: they skip leading blanks and control characters, and every tab and line
    break, so `java\nscript:` is `javascript:`.
    """
    scheme = _SCHEME.match(_IGNORED.sub("", url.lstrip(_LEADING)))
    if scheme is not None and scheme[1].lower() not in _LINKED:
        return False
    try:
        return urlsplit(url).port != 0
    except ValueError:  # a bracket that is left open, a port that is none
        return False


def is_address(url: str) -> bool:
    """True for an http or https url with a host, and with a valid port if it names one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in _LINKED and bool(parts.hostname) and port != 0
