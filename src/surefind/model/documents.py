"""Pages, documents and chunks: the types of ingested data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias
from urllib.parse import quote
from uuid import UUID, uuid5

from surefind.errors import InputError
from surefind.model.filters import Attribute
from surefind.model.language_codes import language_in
from surefind.model.read_only import read_only
from surefind.model.strings import check_string

POINT_NAMESPACE = UUID("5f0b1d3e-6f0c-5b52-9a55-4b0f7b0f2f5e")
"""Point ids are UUIDv5 of the chunk id in this namespace; changing it orphans every index."""


def point_id(chunk_id: str) -> UUID:
    return uuid5(POINT_NAMESPACE, chunk_id)


UrlStyle: TypeAlias = Literal["bare", "directory", "html"]
"""The addresses of pages: `guide/install`, `guide/install/` or `guide/install.html`."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that a program has in memory: `Page("wiki/install.md", "# Install")`.

    `source_path` is its identity. The first part names its source, and a suffix such as `.html` or
    `.txt` selects the format of `text`; without one it is Markdown. `url` and `title` replace those
    that would be derived from the path and from the text.
    """

    source_path: str
    text: str
    url: str = ""
    title: str = ""
    version: str = ""
    locale: str = ""

    def __post_init__(self) -> None:
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if not isinstance(value, str):
                raise InputError(f"Page: {field_.name} must be a string, not {value!r}")
        for name in ("source_path", "url", "title", "version", "locale"):
            check_string(f"Page: {name}", getattr(self, name))
        path = self.source_path
        parts = path.split("/")
        if len(parts) < 2 or not path.isprintable() or {"", ".", ".."} & set(parts):
            raise InputError(
                f"Page: source_path must be the name of a source and a path below it, such as "
                f"wiki/install.md, not {path!r}"
            )


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One unparsed page, as read from its source.

    `source_path` identifies the page; `site_path` is its path below the source's root. `suffix`
    gives the format of a page whose path does not show it. `validator` lets the source detect an
    unchanged page. `content` includes files that the page includes, so their changes count too.
    """

    source_path: str
    site_path: str
    content: bytes
    suffix: str = ""
    validator: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageUnchanged:
    """A page that its source reports as unchanged."""

    source_path: str


@dataclass(frozen=True, slots=True)
class PageFailure:
    """A problem with a page: why it failed, was skipped, or should be checked."""

    source_path: str
    reason: str


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link, as written on its page, to a page or heading that does not exist."""

    source_path: str
    link: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The URL of a page on its site, and the title that the site gives it, if any."""

    url: str
    version: str = ""
    locale: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class AnchorRule:
    """How a site generator derives the anchors of headings.

    `split` separates a heading's title from the anchor that it declares, if any. `slug` gives the
    anchor of a title, and `numbered` the n-th alternative to an anchor that is taken. Only
    headings from `first_level` on get an anchor; those above count as names that are taken if
    `counts_titles`. `counts_declared` means that an anchor declared
    earlier is taken, unless it begins with the mark `included`, which is not a part of it. A
    heading that declares the anchor `unknown` gets no anchor. HTML pages have
    only the ids that are in them, unless the rule is used `in_html`, too.
    """

    split: Callable[[str], tuple[str, str]]
    slug: Callable[[str], str]
    numbered: Callable[[str, int], str] = "{}-{}".format
    first_level: int = 1
    counts_titles: bool = True
    counts_declared: bool = True
    unknown: str | None = None
    included: str = ""
    in_html: bool = False


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """How some formats are read. `openapi_anchors` names the tool that publishes API references."""

    notebook_outputs: bool = False
    openapi_anchors: str = "redoc"

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """The options that differ from the defaults."""
        default = FormatOptions()
        names = (item.name for item in fields(self))
        chosen = ((name, getattr(self, name)) for name in names)
        return tuple(f"{name} {value}" for name, value in chosen if value != getattr(default, name))


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that its site does not publish, and why."""

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


CONTENT_TYPES = ("text", "code", "mixed")


@read_only
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
        """The text to embed: the chunk's text below the headings that it does not contain."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text

    @property
    def point_id(self) -> UUID:
        return point_id(self.id)


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as stored in a catalog."""

    source_path: str
    url: str
    slug: str
    title: str
    content_hash: str
    validator: str
    chunks: int
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@read_only
@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk as stored in a catalog, with the document fields needed to show it.

    In a connected collection, `point` is the store's own id and `payload` the stored payload.
    `flaws` lists what is missing or unreadable in the payload. `assumed` names the fields that hold
    a default value: the id for `source_path`, 0 for `position`, the year 1970 for `created_at`.
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
    def language(self) -> str:
        return language_in(self.attributes)

    @property
    def section(self) -> str:
        return self.chunk.heading_path[-1] if self.chunk.heading_path else self.title

    @property
    def breadcrumb(self) -> str:
        return " > ".join(self.chunk.heading_path)

    @property
    def link(self) -> str:
        """The page's URL with the anchor of the chunk: `#install`, `#page=3`."""
        return (
            f"{self.url}#{quote(self.chunk.anchor, safe='/=')}" if self.chunk.anchor else self.url
        )


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids and their weights, sorted by id."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]
