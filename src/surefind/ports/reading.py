"""Embedders, analyzers, sites and sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from surefind.model import (
    DEFAULT_LANGUAGE,
    AnchorRule,
    EmbedderFingerprint,
    PageFailure,
    PageLocation,
    PageUnchanged,
    SkippedPage,
    SourcePage,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Strings, so that the command line's help does not import numpy.
Vector: TypeAlias = "NDArray[np.float32]"
Matrix: TypeAlias = "NDArray[np.float32]"

Notify: TypeAlias = Callable[[str], None]
"""Receives one line of progress for people: a wait, a download, a skipped page."""


class EmbeddedQuery(NamedTuple):
    """A question's vector, and the milliseconds its embedding took, without queueing time."""

    vector: Vector
    took_ms: float


class QueryEmbedder(Protocol):
    """The part of an embedder that searches use. The fingerprint does not need the loaded model."""

    @property
    def fingerprint(self) -> EmbedderFingerprint: ...

    @property
    def batch_size(self) -> int:
        """How many texts to embed per call; callers split larger inputs."""
        ...

    async def embed_query(self, query: str) -> Vector: ...

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        """Like `embed_query` for each, in order. EmbeddingError if any of them fails."""
        ...


class Embedder(QueryEmbedder, Protocol):
    """Turns text into unit vectors of one fixed size."""

    @property
    def max_tokens(self) -> int:
        """The longest passage that the model reads; longer ones are truncated."""
        ...

    def count_tokens(self, passage: str) -> int:
        """Tokens by the embedder's own tokenizer, without special tokens.

        If that tokenizer is not available, this is a high estimate.
        """
        ...

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        """One row per passage, in order."""
        ...

    async def close(self) -> None: ...


class CacheCheck(NamedTuple):
    """The number of vectors in a cache, and how many of them are damaged."""

    entries: int
    damaged: int


class EmbeddingCache(Protocol):
    """Vectors of earlier runs. Losing the cache costs time, never correctness."""

    async def read(
        self, fingerprint: EmbedderFingerprint, input_type: str, passages: Sequence[str]
    ) -> Mapping[str, Vector]: ...

    async def write(
        self, fingerprint: EmbedderFingerprint, input_type: str, vectors: Mapping[str, Vector]
    ) -> None:
        """Store the vectors so that they survive a killed process."""
        ...

    async def check(self, *, repair: bool) -> CacheCheck:
        """Read every entry once. With `repair`, remove damaged ones."""
        ...

    async def close(self) -> None: ...


class Analyzer(Protocol):
    """Turns words into the terms that the lexical leg matches."""

    @property
    def name(self) -> str:
        """Identifies the rules: analyzers with equal names give equal terms."""
        ...

    def terms(self, word: str, language: str = DEFAULT_LANGUAGE) -> tuple[int, ...]:
        """The terms of one lower-case word: usually one, none for a stop word."""
        ...


class Site(Protocol):
    """Knows the URL of each page, whether it is published, and the anchors of its headings."""

    @property
    def anchors(self) -> AnchorRule: ...

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage: ...

    def addresses(self, link: str, page_url: str) -> Sequence[str]:
        """The URLs that a link may lead to; empty if only the site itself could resolve it.

        The link is valid if one of the URLs belongs to a page.
        """
        ...


class Source(Protocol):
    """A set of pages to ingest."""

    @property
    def name(self) -> str:
        """The first segment of every page's `source_path`."""
        ...

    @property
    def site(self) -> Site: ...

    @property
    def fingerprint(self) -> str:
        """Changes when page URLs may have changed without the pages changing."""
        ...

    @property
    def skipped(self) -> Sequence[PageFailure]:
        """Pages that the last read skipped, and why."""
        ...

    @property
    def unread(self) -> Mapping[str, int]:
        """The number of documents in formats that are not read, by format, in the last read."""
        ...

    def pages(
        self, known: Mapping[str, str] | None = None
    ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
        """Every page, in no particular order; an unreadable page is reported, and the rest follows.

        `known` maps the pages of the previous run to their validators.
        """
        ...
