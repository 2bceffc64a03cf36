"""Reading: who embeds, who finds terms, and where pages come from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from surefind.model import (
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


# Spelled as strings so that the command line's help does not wait for numpy.
Vector: TypeAlias = "NDArray[np.float32]"
Matrix: TypeAlias = "NDArray[np.float32]"

Notify: TypeAlias = Callable[[str], None]
"""Takes a line of progress for people: a wait, a download, a page that was skipped."""


class EmbeddedQuery(NamedTuple):
    """A question's vector, and the milliseconds of its embedding, without any wait for its turn."""

    vector: Vector
    took_ms: float


class QueryEmbedder(Protocol):
    """What a search asks of an embedder. Its fingerprint is known before any model is loaded."""

    @property
    def fingerprint(self) -> EmbedderFingerprint: ...

    @property
    def batch_size(self) -> int:
        """How many texts it takes at a time; whoever has more may ask for several such parts."""
        ...

    async def embed_query(self, query: str) -> Vector: ...

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        """What `embed_query` gives for each, in order. EmbeddingError if any of them fails."""
        ...


class Embedder(QueryEmbedder, Protocol):
    """Turns text into unit vectors of one fixed size."""

    @property
    def max_tokens(self) -> int:
        """The longest passage it reads whole; what is longer is cut."""
        ...

    def count_tokens(self, passage: str) -> int:
        """By the embedder's own tokenizer, without the marks it adds around a passage.

        Where that tokenizer is not at hand, an estimate that is rather too high.
        """
        ...

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        """One row per passage, in order."""
        ...

    async def close(self) -> None: ...


class CacheCheck(NamedTuple):
    """How many vectors a cache holds, and how many of them are not as they were written."""

    entries: int
    damaged: int


class EmbeddingCache(Protocol):
    """Vectors already paid for, kept across runs. Losing it costs time, never truth."""

    async def read(
        self, fingerprint: EmbedderFingerprint, input_type: str, passages: Sequence[str]
    ) -> Mapping[str, Vector]: ...

    async def write(
        self, fingerprint: EmbedderFingerprint, input_type: str, vectors: Mapping[str, Vector]
    ) -> None:
        """Durable against a killed process when it returns."""
        ...

    async def check(self, *, repair: bool) -> CacheCheck:
        """Read all of it once. With `repair`, what is damaged is removed."""
        ...

    async def close(self) -> None: ...


class Analyzer(Protocol):
    """Turns words into the terms that the lexical leg matches."""

    @property
    def name(self) -> str:
        """Names the rules; two analyzers of one name give the same terms."""
        ...

    def terms(self, word: str) -> tuple[int, ...]:
        """Of one word in lower case: mostly one term, none where the word says nothing."""
        ...


class Site(Protocol):
    """Knows where a page is read, and whether it is shown at all."""

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage: ...

    def addresses(self, link: str, page_url: str) -> Sequence[str]:
        """Where a link on a page may lead; nowhere where only the site itself could tell.

        The link leads to a page if one of them is a page's.
        """
        ...


class Source(Protocol):
    """A body of pages."""

    @property
    def name(self) -> str:
        """The first part of each of its pages' `source_path`."""
        ...

    @property
    def site(self) -> Site: ...

    @property
    def fingerprint(self) -> str:
        """Changes when the addresses of its pages may, though the pages have not changed."""
        ...

    @property
    def left(self) -> Sequence[PageFailure]:
        """Pages that the last reading met and did not take, and why."""
        ...

    def pages(
        self, known: Mapping[str, str] | None = None
    ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
        """Every page, in an order of its own; one that can't be read is a failure, not an end.

        `known` are the pages of the last time with their validators.
        """
        ...
