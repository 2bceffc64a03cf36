"""What a search costs beside the bare engine calls it makes, and how that grows.

Collections of 1,000 to 100,000 chunks of 384 dimensions, in the real stores: sentences of
squad-dev-even, and vectors scattered around a thousand centres. Questions are embedded beforehand,
so that the embedder is aside. "bare" makes the same engine calls and nothing else: no filter, no
fusion, no catalog. Both take turns, question by question, so that they meet the same weather, and
who comes first takes turns too: the second finds the question's pages in memory.

Then callers at once, with the local embedder: throughput of sixteen beside that of one, with
questions that differ and with questions that repeat.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np

from surefind.adapters.bge_small import BgeSmallEmbedder
from surefind.adapters.layout import DataFolder
from surefind.adapters.model_files import DIMENSIONS, locate
from surefind.adapters.qdrant_edge import Bm25Analyzer, EdgeIndex, EdgeIndexStore, _request
from surefind.adapters.qdrant_points import point_uuid
from surefind.adapters.sqlite import SqliteCatalogStore
from surefind.model import (
    Chunk,
    ChunkerSettings,
    ChunkRecord,
    Document,
    EmbedderFingerprint,
    GenerationRef,
    LexicalSettings,
    Manifest,
    Mode,
    Query,
    Terms,
)
from surefind.ports import DenseProbe, IndexEntry, TermProbe, Vector
from surefind.services.embedding import CachedEmbedder
from surefind.services.fusion import DEPTH
from surefind.services.lexical import TermReader
from surefind.services.reading import Readers
from surefind.services.search import SHALLOW, Searcher
from surefind.settings import load

DATA = Path(os.environ.get("SUREFIND_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"
CENTRES, SPREAD, BATCH, CHUNKS_A_PAGE = 1000, 0.6, 500, 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Prepared:
    """An embedder whose answers are known beforehand: what it costs is nothing."""

    def __init__(self, fingerprint: EmbedderFingerprint, vectors: dict[str, Vector]) -> None:
        self.fingerprint = fingerprint
        self._vectors = vectors

    async def embed_query(self, query: str) -> Vector:
        return self._vectors[query]


def lines(name: str) -> list[str]:
    path = DATA / "squad-dev-even" / name
    if not path.exists():
        sys.exit(f"{path} is missing: set SUREFIND_DATA to the folder that holds squad-dev-even/")
    with path.open() as stream:
        return [json.loads(line)["text"].strip() for line in stream]


class Scattered:
    """Vectors around centres: alike enough that an index has something to find."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(7)
        self._centres = self._chance.normal(size=(CENTRES, DIMENSIONS))

    def rows(self, count: int) -> np.ndarray:
        chosen = self._centres[self._chance.integers(0, CENTRES, count)]
        rows = chosen + SPREAD * self._chance.normal(size=chosen.shape)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(np.float32)


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
        content_hash=f"{number:064x}",
        has_code=False,
        content_type="text",
    )
    url = f"https://x.org/{page}"
    return ChunkRecord(chunk, url, f"p-{page}", f"Page {page}", NOW, term_count=len(text) // 6)


async def build(folder: DataFolder, count: int, made_by: EmbedderFingerprint) -> float:
    """Through the real stores, as an ingest writes them; the seconds that it took."""
    began = time.perf_counter()
    texts, vectors, terms = lines("corpus.jsonl"), Scattered(), TermReader(Bm25Analyzer())
    chance = random.Random(7)
    sentences = [s for text in texts for s in text.split(". ") if len(s) > 40]
    ref = GenerationRef("docs", 1)
    index_store, catalogs = EdgeIndexStore(folder), SqliteCatalogStore(folder)
    catalog = await catalogs.create(ref, None)
    writer = await index_store.create(ref, DIMENSIONS, None)
    for start in range(0, count, BATCH):
        records = [
            record(start + at, ". ".join(chance.sample(sentences, 3))) for at in range(BATCH)
        ]
        for first in range(0, BATCH, CHUNKS_A_PAGE):
            page = records[first : first + CHUNKS_A_PAGE]
            one = page[0]
            await catalog.put(
                Document(one.chunk.source_path, one.url, one.slug, one.title, "", "0"), page
            )
        await writer.upsert(
            [
                IndexEntry(one, vector, terms.passage(one.chunk.text, 60.0))
                for one, vector in zip(records, vectors.rows(BATCH), strict=True)
            ]
        )
    await writer.finish()
    await catalog.finish()
    await catalogs.seal(
        Manifest(
            collection="docs",
            number=1,
            created_at=NOW,
            surefind_version="bench",
            embedder=made_by,
            chunker=ChunkerSettings(),
            lexical=LexicalSettings(terms.name, 60.0),
            sources=("docs",),
            sites=("",),
            source_digest="",
            documents=count // CHUNKS_A_PAGE,
            chunks=count,
        )
    )
    await catalogs.point_to(ref)
    return time.perf_counter() - began


def bare(index: EdgeIndex, vector: Vector, terms: Terms, mode: Mode) -> None:
    query = index._shard.query  # noqa: SLF001 - the engine itself is the measure
    depth = DEPTH if mode is Mode.HYBRID else SHALLOW
    dense = [] if mode is Mode.LEXICAL else query(_request(DenseProbe(vector, depth)))
    lexical = [] if mode is Mode.DENSE else query(_request(TermProbe(terms, depth)))
    if mode is Mode.HYBRID:
        one, other = {point_uuid(p.id) for p in dense}, {point_uuid(p.id) for p in lexical}
        only_lexical, only_dense = frozenset(other - one), frozenset(one - other)
        query(_request(DenseProbe(vector, max(1, len(only_lexical)), only_lexical)))
        query(_request(TermProbe(terms, max(1, len(only_dense)), only_dense)))


async def cost(folder: DataFolder, count: int, questions: int) -> list[dict[str, object]]:
    made_by = EmbedderFingerprint("bench", "scattered", DIMENSIONS, "0", "")
    built = await build(folder, count, made_by)
    print(f"{count} chunks built in {built:.0f} s", flush=True)
    texts = lines("queries.jsonl")[:questions]
    vectors = dict(zip(texts, Scattered().rows(len(texts)), strict=True))
    index_store, terms = EdgeIndexStore(folder), TermReader(Bm25Analyzer())
    readers = Readers(index_store, SqliteCatalogStore(folder))
    searcher = Searcher(readers, Prepared(made_by, vectors), terms)
    index = await index_store.open(GenerationRef("docs", 1))
    rows: list[dict[str, object]] = []
    for mode in Mode:
        ours, engine = [], []
        for number, text in enumerate(texts):
            spent = {}
            for who in ("ours", "bare") if number % 2 else ("bare", "ours"):  # the second is warm
                began = time.perf_counter()
                if who == "ours":
                    await searcher.search(Query(text, mode=mode))
                else:
                    bare(index, vectors[text], terms.query(text), mode)
                spent[who] = (time.perf_counter() - began) * 1000
            if number >= len(texts) // 10:  # the first ones warm up
                ours.append(spent["ours"])
                engine.append(spent["bare"])
        rows.append(
            {
                "chunks": count,
                "mode": mode.value,
                "surefind p50 ms": statistics.median(ours),
                "surefind p99 ms": float(np.percentile(ours, 99)),
                "bare p50 ms": statistics.median(engine),
                "ratio": statistics.median(ours) / statistics.median(engine),
            }
        )
    await index.close()
    await readers.close()
    return rows


async def callers(folder: DataFolder, questions: int) -> list[dict[str, object]]:
    """Sixteen callers beside one, on a collection that has the local model's name."""
    bge = BgeSmallEmbedder(locate(None, load().cache_dir, print))
    await build(folder, 10_000, bge.fingerprint)
    readers = Readers(EdgeIndexStore(folder), SqliteCatalogStore(folder))
    texts = lines("queries.jsonl")
    waiting = iter(texts)
    rows: list[dict[str, object]] = []
    for what, repeat in (("different questions", 1), ("each question ten times", 10)):
        rates: dict[int, list[float]] = {1: [], 16: []}
        for _ in range(3):
            for count in (1, 16):
                searcher = Searcher(readers, CachedEmbedder(bge, None), TermReader(Bm25Analyzer()))
                part = list(islice(waiting, max(1, questions // repeat))) * repeat
                rates[count].append(await _rate(searcher, part, count))
        one, many = (statistics.median(rates[count]) for count in (1, 16))
        rows.append({"what": what, "one/s": one, "sixteen/s": many, "ratio": many / one})
    await readers.close()
    await bge.close()
    return rows


async def _rate(searcher: Searcher, texts: Sequence[str], count: int) -> float:
    waiting = iter(texts)

    async def caller() -> None:
        for text in waiting:
            await searcher.search(Query(text))

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(count)))
    return len(texts) / (time.perf_counter() - began)


def table(rows: Sequence[dict[str, object]]) -> str:
    names = list(rows[0])
    shown = [
        "| "
        + " | ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values())
        + " |"
        for row in rows
    ]
    return "\n".join(["| " + " | ".join(names) + " |", "|---" * len(names) + "|", *shown])


async def run(sizes: Sequence[int], questions: int) -> str:
    costs: list[dict[str, object]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            folder = DataFolder(Path(scratch))
            folder.prepare()
            costs += await cost(folder, size, questions)
    with tempfile.TemporaryDirectory() as scratch:
        folder = DataFolder(Path(scratch))
        folder.prepare()
        at_once = await callers(folder, questions)
    RESULTS.mkdir(exist_ok=True)
    report = {"cost": costs, "callers": at_once}
    (RESULTS / "search.json").write_text(json.dumps(report, indent=2))
    text = f"{table(costs)}\n\n{table(at_once)}"
    (RESULTS / "search.md").write_text(text + "\n")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    print(asyncio.run(run(options.sizes, options.questions)))


if __name__ == "__main__":
    main()
