"""Small true implementations of the ports: exact, in memory, and able to fail on demand."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from surefind.errors import EmbeddingError, StoreError, UnknownDocument, UnknownGeneration
from surefind.model import (
    Attribute,
    Chunk,
    ChunkRecord,
    Document,
    DocumentRecord,
    EmbedderFingerprint,
    GenerationRef,
    Manifest,
    PageFailure,
    PageUnchanged,
    Ranking,
    SourcePage,
    Terms,
)
from surefind.ports import DenseProbe, IndexEntry, Matrix, Site, TermProbe, Vector
from surefind.services.filtering import failing
from surefind.text.sites import PlainSite, ReaderSite

WORDS = re.compile(r"\w+")


class WordEmbedder:
    """Texts that share words are near each other. `fail_at` makes the nth passage call fail."""

    def __init__(self, dimensions: int = 32, weights: str = "words-1") -> None:
        self.dimensions = dimensions
        self.weights = weights
        self.calls = 0
        self.passages: list[str] = []
        self.fail_at: int | None = None

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return EmbedderFingerprint("fake", "words", self.dimensions, self.weights, "")

    @property
    def max_tokens(self) -> int:
        return 8192

    def count_tokens(self, passage: str) -> int:
        return len(WORDS.findall(passage))

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        self.calls += 1
        if self.fail_at == self.calls:
            raise EmbeddingError("the fake embedder fails, as it was told to")
        self.passages += passages
        rows = [self._embed(passage) for passage in passages]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), dtype=np.float32)

    async def embed_query(self, query: str) -> Vector:
        return self._embed(query)

    async def close(self) -> None:
        pass

    def _embed(self, text: str) -> Vector:
        vector = np.full(self.dimensions, 1e-3, dtype=np.float32)
        for word in WORDS.findall(text.lower()):
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % self.dimensions] += 1.0
            vector[digest[1] % self.dimensions] += 0.5
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class MemoryCache:
    def __init__(self) -> None:
        self._vectors: dict[tuple[EmbedderFingerprint, str, str], Vector] = {}

    async def read(
        self, fingerprint: EmbedderFingerprint, input_type: str, passages: Sequence[str]
    ) -> Mapping[str, Vector]:
        keys = {passage: (fingerprint, input_type, passage) for passage in passages}
        return {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}

    async def write(
        self, fingerprint: EmbedderFingerprint, input_type: str, vectors: Mapping[str, Vector]
    ) -> None:
        for passage, vector in vectors.items():
            self._vectors[fingerprint, input_type, passage] = vector

    async def close(self) -> None:
        pass


class WordAnalyzer:
    """Every word is a term."""

    name = "fake-words"

    def terms(self, word: str) -> tuple[int, ...]:
        return (int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]),)


def word_terms(text: str) -> Terms:
    """A text's words with their counts."""
    counts = Counter(
        term for word in WORDS.findall(text.lower()) for term in WordAnalyzer().terms(word)
    )
    ids = sorted(counts)
    return Terms(tuple(ids), tuple(float(counts[term]) for term in ids))


