"""What the services ask of the outside world. Each port has a contract suite in tests/contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias
from uuid import UUID

from surefind.model import (
    ApiKey,
    ChunkRecord,
    CollectionFacts,
    Condition,
    Document,
    DocumentRecord,
    EmbedderFingerprint,
    GenerationRef,
    Left,
    Manifest,
    PageFailure,
    PageUnchanged,
    Place,
    Ranking,
    SourcePage,
    Terms,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Spelled as strings so that the command line's help does not wait for numpy.
Vector: TypeAlias = "NDArray[np.float32]"
Matrix: TypeAlias = "NDArray[np.float32]"


class QueryEmbedder(Protocol):
    """What a search asks of an embedder. Its fingerprint is known before any model is loaded."""

    @property
    def fingerprint(self) -> EmbedderFingerprint: ...

    async def embed_query(self, query: str) -> Vector: ...


class Embedder(QueryEmbedder, Protocol):
    """Turns text into unit vectors of one fixed size."""

    @property
    def max_tokens(self) -> int:
        """The longest passage it reads whole; what is longer is cut."""
        ...

    @property
    def batch_size(self) -> int:
        """How many passages it takes at a time; whoever has more may ask for several such parts."""
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

    def place(self, site_path: str, front_matter: Mapping[str, object]) -> Place | Left: ...

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


# --- the index --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DenseProbe:
    """The nearest by cosine. `among` restricts it to those points; that, and `exact`, scan.

    A scan looks at the vectors as they were given, whatever smaller form is searched otherwise.
    """

    vector: Vector
    limit: int
    among: frozenset[UUID] | None = None
    where: tuple[Condition, ...] = ()
    exact: bool = False


@dataclass(frozen=True, slots=True)
class TermProbe:
    """The best by BM25, with the whole index's statistics, whatever restricts it."""

    terms: Terms
    limit: int
    among: frozenset[UUID] | None = None
    where: tuple[Condition, ...] = ()


class VectorIndex(Protocol):
    """One generation's index, open for reading."""

    async def probe(self, probes: Sequence[DenseProbe | TermProbe]) -> list[Ranking]:
        """One ranking per probe, best first, ties in the order of the point ids."""
        ...

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """The records as the index keeps them: they stand in when the catalog is away."""
        ...

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        """One row per point, in order; StoreError where one is not there."""
        ...

    async def count(self) -> int: ...

    async def indexed(self) -> int:
        """How many of the vectors are found by an approximate index; zero where each is looked at.

        An estimate that is rather too low: what the vendor counts is not always the vectors alone.
        """
        ...

    async def close(self) -> None: ...


class Reranker(Protocol):
    """Reads a question and passages together, and says how well each answers it."""

    @property
    def name(self) -> str: ...

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score per passage, in order, each in 0..1."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class IndexEntry:
    record: ChunkRecord
    vector: Vector
    terms: Terms


class IndexWriter(Protocol):
    """One generation's index while it is being built; nobody reads it yet."""

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        """All or nothing: a wrong size or a NaN is refused before anything is written."""
        ...

    async def delete(self, point_ids: Sequence[UUID]) -> None: ...

    async def finish(self) -> int:
        """Make it fast and durable, and close it; the number of points."""
        ...

    async def abandon(self) -> None:
        """Let go of it; what was written is left to `IndexStore.drop`."""
        ...


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What a store says of itself. `clock_ahead_s` is None where it has no clock of its own."""

    name: str
    version: str
    warnings: tuple[str, ...] = ()
    clock_ahead_s: float | None = None


class IndexStore(Protocol):
    async def facts(self) -> StoreFacts:
        """Asked anew each time; StoreError where it does not answer, or won't."""
        ...

    async def held(self) -> list[GenerationRef]:
        """The generations that it has anything of, and that are this installation's."""
        ...

    async def require_room(self, points: int, dimensions: int) -> None:
        """StoreError when an index of that many points will not fit where it would be written."""
        ...

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> IndexWriter: ...

    async def open(self, ref: GenerationRef) -> VectorIndex: ...

    async def drop(self, ref: GenerationRef) -> None:
        """Remove it where it exists, if it is this installation's.

        Readers that have it open keep reading, or are told with a StoreError that it is gone.
        """
        ...

    async def published(self, ref: GenerationRef) -> None:
        """Readers see that generation from now on: a hint for whoever else reads the index.

        It raises nothing: what goes wrong concerns others, and is told.
        """
        ...

    async def close(self) -> None: ...


# --- the catalog ------------------------------------------------------------------------------


class Catalog(Protocol):
    """One generation's documents and chunks, open for reading."""

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        """In one round trip; a point that the catalog does not know is left out."""
        ...

    async def chunk(self, chunk_id: str) -> ChunkRecord | None: ...

    async def document(self, source_path: str) -> DocumentRecord | None: ...

    async def documents(
        self, after: str | None = None, limit: int | None = None
    ) -> list[DocumentRecord]:
        """In the order of their source paths, by code points, whatever the machine's language.

        Only those whose path comes after that one, and at most so many; both without reading more.
        """
        ...

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        """In the order of their positions."""
        ...

    async def document_text(self, source_path: str) -> str:
        """The cleaned text that the chunks' offsets count in; UnknownDocument for no document."""
        ...

    def chunks(self) -> AsyncIterator[ChunkRecord]:
        """Every chunk, by source path and position, without holding them all in memory."""
        ...

    async def count(self) -> int: ...

    async def close(self) -> None: ...


