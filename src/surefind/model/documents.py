"""Pages, documents, chunks: the words of what goes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from urllib.parse import quote
from uuid import UUID, uuid5

from surefind.model.filters import Attribute

POINT_NAMESPACE = UUID("5f0b1d3e-6f0c-5b52-9a55-4b0f7b0f2f5e")
"""Point ids are UUIDv5 of the chunk id in this namespace; changing it orphans every index."""


def point_id(chunk_id: str) -> UUID:
    return uuid5(POINT_NAMESPACE, chunk_id)


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One page as it lies at its source, before anything has looked into it.

    `source_path` is the page's identity; `site_path` is where it stands below its root; `suffix`
    says how it is written, where its path does not; by `validator` its source may recognise it.
    `content` holds also what the page takes in from other files, so a change there is one here.
    """

    source_path: str
    site_path: str
    content: bytes
    suffix: str = ""
    validator: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageUnchanged:
    """A page of which its source knows that it is as it was."""

    source_path: str


@dataclass(frozen=True, slots=True)
class PageFailure:
    """Something to say of a page: why it could not be used, was left out, or wants a look."""

    source_path: str
    reason: str


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link, as its page spells it, that leads to no page, or to no heading of one."""

    source_path: str
    link: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageLocation:
    """Where a site shows a page, and under which title where that is not the page's own."""

    url: str
    version: str = ""
    locale: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that its site leaves out, and why."""

    reason: str


class PageKind(StrEnum):
    """Pages that are not ordinary documentation. INDEX is a list of links."""

    CHANGELOG = "changelog"
    BLOG = "blog"
    UPGRADE = "upgrade"
    INDEX = "index"
    TEST = "test"


KindWeights: TypeAlias = Mapping[str, float]
"""What the hybrid score of a page is multiplied by, by the page's kind."""


@dataclass(frozen=True, slots=True)
class Document:
    source_path: str
    url: str
    slug: str
    title: str
    text: str
    content_hash: str
    version: str = ""
    locale: str = ""
    validator: str = ""
    front_matter: Mapping[str, object] = field(default_factory=dict)
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage: `text` is exactly `document.text[start:end]`."""

    id: str
    source_path: str
    position: int
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    context: str
    anchor: str
    tokens: int
    content_hash: str
    has_code: bool
    content_type: str

    @property
    def passage(self) -> str:
        """What is embedded: the text under the headings that it does not itself contain."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text

    @property
    def point_id(self) -> UUID:
        return point_id(self.id)


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What a catalog keeps of a document."""

    source_path: str
    url: str
    slug: str
    title: str
    content_hash: str
    validator: str
    chunks: int
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """What a catalog keeps of a chunk, with what it needs of its document to be shown.

    In a connected collection, `point` is the store's own id and `payload` what is stored there.
    `flaws` say what is missing or unreadable in it, and `assumed` name the fields that hold a
    stand-in: `source_path` the id, `position` 0, and `created_at` the year 1970.
    """

    chunk: Chunk
    url: str
    slug: str
    title: str
    created_at: datetime
    version: str = ""
    locale: str = ""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    term_count: int = 0
    point: UUID | None = None
    payload: Mapping[str, object] | None = None
    flaws: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def point_id(self) -> UUID:
        return self.chunk.point_id if self.point is None else self.point

    @property
    def section(self) -> str:
        return self.chunk.heading_path[-1] if self.chunk.heading_path else self.title

    @property
    def breadcrumb(self) -> str:
        return " > ".join(self.chunk.heading_path)

    @property
    def link(self) -> str:
        """The page's address at the chunk's own heading."""
        return f"{self.url}#{quote(self.chunk.anchor)}" if self.chunk.anchor else self.url


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A bag of words: term ids with their weights, in the order of the ids."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]
