"""The service under load, beside the library on the same work.

10,000 chunks, the local embedder, hybrid search for five passages. The library answers 32 callers
in a process of its own; the server answers 32 connections of a load generator in another process,
with questions that all differ (each round begins where the last one ended: what comes again was
forgotten), and with twenty questions over and over, whose answers it remembers. They take turns,
several rounds; then a minute at saturation, and its memory before and after. How long the server
takes from its start to its first answer is measured as well.
"""

import argparse
import asyncio
import itertools
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import surefind
from bench.support.corpora import texts_of
from bench.support.dataset import dataset_of
from bench.support.folders import RESULTS
from bench.support.results import table
from bench.support.stored import build
from surefind.adapters.embedders.model_files import FINGERPRINT
from surefind.adapters.files.data_folder import DataFolder

SUREFIND = Path(sys.executable).with_name("surefind")
FEW = 20


async def library(
    data: str, texts: Sequence[str], callers: int, seconds: float
) -> dict[str, object]:
    times: list[float] = []
    async with surefind.aopen(data_dir=data) as docs:
        await docs.search(texts[0])
        waiting = itertools.cycle(texts)
        began = time.perf_counter()

        async def caller() -> None:
            for text in waiting:
                start = time.perf_counter()
                if start - began > seconds:
                    return
                await docs.search(text)
                times.append((time.perf_counter() - start) * 1000)
                await asyncio.sleep(0)  # what is remembered needs no waiting: the others' turn

        await asyncio.gather(*(caller() for _ in range(callers)))
        spent = time.perf_counter() - began
    return {
        "answered": len(times),
        "failures": {},
        "rate": len(times) / spent,
        "p50_ms": float(np.percentile(times, 50)),
        "p99_ms": float(np.percentile(times, 99)),
        "max_ms": max(times),
    }


@contextmanager
def serving(data: Path, port: int, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """The server's process, and how many seconds it took to its first answer."""
    command: list[str | Path] = [SUREFIND, "serve", "--port", str(port), "--data-dir", data, *more]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _ready(port):
            if process.poll() is not None:
                sys.exit(f"`surefind serve` ended with {process.returncode}")
            time.sleep(0.02)
        yield process, time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def resident_mb(process: int) -> float:
    status = Path("/proc", str(process), "status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def run_json(command: Sequence[str | Path]) -> dict[str, object]:
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    report: dict[str, object] = json.loads(answer.stdout)
    return report


def measure(options: argparse.Namespace, scratch: Path) -> dict[str, object]:
    folder = DataFolder(scratch / "data")
    folder.prepare()
    asyncio.run(build(folder, dataset_of(options.chunks), FINGERPRINT))
    texts = texts_of("squad-dev-even", "queries.jsonl")
    different, repeated = scratch / "different.json", scratch / "repeated.json"
    different.write_text(json.dumps(texts))
    repeated.write_text(json.dumps(texts[:FEW]))
    script: list[str | Path] = [
        sys.executable,
        "-m",
        "bench.server.load_test",
        "--as-library",
        folder.root,
    ]
    address = f"127.0.0.1:{options.port}"

    asked = 0

    def load(questions: Path, seconds: float) -> dict[str, object]:
        nonlocal asked
        report = run_json(
            [
                *(sys.executable, "-m", "bench.server.load_generator", "--address", address),
                *("--questions", questions),
                *("--connections", str(options.connections), "--seconds", str(seconds)),
                *("--first", str(asked)),
            ]
        )
        if questions is different:
            asked += int(str(report["asked"]))
        return report

    kinds: dict[str, Callable[[], dict[str, object]]] = {
        "library, different questions": lambda: run_json(
            [*script, different, str(options.connections), str(options.seconds)]
        ),
        "library, repeated questions": lambda: run_json(
            [*script, repeated, str(options.connections), str(options.seconds)]
        ),
        "HTTP, different questions": lambda: load(different, options.seconds),
        "HTTP, repeated questions": lambda: load(repeated, options.seconds),
    }
    rounds: dict[str, list[dict[str, object]]] = {kind: [] for kind in kinds}
    with serving(folder.root, options.port) as (process, ready_s):
        load(repeated, 1)
        for _ in range(options.rounds):
            for kind, once in kinds.items():
                rounds[kind].append(once())
                print(f"{kind}: {rounds[kind][-1]}", file=sys.stderr, flush=True)
        before = resident_mb(process.pid)
        saturated = load(different, options.saturation)
        after = resident_mb(process.pid)
    return {
        "rounds": rounds,
        "ready_s": ready_s,
        "saturated": saturated,
        "resident_mb": [before, after],
    }


def shown(report: dict[str, object]) -> str:
    rows: list[dict[str, object]] = []
    rounds = report["rounds"]
    assert isinstance(rounds, dict)
    for kind, reports in rounds.items():
        middle = {
            name: statistics.median(float(one[name]) for one in reports)
            for name in ("rate", "p50_ms", "p99_ms")
        }
        failed = sum(sum(one["failures"].values()) for one in reports)
        rows.append({"what": kind, **middle, "failures": failed})
    rates = [float(str(row["rate"])) for row in rows]
    http = rows[2]
    saturated = report["saturated"]
    assert isinstance(saturated, dict)
    ratios: list[dict[str, object]] = [
        {"what": "HTTP / library, different questions", "ratio": rates[2] / rates[0], "aim": 0.7},
        {"what": "repeated / different, HTTP", "ratio": rates[3] / rates[2], "aim": 5.0},
        {
            "what": "p99 / p50 under load (at most)",
            "ratio": float(str(http["p99_ms"])) / float(str(http["p50_ms"])),
            "aim": 5.0,
        },
    ]
    lines_ = [
        table(rows),
        "",
        table(ratios),
        "",
        f"A minute at saturation: {saturated['answered']} answered, "
        f"failures {saturated['failures'] or 'none'}, p99 {saturated['p99_ms']:.0f} ms; resident "
        "memory {:.0f} MB before, {:.0f} MB after.".format(*report["resident_mb"]),  # type: ignore[misc]
        f"From the start to the first answer: {report['ready_s']:.2f} s (aim 3).",
    ]
    return "\n".join(lines_)


def main() -> None:
    if sys.argv[1:2] == ["--as-library"]:
        data, questions, callers, seconds = sys.argv[2:]
        texts = json.loads(Path(questions).read_text())
        print(json.dumps(asyncio.run(library(data, texts, int(callers), float(seconds)))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--saturation", type=float, default=60)
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        report = measure(options, Path(scratch))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "http.json").write_text(json.dumps(report, indent=2))
    text = shown(report)
    (RESULTS / "http.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
