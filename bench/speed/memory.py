"""How much memory an ingest takes, for a source and for one ten times as large.

The pages of docs-sample, copied under several prefixes. Two measurements, each in a process of its
own: `surefind ingest --dry-run`, which reads and chunks every page with all of its real parts, and
a whole ingest with the real stores, in which only the vectors are not real (the model would take
an hour, and needs the same disk space for any number of pages).

Own memory is what a process alone holds. The resident memory also counts the pages of mapped files,
which the system takes back when it needs them: those of the index grow with the index.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.parsing.large_tree import plant
from bench.support.folders import RESULTS

PAGES = 239  # of docs-sample
TIMES = (1, 10)
_SIZE = re.compile(r"^(\w+):\s+(\d+) kB", re.MULTILINE)
Peaks = dict[tuple[str, int], list[tuple[float, float]]]


def peaks_mb(command: Sequence[str]) -> tuple[float, float]:
    """(own memory, all resident memory), each at its peak, sampled fifty times a second."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    status = Path("/proc") / str(process.pid) / "status"
    own = resident = 0
    while process.poll() is None:
        sizes = dict(_SIZE.findall(status.read_text()))
        own = max(own, int(sizes.get("RssAnon", 0)))
        resident = max(resident, int(sizes.get("VmHWM", 0)))
        time.sleep(0.02)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return own / 1024, resident / 1024


async def ingest(tree: Path, data: Path) -> None:
    """A whole ingest without a model."""
    import numpy as np
    from tokenizers import Tokenizer

    from support.fakes import WordEmbedder
    from surefind.adapters.embedders.bge_small import WordPieceCounter
    from surefind.adapters.embedders.model_files import TOKENIZER, locate
    from surefind.adapters.files.data_folder import DataFolder
    from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndexStore
    from surefind.adapters.sources.filesystem import sources_of
    from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
    from surefind.adapters.sqlite.generations import SqliteCatalogStore
    from surefind.model import ChunkerSettings
    from surefind.ports import Matrix
    from surefind.services.encoding.bm25 import Bm25Encoder
    from surefind.services.encoding.cached_embedder import CachedEmbedder
    from surefind.services.generations.index_building import IngestTools
    from surefind.services.ingest.ingest import IngestOptions, Ingestor
    from surefind.settings import load

    tokenizer = Tokenizer.from_file(str(locate(None, load().cache_dir, print) / TOKENIZER.name))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    counter = WordPieceCounter(tokenizer)

    class ConstantEmbedder(WordEmbedder):
        def count_tokens(self, passage: str) -> int:
            return counter.count(passage)

        async def embed_passages(self, passages: Sequence[str]) -> Matrix:
            row = np.full(self.dimensions, self.dimensions**-0.5, dtype=np.float32)
            return np.tile(row, (len(passages), 1))

    folder = DataFolder(data)
    folder.prepare()
    cache = SqliteEmbeddingCache(data / "cache" / "embeddings.sqlite", print)
    tools = IngestTools(
        CachedEmbedder(ConstantEmbedder(384), cache),
        Bm25Encoder(Bm25Analyzer()),
        EdgeIndexStore(folder),
        SqliteCatalogStore(folder),
        ChunkerSettings(),
        "bench",
    )
    await Ingestor(tools).run(sources_of([tree], "docs", None), IngestOptions("docs"))
    await tools.embedder.close()


def measure(copies: int, rounds: int) -> Peaks:
    surefind = str(Path(sys.executable).parent / "surefind")
    found: Peaks = {}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for times in TIMES:
            plant(root / f"pages-{times}", copies * times)
        for number in range(rounds):
            for times in TIMES:
                tree, data = root / f"pages-{times}", root / f"data-{times}-{number}"
                dry_run = [surefind, "ingest", str(tree), "--dry-run", "--data-dir", str(data)]
                whole = [
                    sys.executable,
                    "-m",
                    "bench.speed.memory",
                    "--ingest",
                    str(tree),
                    str(data),
                ]
                for name, command in (("dry run", dry_run), ("whole ingest", whole)):
                    own, resident = peaks_mb(command)
                    found.setdefault((name, times), []).append((own, resident))
                    said = f"{name}, {times} times: {own:.0f} MB of {resident:.0f}"
                    print(f"round {number + 1}: {said}", file=sys.stderr, flush=True)
    return found


def rows_of(found: Peaks, copies: int) -> list[dict[str, object]]:
    return [
        {
            "what": name,
            "pages": PAGES * copies * times,
            "own_mb": statistics.median(own for own, _ in peaks),
            "resident_mb": statistics.median(resident for _, resident in peaks),
        }
        for (name, times), peaks in sorted(found.items())
    ]


def table(rows: list[dict[str, object]]) -> str:
    lines = ["| what | pages | own memory, MB | with mapped files, MB |", "|---|---|---|---|"]
    lines += [
        f"| {row['what']} | {row['pages']} | {row['own_mb']:.0f} | {row['resident_mb']:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=1, help="of docs-sample, for the small one")
    parser.add_argument("--ingest", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ingest:
        asyncio.run(ingest(*arguments.ingest))
        return
    rows = rows_of(measure(arguments.copies, arguments.rounds), arguments.copies)
    print(table(rows))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "memory.json").write_text(json.dumps(rows, indent=2) + "\n")
    (RESULTS / "memory.md").write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
