"""What a documentation site does with its pages: where it serves them, or why it does not."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from surefind.model import Left, Place
from surefind.text.urls import page_url, reader_url

_GLOB_LENGTH = 200  # a longer pattern, or one with more stars, could take for ever to match
_GLOB_STARS = 12
_GLOB_PART = re.compile(r"\*\*/|\*\*+|\*|\?|\{[^{}]*\}|\[!?[^\]\[\\]+\]|.", re.DOTALL)
_URI_SAFE = ";,/:@&=+$-_.!~*'()"
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class PlainSite:
    """A site that serves every page under its path, without the extension."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - a plain site does not read it
    ) -> Place:
        return Place(page_url(site_path, self._base_url))


class ReaderSite:
    """No site is known: pages are read in surefind's own reader."""

    def __init__(self, collection: str, folder: str) -> None:
        self._collection = collection
        self._folder = folder

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - nor does the reader
    ) -> Place:
        return Place(reader_url(self._collection, f"{self._folder}/{site_path}"))


def clashes(places: Mapping[str, Place | Left]) -> dict[str, tuple[str, ...]]:
    """The addresses that more than one page claims, and those pages: a site can serve only one."""
    pages: dict[str, list[str]] = {}
    for site_path, place in sorted(places.items()):
        if isinstance(place, Place):
            pages.setdefault(place.url.rstrip("/"), []).append(site_path)
    return {url: tuple(paths) for url, paths in pages.items() if len(paths) > 1}


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
