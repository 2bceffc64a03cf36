"""Where the Markdown of each page is in a folder: beside the page itself, as llmstxt.org proposes.

The page `guide/install.html` of a site has the twin `guide/install.html.md`, and `guide/install/`
has `guide/install/index.html.md`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from surefind.model import DocumentRecord, is_unpublished

_MARKDOWN = (".md", ".markdown")
_MAX_NAME = 240


@dataclass(frozen=True, slots=True)
class Twin:
    """`place` is the path of the file in the folder, `link` its address in llms.txt."""

    place: str
    link: str


def twins_of(documents: Iterable[DocumentRecord], base_url: str | None) -> Mapping[str, Twin]:
    """The twin of each page, by source path. Pages whose twin has no safe or free place lack one.

    The folder is the root of the site at `base_url`, or else of the host of the pages.
    """
    found: dict[str, Twin] = {}
    taken: set[str] = set()
    for document in documents:
        root, path = _address(document, base_url)
        place = _place(path)
        if place is None:
            continue
        key = place.casefold()
        folders = {"/".join(key.split("/")[:end]) for end in range(1, key.count("/") + 1)}
        if key in taken or taken & folders or f"{key}/" in taken:
            continue
        taken |= {key, *(f"{folder}/" for folder in folders)}
        found[document.source_path] = Twin(place, root + quote(place))
    return found


def _address(document: DocumentRecord, base_url: str | None) -> tuple[str, str]:
    """The address of the folder, empty if unknown, and the path of the page below it."""
    if is_unpublished(document.url):
        return "", document.source_path
    parts = urlsplit(document.url)
    host = f"{parts.scheme}://{parts.netloc}/"
    if base_url is None:
        return host, unquote(parts.path)
    base = base_url.rstrip("/") + "/"
    if document.url.startswith(base) or f"{document.url}/" == base:
        return base, unquote(urlsplit(document.url.removeprefix(base.rstrip("/"))).path)
    return "", f"{parts.netloc}{unquote(parts.path) or '/'}"


def _place(path: str) -> str | None:
    """None if the path can't be that of a file below a folder."""
    path = path.lstrip("/")
    if not path or path.endswith("/"):
        path += "index.html.md"
    elif not path.lower().endswith(_MARKDOWN):
        path += ".md"
    names = path.split("/")
    if any(_is_unsafe(name) for name in names) or posixpath.normpath(path) != path:
        return None
    return path


def _is_unsafe(name: str) -> bool:
    return (
        name in {"", ".", ".."}
        or not name.isprintable()
        or "\\" in name
        or len(name.encode("utf-8", "surrogatepass")) > _MAX_NAME
    )
