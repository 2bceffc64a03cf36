"""What surefind adds on top of its bare parts: ingest, search, answers, start-up.

Each measurement is compared with its bare components, in the same process and on the same
data, several rounds in turn; the ratio is of the medians. Times on shared machines are noisy, the
ratios much less so.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
import onnxruntime
from pydantic import BaseModel
from tokenizers import Tokenizer

from bench.support.corpora import lines_of, texts_of
from bench.support.folders import RESULTS
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import TOKENIZER, WEIGHTS, locate
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndex, EdgeIndexStore
from surefind.adapters.sources.filesystem import sources_of
from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.contracts.api import SearchResponse
from surefind.contracts.implementation import SearchQuery, SearchQueryResponse
from surefind.contracts.testing import QueryResponse
from surefind.model import ChunkerSettings, Mode, Query, SearchResult
from surefind.ports import DenseQuery, SparseQuery
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.index_building import IngestTools
from surefind.services.generations.readers import Readers
from surefind.services.ingest.ingest import IngestOptions, Ingestor
from surefind.services.search.ranking.depth import DEPTH as CANDIDATES
from surefind.services.search.search import Searcher
from surefind.settings import load

SET = "squad-dev-even"


class Bench:
    def __init__(self, rounds: int, pages: int) -> None:
        self.rounds = rounds
        self.pages = pages
        self.model = locate(None, load().cache_dir, print)
        self.corpus = lines_of(SET, "corpus.jsonl")
        self.queries = texts_of(SET, "queries.jsonl")
        self.rows: list[dict[str, object]] = []

    async def run(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            await self.ingest(root)
            await self.search(root / "data-0")
        self.start_up()

    async def ingest(self, root: Path) -> None:
        """Folder of Markdown to published generation, against the bare ONNX session."""
        folder = root / "docs"
        folder.mkdir()
        for number, document in enumerate(self.corpus[: self.pages]):
            (folder / f"{number:05}.md").write_text(
                f"# {document['title']}\n\n{document['text']}\n"
            )
        ours, bare, passages = [], [], []
        for number in range(self.rounds):
            data = DataFolder(root / f"data-{number}")
            data.prepare()
            catalogs = SqliteCatalogStore(data)
            embedder = BgeSmallEmbedder(self.model)
            cache = SqliteEmbeddingCache(data.root / "cache" / "embeddings.sqlite", print)
            cached = CachedEmbedder(embedder, cache)
            tools = IngestTools(
                cached,
                Bm25Encoder(Bm25Analyzer()),
                EdgeIndexStore(data),
                catalogs,
                ChunkerSettings(),
                "bench",
            )
            began = time.perf_counter()
            report = await Ingestor(tools).run(
                sources_of([folder], "docs", None), IngestOptions("docs")
            )
            ours.append(time.perf_counter() - began)
            catalog = await catalogs.open((await catalogs.manifests("docs"))[0].ref)
            passages = [record.chunk.passage async for record in catalog.chunks()]
            await catalog.close()
            await cached.close()
            bare.append(self._bare_embedding(passages, embedder.threads))
            self._say(f"ingest round {number + 1}: {report.chunks} chunks")
        self._row("ingest, chunks/s", len(passages), ours, bare, "≥ 0.85", throughput=True)

    def _bare_embedding(self, passages: list[str], threads: int) -> float:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(self.model / WEIGHTS.name), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(self.model / TOKENIZER.name))
        tokenizer.no_padding()
        tokenizer.enable_truncation(512)

        def embed(passage: str) -> object:
            ids = np.array([tokenizer.encode(passage).ids], dtype=np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            return session.run(None, {**inputs, "token_type_ids": np.zeros_like(ids)})[0][0, 0]

        with ThreadPoolExecutor(threads) as pool:
            began = time.perf_counter()
            list(pool.map(embed, passages))
            return time.perf_counter() - began

    async def search(self, data: Path) -> None:
        """A warm search of each mode, against embedding the query and the bare engine calls."""
        folder = DataFolder(data)
        index, catalogs = EdgeIndexStore(folder), SqliteCatalogStore(folder)
        embedder, terms = BgeSmallEmbedder(self.model), Bm25Encoder(Bm25Analyzer())
        readers = Readers(index, catalogs)
        searcher = Searcher(readers, embedder, terms)
        bare_index = await index.open((await catalogs.manifests("docs"))[0].ref)
        for mode in Mode:
            ours, bare = [], []
            for query in self.queries[:50]:
                await searcher.search(Query(query, mode=mode))
            for start in range(self.rounds):
                part = self.queries[100 + start * 150 : 250 + start * 150]
                for query in part:  # one after the other, so that both meet the same weather
                    began = time.perf_counter()
                    await searcher.search(Query(query, mode=mode))
                    ours.append(time.perf_counter() - began)
                    began = time.perf_counter()
                    await _bare_search(query, mode, embedder, terms, bare_index)
                    bare.append(time.perf_counter() - began)
            aim = "none: it embeds nothing" if mode is Mode.LEXICAL else "≤ 1.3"
            self._row(f"{mode.value} search, ms", len(ours), ours, bare, aim, throughput=False)
        self.formatting(await searcher.search(Query(self.queries[0], 20, mode=Mode.DENSE)))
        await bare_index.close()
        await readers.close()
        await embedder.close()

    def formatting(self, result: SearchResult) -> None:
        """An answer of 20 hits in each HTTP contract's shape, against JSON of the same values."""
        asked = SearchQuery(query_text=result.query.text.ljust(10, "?")[:500])
        shapes: tuple[tuple[str, Callable[[], BaseModel]], ...] = (
            ("SearchResponse", lambda: SearchResponse.of(result)),
            ("QueryResponse", lambda: QueryResponse.of(result)),
            ("SearchQueryResponse", lambda: SearchQueryResponse.of(result, asked)),
        )
        for shape, answer in shapes:
            values = answer().model_dump(mode="json")
            ours, bare = [], []
            for _ in range(self.rounds * 300):
                began = time.perf_counter()
                answer().model_dump_json()
                ours.append(time.perf_counter() - began)
                began = time.perf_counter()
                json.dumps(values)
                bare.append(time.perf_counter() - began)
            name = f"{shape} of {len(result.hits)} hits, ms"
            self._row(name, len(ours), ours, bare, "< 1 ms", throughput=False)

    def start_up(self) -> None:
        command = [str(Path(sys.executable).parent / "surefind"), "--help"]
        ours = [_timed(command) for _ in range(9)]
        bare = [_timed([sys.executable, "-c", "pass"]) for _ in range(9)]
        self._row("surefind --help, ms", 9, ours, bare, "< 500 ms", throughput=False)

    def _row(
        self,
        name: str,
        count: int,
        ours: list[float],
        bare: list[float],
        aim: str,
        *,
        throughput: bool,
    ) -> None:
        a, b = statistics.median(ours), statistics.median(bare)
        values = (count / a, count / b, b / a) if throughput else (a * 1000, b * 1000, a / b)
        self.rows.append(
            {"what": name, "surefind": values[0], "bare": values[1], "ratio": values[2], "aim": aim}
        )
        self._say(f"{name}: {values[0]:.2f} beside {values[1]:.2f} bare, ratio {values[2]:.3f}")

    def _say(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    def table(self) -> str:
        lines = ["| what | surefind | bare parts | ratio | aim |", "|---|---|---|---|---|"]
        lines += [
            f"| {row['what']} | {row['surefind']:.2f} | {row['bare']:.2f} "
            f"| {row['ratio']:.3f} | {row['aim']} |"
            for row in self.rows
        ]
        return "\n".join(lines)


async def _bare_search(
    query: str, mode: Mode, embedder: BgeSmallEmbedder, terms: Bm25Encoder, index: object
) -> None:
    """What the answer needs at the least: one embedding, and the engine's own calls."""
    assert isinstance(index, EdgeIndex)
    shard, request = index._shard, index._request  # noqa: SLF001
    if mode is Mode.LEXICAL:
        shard.search(request(SparseQuery(terms.query(query), CANDIDATES)))
        return
    vector = await embedder.embed_query(query)
    dense = shard.search(request(DenseQuery(vector, CANDIDATES)))
    if mode is Mode.HYBRID:
        counted = terms.query(query)
        lexical = shard.search(request(SparseQuery(counted, CANDIDATES)))
        found, other = {cast("int", p.id) for p in dense}, {cast("int", p.id) for p in lexical}
        only, rest = frozenset(other - found), frozenset(found - other)
        shard.search(request(DenseQuery(vector, max(1, len(only)), only)))
        shard.search(request(SparseQuery(counted, max(1, len(rest)), rest)))


def _timed(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--pages", type=int, default=300, help="documents of squad-dev-even to ingest"
    )
    arguments = parser.parse_args()
    bench = Bench(arguments.rounds, arguments.pages)
    asyncio.run(bench.run())
    print(bench.table())
    RESULTS.mkdir(exist_ok=True)
    versions = {"python": sys.version.split()[0], "onnxruntime": onnxruntime.__version__}
    written = {"versions": versions, "cores": os.cpu_count(), "rows": bench.rows}
    (RESULTS / "overhead.json").write_text(json.dumps(written, indent=2) + "\n")
    (RESULTS / "overhead.md").write_text(bench.table() + "\n")


if __name__ == "__main__":
    main()
