"""What a search costs beside the bare engine calls it makes, and how that grows.

Datasets of 1,000 to 100,000 chunks (see dataset.py), in the real stores. Questions are embedded
first, so the embedder is not measured. "bare" makes the same engine calls and nothing else: no
filter, no fusion, no catalog. Both take turns, question by question, so that they meet the same
weather, and who comes first takes turns too: the second finds the question's pages in memory.

Then callers at once, with the local embedder: throughput of sixteen beside that of one, with
questions that differ and with questions that repeat.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np

from bench.support.corpora import texts_of
from bench.support.dataset import Dataset, dataset_of
from bench.support.folders import RESULTS
from bench.support.results import table
from bench.support.stored import REF, Prepared, build
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import locate
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndex, EdgeIndexStore
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.model import Mode, Query, SparseVector
from surefind.ports import DenseQuery, SparseQuery, Vector
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.readers import Readers
from surefind.services.search.ranking.depth import DEPTH
from surefind.services.search.search import SHALLOW, Searcher
from surefind.settings import load

SET = "squad-dev-even"


def bare(index: EdgeIndex, vector: Vector, terms: SparseVector, mode: Mode) -> None:
    query, request = index._shard.search, index._request  # noqa: SLF001 - the engine is the measure
    depth = DEPTH if mode is Mode.HYBRID else SHALLOW
    dense = [] if mode is Mode.LEXICAL else query(request(DenseQuery(vector, depth)))
    lexical = [] if mode is Mode.DENSE else query(request(SparseQuery(terms, depth)))
    if mode is Mode.HYBRID:
        one, other = {cast("int", p.id) for p in dense}, {cast("int", p.id) for p in lexical}
        only_lexical, only_dense = frozenset(other - one), frozenset(one - other)
        query(request(DenseQuery(vector, max(1, len(only_lexical)), only_lexical)))
        query(request(SparseQuery(terms, max(1, len(only_dense)), only_dense)))


async def cost(folder: DataFolder, dataset: Dataset, questions: int) -> list[dict[str, object]]:
    count, began = len(dataset.texts), time.perf_counter()
    await build(folder, dataset)
    print(f"{count} chunks built in {time.perf_counter() - began:.0f} s", flush=True)
    texts = dataset.questions[:questions]
    vectors = dict(zip(texts, dataset.question_vectors, strict=False))
    index_store, terms = EdgeIndexStore(folder), Bm25Encoder(Bm25Analyzer())
    readers = Readers(index_store, SqliteCatalogStore(folder))
    searcher = Searcher(readers, Prepared(dataset), terms)
    index = await index_store.open(REF)
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
    await build(folder, dataset_of(10_000), bge.fingerprint)
    readers = Readers(EdgeIndexStore(folder), SqliteCatalogStore(folder))
    waiting = iter(texts_of(SET, "queries.jsonl"))
    rows: list[dict[str, object]] = []
    for what, repeat in (("different questions", 1), ("each question ten times", 10)):
        rates: dict[int, list[float]] = {1: [], 16: []}
        for _ in range(3):
            for count in (1, 16):
                searcher = Searcher(readers, CachedEmbedder(bge, None), Bm25Encoder(Bm25Analyzer()))
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


async def run(sizes: Sequence[int], questions: int) -> str:
    costs: list[dict[str, object]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            folder = DataFolder(Path(scratch))
            folder.prepare()
            costs += await cost(folder, dataset_of(size), questions)
    with tempfile.TemporaryDirectory() as scratch:
        folder = DataFolder(Path(scratch))
        folder.prepare()
        at_once = await callers(folder, questions)
    RESULTS.mkdir(exist_ok=True)
    report = {"cost": costs, "callers": at_once}
    (RESULTS / "engine-calls.json").write_text(json.dumps(report, indent=2))
    text = f"{table(costs)}\n\n{table(at_once)}"
    (RESULTS / "engine-calls.md").write_text(text + "\n")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    print(asyncio.run(run(options.sizes, options.questions)))


if __name__ == "__main__":
    main()