class PageSource:
    """Pages held in memory: path below the root -> content, or a failure's reason."""

    def __init__(
        self,
        pages: Mapping[str, str | bytes],
        failing: Mapping[str, str] | None = None,
        name: str = "docs",
        base_url: str | None = None,
        site: Site | None = None,
    ) -> None:
        self._pages = pages
        self._failing = failing or {}
        self.name = name
        own = PlainSite(base_url) if base_url else ReaderSite("docs", name)
        self.site: Site = site or own
        self.fingerprint = f"site {base_url}"

    @property
    def left(self) -> Sequence[PageFailure]:
        return ()

    async def pages(
        self, known: Mapping[str, str] | None = None
    ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
        for path in sorted({*self._pages, *self._failing}):
            source_path = f"{self.name}/{path}"
            if path in self._failing:
                yield PageFailure(source_path, self._failing[path])
            else:
                content = self._pages[path]
                raw = content.encode() if isinstance(content, str) else content
                yield SourcePage(source_path, path, raw, path[path.rindex(".") :])


# --- stores -----------------------------------------------------------------------------------


class MemoryIndexStore:
    """An exact index: what the real one is compared with."""

    def __init__(self) -> None:
        self.generations: dict[GenerationRef, dict[UUID, IndexEntry]] = {}

    async def require_room(self, points: int, dimensions: int) -> None:
        pass

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> "MemoryIndexWriter":
        entries = dict(self.generations[copy_of]) if copy_of else {}
        self.generations[ref] = entries
        return MemoryIndexWriter(entries, dimensions)

    async def open(self, ref: GenerationRef) -> "MemoryIndex":
        if ref not in self.generations:
            raise StoreError(f"generation {ref} has no index")
        return MemoryIndex(dict(self.generations[ref]))

    async def drop(self, ref: GenerationRef) -> None:
        self.generations.pop(ref, None)


class MemoryIndexWriter:
    def __init__(self, entries: dict[UUID, IndexEntry], dimensions: int) -> None:
        self._entries = entries
        self._dimensions = dimensions

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            if entry.vector.shape != (self._dimensions,) or not np.isfinite(entry.vector).all():
                raise StoreError(f"the vector of {entry.record.chunk.id} is not right")
        self._entries.update({entry.record.chunk.point_id: entry for entry in entries})

    async def delete(self, point_ids: Sequence[UUID]) -> None:
        for point_id in point_ids:
            self._entries.pop(point_id, None)

    async def finish(self) -> int:
        return len(self._entries)

    async def abandon(self) -> None:
        pass


class MemoryIndex:
    def __init__(self, entries: Mapping[UUID, IndexEntry]) -> None:
        self._entries = entries

    async def probe(self, probes: Sequence[DenseProbe | TermProbe]) -> list[Ranking]:
        return [self._answer(probe) for probe in probes]

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        return {
            point_id: replace(self._entries[point_id].record, term_count=0)
            for point_id in point_ids
            if point_id in self._entries
        }

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        missing = [point_id for point_id in point_ids if point_id not in self._entries]
        if missing:
            raise StoreError(f"there is no point {missing[0]}")
        return np.stack([self._entries[point_id].vector for point_id in point_ids])

    async def count(self) -> int:
        return len(self._entries)

    async def close(self) -> None:
        pass

    def _answer(self, probe: DenseProbe | TermProbe) -> Ranking:
        scored = [
            (self._score(probe, entry), point_id)
            for point_id, entry in self._entries.items()
            if (probe.among is None or point_id in probe.among)
            and not failing(entry.record, probe.where)
        ]
        if isinstance(probe, TermProbe):
            scored = [item for item in scored if item[0] > 0]
        best = sorted(scored, key=lambda item: (-item[0], item[1].int))[: probe.limit]
        return Ranking([point for _, point in best], [score for score, _ in best])

    def _score(self, probe: DenseProbe | TermProbe, entry: IndexEntry) -> float:
        if isinstance(probe, DenseProbe):
            return float(probe.vector @ entry.vector / np.linalg.norm(entry.vector))
        stored = dict(zip(entry.terms.ids, entry.terms.weights, strict=True))
        return sum(
            weight * stored[term] * self._idf(term)
            for term, weight in zip(probe.terms.ids, probe.terms.weights, strict=True)
            if term in stored
        )

    def _idf(self, term: int) -> float:
        total = len(self._entries)
        with_term = sum(term in entry.terms.ids for entry in self._entries.values())
        return math.log((total - with_term + 0.5) / (with_term + 0.5) + 1)


@dataclass
class MemoryCatalogStore:
    """`away` makes every open fail, as a database does that can't be reached."""

    documents: dict[GenerationRef, dict[str, tuple[Document, list[ChunkRecord]]]] = field(
        default_factory=dict
    )
    sealed: dict[GenerationRef, Manifest] = field(default_factory=dict)
    pointers: dict[str, int] = field(default_factory=dict)
    away: bool = False

    async def collections(self) -> list[str]:
        return sorted(self.pointers)

    async def current(self, collection: str) -> int | None:
        return self.pointers.get(collection)

    async def token(self, collection: str) -> object:
        return self.pointers.get(collection)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        if ref not in self.sealed:
            raise UnknownGeneration(f"there is no generation {ref}")
        return self.sealed[ref]

    async def manifests(self, collection: str) -> list[Manifest]:
        found = [m for ref, m in self.sealed.items() if ref.collection == collection]
        return sorted(found, key=lambda manifest: manifest.number)

    async def complete(self, collection: str) -> list[GenerationRef]:
        return [manifest.ref for manifest in await self.manifests(collection)]

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        return [r for r in self.documents if r.collection == collection and r not in self.sealed]

    async def next_ref(self, collection: str) -> GenerationRef:
        numbers = [ref.number for ref in self.documents if ref.collection == collection]
        return GenerationRef(collection, max(numbers, default=0) + 1)

    async def create(self, ref: GenerationRef, copy_of: GenerationRef | None) -> "MemoryCatalog":
        self.documents[ref] = dict(self.documents[copy_of]) if copy_of else {}
        return MemoryCatalog(self.documents[ref], self)

    async def open(self, ref: GenerationRef) -> "MemoryCatalog":
        if self.away:
            raise StoreError("the catalog is away")
        return MemoryCatalog(dict(self.documents[ref]), self)

    async def seal(self, manifest: Manifest) -> None:
        self.sealed[manifest.ref] = manifest

    async def point_to(self, ref: GenerationRef) -> None:
        await self.manifest(ref)
        self.pointers[ref.collection] = ref.number

    async def drop(self, ref: GenerationRef) -> None:
        self.sealed.pop(ref, None)
        self.documents.pop(ref, None)

    @asynccontextmanager
    async def writing(self, purpose: str) -> AsyncIterator[None]:
        yield


class MemoryCatalog:
    def __init__(
        self,
        documents: dict[str, tuple[Document, list[ChunkRecord]]],
        store: MemoryCatalogStore,
    ) -> None:
        self._documents = documents
        self._store = store

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        if self._store.away:
            raise StoreError("the catalog is away")
        records = {record.chunk.point_id: record for record in self._records()}
        return {point: records[point] for point in point_ids if point in records}

    async def chunk(self, chunk_id: str) -> ChunkRecord | None:
        return next((r for r in self._records() if r.chunk.id == chunk_id), None)

    async def document(self, source_path: str) -> DocumentRecord | None:
        return next((d for d in await self.documents() if d.source_path == source_path), None)

    async def documents(self) -> list[DocumentRecord]:
        return [
            DocumentRecord(
                d.source_path,
                d.url,
                d.slug,
                d.title,
                d.content_hash,
                d.validator,
                len(records),
                d.attributes,
            )
            for _, (d, records) in sorted(self._documents.items())
        ]

    async def document_chunks(self, source_path: str) -> list[ChunkRecord]:
        return list(self._documents[source_path][1]) if source_path in self._documents else []

    async def document_text(self, source_path: str) -> str:
        if source_path not in self._documents:
            raise UnknownDocument(f"there is no document {source_path!r}")
        return self._documents[source_path][0].text

    async def chunks(self) -> AsyncIterator[ChunkRecord]:
        for record in self._records():
            yield record

    async def count(self) -> int:
        return len(self._records())

    async def close(self) -> None:
        pass

    async def put(self, document: Document, chunks: Sequence[ChunkRecord]) -> None:
        self._documents[document.source_path] = (document, list(chunks))

    async def remove(self, source_path: str) -> None:
        self._documents.pop(source_path, None)

    async def total_terms(self) -> int:
        return sum(record.term_count for record in self._records())

    async def finish(self) -> int:
        return len(self._records())

    async def abandon(self) -> None:
        pass

    def _records(self) -> list[ChunkRecord]:
        return [record for _, (_, records) in sorted(self._documents.items()) for record in records]


# --- values -----------------------------------------------------------------------------------

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ATTRIBUTES: dict[str, Attribute] = {
    "date": "2026-01-02",
    "draft": False,
    "order": 3,
    "tags": ("alpha", "beta"),
    "weight": 0.5,
}


def record(number: int, text: str = "some words", source_path: str = "docs/page.md") -> ChunkRecord:
    return ChunkRecord(
        chunk=Chunk(
            id=f"chunk-{number}",
            source_path=source_path,
            position=number,
            text=text,
            start=0,
            end=len(text),
            heading_path=("Page", "Überschrift"),
            context="Page",
            anchor="section",
            tokens=len(text.split()),
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
            has_code=number % 2 == 0,
            content_type="text",
        ),
        url="https://docs.example.com/page",
        slug="page",
        title="Page",
        created_at=NOW,
        attributes=ATTRIBUTES,
        term_count=len(text.split()),
    )


def document(source_path: str = "docs/page.md", text: str = "some words") -> Document:
    return Document(
        source_path=source_path,
        url="https://docs.example.com/page",
        slug="page",
        title="Page",
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        front_matter={"title": "Page", "date": "2026-01-02"},
        attributes=ATTRIBUTES,
    )
