"""A dataset in surefind's own stores, as an ingest writes it, without an ingest and its model."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from bench.support.dataset import DIMENSIONS, Dataset
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndexStore
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.model import (
    Chunk,
    ChunkerSettings,
    ChunkRecord,
    Document,
    EmbedderFingerprint,
    GenerationRef,
    LexicalSettings,
    Manifest,
)
from surefind.ports import EmbeddedQuery, IndexEntry, Vector
from surefind.services.encoding.bm25 import Bm25Encoder

BATCH, CHUNKS_A_PAGE, MEAN_TERMS = 500, 10, 60.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PREPARED = EmbedderFingerprint("bench", "scattered", DIMENSIONS, "0", "")
REF = GenerationRef("docs", 1)


class Prepared:
    """An embedder with precomputed vectors, which takes no time."""

    fingerprint = PREPARED
    batch_size = BATCH

    def __init__(self, dataset: Dataset) -> None:
        rows: list[Vector] = list(dataset.question_vectors)
        self._vectors = dict(zip(dataset.questions, rows, strict=True))

    async def embed_query(self, query: str) -> Vector:
        return self._vectors[query]

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        return [EmbeddedQuery(self._vectors[query], 0.0) for query in queries]


def record(number: int, text: str) -> ChunkRecord:
    page, position = divmod(number, CHUNKS_A_PAGE)
    chunk = Chunk(
        id=f"chunk-{number}",
        source_path=f"docs/{page}.md",
        position=position,
        text=text,
        start=0,
        end=len(text),
        heading_path=("Page", f"Section {position}"),
        context="",
        anchor=f"section-{position}",
        tokens=len(text) // 4,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        has_code=False,
        content_type="text",
    )
    url = f"https://x.org/{page}"
    return ChunkRecord(chunk, url, f"p-{page}", f"Page {page}", NOW, term_count=len(text) // 6)


def number_of(record: ChunkRecord) -> int:
    return int(record.chunk.id.removeprefix("chunk-"))


async def build(
    folder: DataFolder, dataset: Dataset, made_by: EmbedderFingerprint = PREPARED
) -> GenerationRef:
    terms = Bm25Encoder(Bm25Analyzer())
    catalogs = SqliteCatalogStore(folder)
    catalog = await catalogs.create(REF, None)
    writer = await EdgeIndexStore(folder).create(REF, DIMENSIONS, None)
    count = len(dataset.texts)
    for start in range(0, count, BATCH):
        texts = dataset.texts[start : start + BATCH]
        records = [record(start + at, text) for at, text in enumerate(texts)]
        for first in range(0, len(records), CHUNKS_A_PAGE):
            page = records[first : first + CHUNKS_A_PAGE]
            one = page[0]
            await catalog.put(
                Document(one.chunk.source_path, one.url, one.slug, one.title, "", "0"), page
            )
        await writer.upsert(
            [
                IndexEntry(one, vector, terms.passage(one.chunk.text, MEAN_TERMS))
                for one, vector in zip(records, dataset.vectors[start : start + BATCH], strict=True)
            ]
        )
    await writer.finish()
    await catalog.finish()
    await catalogs.seal(
        Manifest(
            collection=REF.collection,
            number=REF.number,
            created_at=NOW,
            surefind_version="bench",
            embedder=made_by,
            chunker=ChunkerSettings(),
            lexical=LexicalSettings(terms.name, MEAN_TERMS),
            sources=("docs",),
            sites=("",),
            source_digest="",
            documents=count // CHUNKS_A_PAGE,
            chunks=count,
        )
    )
    await catalogs.point_to(REF)
    return REF
