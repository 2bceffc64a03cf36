"""`serve --workers 2` beside one process: answers per second, and memory.

Hybrid search over 10,000 chunks, in turns: questions whose vectors are in the cache (twenty, with
another threshold each time, so that no answer is remembered), and questions that all differ. The
load generator needs a part of the same cores, which costs two workers more than one. Memory is the
proportional set size: pages that processes share are divided among them.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path

from bench.server.load_test import run_json, serving
from bench.support.corpora import texts_of
from bench.support.dataset import dataset_of
from bench.support.folders import RESULTS
from bench.support.results import table
from bench.support.stored import build
from surefind.adapters.embedders.model_files import FINGERPRINT
from surefind.adapters.files.data_folder import DataFolder

AIMS = {"vectors known": 1.6, "every question embedded": 1.3}
MEMORY_AIM_MB = 200
WORKERS = (1, 2)
_FEW = 20


def processes_of(server: int) -> list[int]:
    """The processes that answer: the workers, else the server itself."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return [int(child) for child in children] or [server]


def memory_mb(process: int) -> float:
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) / 1024


def measure(options: argparse.Namespace, scratch: Path) -> dict[str, dict[int, list[float]]]:
    folder = DataFolder(scratch / "data")
    folder.prepare()
    asyncio.run(build(folder, dataset_of(options.chunks), FINGERPRINT))
    questions = scratch / "questions.json"
    questions.write_text(json.dumps(texts_of("squad-dev-even", "queries.jsonl")))
    found: dict[str, dict[int, list[float]]] = {
        kind: {number: [] for number in WORKERS} for kind in [*AIMS, "memory"]
    }
    asked = 0
    for _ in range(options.rounds):
        for number in WORKERS:
            with serving(folder.root, options.port, "--workers", str(number)) as (server, _):
                for kind in AIMS:
                    few = ["--few", str(_FEW)] if kind == "vectors known" else []
                    report = run_json(
                        [
                            *(sys.executable, "-m", "bench.server.load_generator"),
                            *("--address", f"127.0.0.1:{options.port}", "--questions", questions),
                            *("--connections", str(options.connections)),
                            *("--seconds", str(options.seconds), "--first", str(asked), *few),
                        ]
                    )
                    asked += 0 if few else int(str(report["asked"]))
                    if report["failures"]:
                        sys.exit(f"{kind}, {number} workers: {report['failures']}")
                    found[kind][number].append(float(str(report["rate"])))
                memory = [memory_mb(process) for process in processes_of(server.pid)]
                found["memory"][number].append(sum(memory))
    return found


def shown(found: dict[str, dict[int, list[float]]]) -> str:
    rows: list[dict[str, object]] = []
    for kind, aim in AIMS.items():
        one, two = (found[kind][number] for number in WORKERS)
        ratios = [second / first for first, second in zip(one, two, strict=True)]
        rows.append(
            {
                "what": kind,
                "one, answers/s": statistics.median(one),
                "two, answers/s": statistics.median(two),
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
                "aim": aim,
            }
        )
    alone, together = (statistics.median(found["memory"][number]) for number in WORKERS)
    memory = f"A further worker takes {together - alone:.0f} MB (aim: at most {MEMORY_AIM_MB} MB)."
    return f"{table(rows)}\n\n{memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--port", type=int, default=18_461)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(options, Path(scratch))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "workers.json").write_text(json.dumps(found, indent=2))
    print(shown(found))


if __name__ == "__main__":
    main()