class WholeCatalog(Catalog, Protocol):
    """A catalog that gives back all that was put there."""

    async def whole_document(self, source_path: str) -> Document:
        """UnknownDocument for no document."""
        ...


class CatalogWriter(Catalog, Protocol):
    """One generation's catalog while it is being built."""

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        """Replace a document and all of its chunks."""
        ...

    async def remove(self, source_path: str) -> None: ...

    async def total_terms(self) -> int:
        """The sum of every chunk's `term_count`."""
        ...

    async def finish(self) -> int:
        """Make it durable; the number of chunks. The writer is closed."""
        ...

    async def abandon(self) -> None: ...


class PublishedCatalogs(Protocol):
    """What readers ask of a catalog store."""

    async def current(self, collection: str) -> int | None:
        """The number of the generation that readers see; None where nothing was published."""
        ...

    async def token(self, collection: str) -> object:
        """Changes whenever the pointer is written, also when it names the same number again."""
        ...

    async def manifest(self, ref: GenerationRef) -> Manifest:
        """Raises UnknownGeneration when there is none."""
        ...

    async def open(self, ref: GenerationRef) -> Catalog: ...


class CatalogStore(PublishedCatalogs, Protocol):
    """Catalogs, manifests, and the pointer that says which generation readers see."""

    async def open(self, ref: GenerationRef) -> WholeCatalog: ...

    async def facts(self) -> StoreFacts:
        """Asked anew each time; StoreError where it does not answer, or won't."""
        ...

    async def identity(self) -> str:
        """Tells this body of catalogs from all others: hexadecimal digits, kept with it for good.

        An index that several share by one server knows by it whose collections are whose.
        """
        ...

    async def collections(self) -> list[str]: ...

    async def manifests(self, collection: str) -> list[Manifest]:
        """Every complete generation, oldest first."""
        ...

    async def complete(self, collection: str) -> list[GenerationRef]:
        """The same without looking into them, so that a damaged one is no hindrance."""
        ...

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        """What a run that died has left behind."""
        ...

    async def next_ref(self, collection: str) -> GenerationRef: ...

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> CatalogWriter: ...

    async def seal(self, manifest: Manifest) -> None:
        """Write the manifest: from now on the generation is complete, though not yet current.

        Sealing again puts the new manifest in the place of the old one, at once and as a whole.
        """
        ...

    async def point_to(self, ref: GenerationRef) -> None:
        """Move the pointer, atomically and durably. This is publishing, and rolling back."""
        ...

    async def drop(self, ref: GenerationRef) -> None: ...

    def writing(self, purpose: str) -> AbstractAsyncContextManager[None]:
        """Hold the one writer's place; StoreBusy, naming the holder, when it is taken."""
        ...

    async def close(self) -> None: ...


# --- archives ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MovedPage:
    """A document on its way from one store to another: its chunks, and one vector for each."""

    document: Document
    records: tuple[ChunkRecord, ...]
    vectors: Matrix


# --- collections that something else filled ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForeignPoint:
    """A point as its store has it: any payload, or none, and the vectors that were asked for."""

    id: UUID
    payload: Mapping[str, object] | None
    vector: Vector | None = None
    terms: Terms | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which parts of a point to bring: the payload, a dense vector by name, a sparse one."""

    payload: bool = True
    vector: str | None = None
    terms: str | None = None


Alternatives: TypeAlias = Sequence[Sequence[Condition]]
"""Of each, one condition has to hold; of one that excludes, all."""


class ForeignCollection(Protocol):
    """A collection that something else filled. Nothing here can write.

    Keys of conditions are paths of the payload. Points that are known by a number have ids made by
    `numbered_point`.
    """

    async def facts(self) -> CollectionFacts:
        """UnknownCollection, with names that are near, where there is none."""
        ...

    async def nearest(
        self, probe: DenseProbe | TermProbe, using: str, where: Alternatives
    ) -> list[tuple[UUID, float]]:
        """By the engine's own score, best first. The probe's own conditions are not looked at."""
        ...

    async def points(self, ids: Sequence[UUID], wanted: Wanted) -> list[ForeignPoint]:
        """Those that are there, in any order."""
        ...

    async def page(
        self,
        after: UUID | None,
        limit: int,
        wanted: Wanted,
        where: Alternatives = (),
    ) -> tuple[list[ForeignPoint], UUID | None]:
        """In the order of ids from `after` on, and where the next page begins."""
        ...

    async def close(self) -> None: ...


# --- the server -------------------------------------------------------------------------------


class KeyStore(Protocol):
    """The keys of a server. What can't be read is an error, never an empty store."""

    async def read(self) -> Sequence[ApiKey]:
        """In the order of their making."""
        ...

    async def change(self, edit: Callable[[Sequence[ApiKey]], Sequence[ApiKey]]) -> None:
        """Put what `edit` makes of them in their place: one change at a time, all or nothing."""
        ...

    async def token(self) -> object:
        """Changes whenever the keys do; cheap enough for every request."""
        ...
