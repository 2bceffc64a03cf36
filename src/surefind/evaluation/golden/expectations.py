"""What a golden test expects to find, and whether a chunk matches it.

An expectation names a chunk, a section, a page or a quotation. All but chunk ids survive
re-chunking, as they are resolved to chunks when a test runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from surefind.model import ChunkRecord, as_stored, reader_path


def squeezed(text: str) -> str:
    """Collapse each run of white space to one space."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class ByChunk:
    chunk_id: str
    grade: int = 1

    def __str__(self) -> str:
        return f"chunk {self.chunk_id}"

    def matches(self, record: ChunkRecord) -> bool:
        return record.chunk.id == self.chunk_id


@dataclass(frozen=True, slots=True)
class ByAddress:
    """A page, or a section of it with its subsections, by heading or by the anchor of `url`.

    A `url` that begins with a slash is a path on any host.
    """

    url: str
    heading: str = ""
    grade: int = 1

    def __str__(self) -> str:
        return f"{self.url} under {self.heading!r}" if self.heading else self.url

    def matches(self, record: ChunkRecord) -> bool:
        address, _, anchor = self.url.partition("#")
        if address_key(address) != address_key(record.url, path_only=address.startswith("/")):
            return False
        if anchor and unquote(anchor) != record.chunk.anchor:
            return False
        return not self.heading or folded(self.heading) in _headings(record)


@dataclass(frozen=True, slots=True)
class BySource:
    """A page by its source path, or a section of it by its heading."""

    source_path: str
    heading: str = ""
    grade: int = 1

    def __str__(self) -> str:
        return f"{self.source_path} under {self.heading!r}" if self.heading else self.source_path

    def matches(self, record: ChunkRecord) -> bool:
        if record.chunk.source_path != self.source_path:
            return False
        return not self.heading or folded(self.heading) in _headings(record)


@dataclass(frozen=True, slots=True)
class ByText:
    """A quotation from the passage; white space is ignored."""

    text: str
    grade: int = 1

    def __str__(self) -> str:
        quoted = squeezed(self.text)
        return f"the text {quoted if len(quoted) <= 60 else quoted[:59] + '…'!r}"

    def matches(self, record: ChunkRecord) -> bool:
        return squeezed(self.text) in squeezed(record.chunk.text)


@dataclass(frozen=True, slots=True)
class ByName:
    """A document of a test collection: a file name, a path or a chunk id."""

    name: str
    grade: int = 1

    def __str__(self) -> str:
        return f"document {self.name}"

    def matches(self, record: ChunkRecord) -> bool:
        chunk = record.chunk
        path = PurePosixPath(chunk.source_path)
        return self.name in {chunk.id, chunk.source_path, path.name, path.stem}


Expectation = ByChunk | ByAddress | BySource | ByText | ByName


_SUFFIX = re.compile(r"(?:/index)?\.(?:html?|mdx?)$|/index$", re.IGNORECASE)


def address_key(url: str, *, path_only: bool = False) -> str:
    """Equal for URLs of one page.

    They may differ in http or https, the case of the host, percent-encoding, a fragment, a trailing
    slash, a suffix `.html`, `.htm`, `.md` or `.mdx`, and a last step `index`.

    >>> address_key("http://Docs.example.com/guide/index.html#power")
    'https://docs.example.com/guide'
    """
    own = reader_path(as_stored(url))
    if own is not None:
        path = _SUFFIX.sub("", unquote(own.partition("#")[0]).rstrip("/"))
        return path if path_only else f"surefind://{path.removeprefix('/read/')}"
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    path = _SUFFIX.sub("", unquote(parts.path).rstrip("/"))
    if path_only or not parts.netloc:
        return path
    query = f"?{parts.query}" if parts.query else ""
    scheme = "https" if parts.scheme in {"", "http"} else parts.scheme
    return f"{scheme}://{parts.netloc.lower()}{path}{query}"


def _headings(record: ChunkRecord) -> set[str]:
    return {folded(heading) for heading in (*record.chunk.heading_path, record.section)}


def folded(heading: str) -> str:
    """Headings are compared without case and extra white space."""
    return squeezed(heading).casefold()
