"""surefind's server beside others, under load: the same chunks, the same embedder, ten hits.

10,000 chunks (see bench/support/dataset.py) with real questions, all different. Every server runs
alone, in turn, round by round. The load generator is a process of its own with 1, 8, 32 and 128
connections, each with one open request.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.server.apps import SERVICES, Service
from bench.support.corpora import texts_of
from bench.support.dataset import Dataset, dataset_of
from bench.support.drawing import Chart
from bench.support.embedding import SameEmbedder
from bench.support.folders import RESULTS, ROOT
from bench.support.results import Result, Row, say, spread
from bench.support.stored import build
from bench.support.workers import SETTINGS, Failed, Worker, installed, machine, python_of, versions
from bench.systems import BY_NAME, OURS
from surefind.adapters.embedders.model_files import FINGERPRINT, locate
from surefind.adapters.files.data_folder import DataFolder
from surefind.settings import load as load_settings

CONNECTIONS = (1, 8, 32, 128)
START_S = 180
WARM_S, WARM_FEW_S = 1.0, 10.0
NOTES = [
    "surefind, txtai and hayhooks embed every question. Chroma's server can't embed: its "
    "clients do, so it receives precomputed vectors and its numbers lack most of the work of "
    "the others. For comparison, surefind also runs with 400 repeated questions whose "
    "vectors are cached; each has a different threshold, so answers are not cached. Chroma "
    "in FastAPI embeds, in a service of forty lines around the library.",
    "surefind answers /retrieve in its default mode, hybrid. txtai and Haystack are hybrid "
    "too. Chroma is dense: compare it with surefind, dense.",
    "All questions differ except those 400, so a cache of questions does not help.",
    "One process each, as started by default. Server and load generator share two cores.",
]
Report = dict[str, Any]


def store_of(service: Service) -> Path:
    """One for each service: no two of them share a lock."""
    name = "".join(letter for letter in service.name.lower() if letter.isalpha())
    return RESULTS / "stores" / str(os.getpid()) / name


def prepared(service: Service, dataset: Dataset) -> Path:
    store = store_of(service)
    shutil.rmtree(store, ignore_errors=True)
    if service.contender == OURS:
        folder = DataFolder(store)
        folder.prepare()
        asyncio.run(build(folder, dataset, FINGERPRINT))
    else:
        store.parent.mkdir(parents=True, exist_ok=True)
        with Worker(BY_NAME[service.contender]) as worker:
            worker.ask("build", dataset=dataset.folder, store=store)
    service.prepare(store)
    return store


@contextmanager
def serving(service: Service, store: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    program, *rest = service.filled(service.command, port, store)
    names, values = tuple(service.settings), tuple(service.settings.values())
    model = locate(None, load_settings().cache_dir, print)
    paths = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    process = subprocess.Popen(
        [python_of(BY_NAME[service.contender]).with_name(program), *rest],
        stdout=subprocess.DEVNULL,
        stderr=(RESULTS / "workers.log").open("ab"),
        env=os.environ
        | SETTINGS
        | {"BENCH_MODEL": str(model), "PYTHONPATH": paths}
        | dict(zip(names, service.filled(values, port, store), strict=True)),
        cwd=RESULTS,
    )
    try:
        _wait(process, f"http://127.0.0.1:{port}{service.ready}")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    until = time.perf_counter() + START_S
    while time.perf_counter() < until:
        if process.poll() is not None:
            raise Failed(f"its server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise Failed(f"its server was not ready after {START_S} s")


def generate(
    service: Service, store: Path, port: int, connections: int, seconds: float, first: int = 0
) -> Report:
    """`first` is the question to begin with: those before it may be remembered."""
    questions = RESULTS / ("vectors.json" if service.takes_vectors else "questions.json")
    command = [
        *(sys.executable, "-m", "bench.server.load_generator", "--address", f"127.0.0.1:{port}"),
        *("--path", service.path or service.address_of(store), "--field", service.key),
        *("--body", json.dumps(service.body), "--questions", str(questions)),
        *("--connections", str(connections), "--seconds", str(seconds), "--first", str(first)),
        *(("--list",) if service.takes_list else ()),
        *(("--few", str(service.few)) if service.few else ()),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"the load generator ended with {done.stderr.strip()[-200:]}")
    report: Report = json.loads(done.stdout)
    return report


def resident_mb(process: int) -> float:
    status = Path("/proc", str(process), "status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def ask(count: int) -> None:
    """Writes the questions, and their vectors for who takes vectors."""
    texts = texts_of("squad-dev-even", "queries.jsonl")[:count]
    (RESULTS / "questions.json").write_text(json.dumps(texts))
    os.environ["BENCH_MODEL"] = str(locate(None, load_settings().cache_dir, print))
    vectors = SameEmbedder().lists(texts)
    (RESULTS / "vectors.json").write_text(json.dumps(vectors))


def rows_of(rounds: dict[tuple[str, int], list[Report]], memory: dict[str, float]) -> list[Row]:
    rows: list[Row] = []
    for (name, connections), reports in rounds.items():
        ours = rounds[OURS, connections]
        pairs = zip(reports, ours, strict=False)
        failures = sum(sum(one["failures"].values()) for one in reports)
        rows.append(
            {
                "connections": connections,
                "server": name,
                "answers/s": statistics.median(one["rate"] for one in reports),
                "× surefind": statistics.median(one["rate"] / mine["rate"] for one, mine in pairs),
                "p50 ms": statistics.median(one["p50_ms"] for one in reports),
                "p99 ms": statistics.median(one["p99_ms"] for one in reports),
                "errors": failures,
                "memory MB": memory[name],
            }
        )
    return sorted(rows, key=lambda row: int(str(row["connections"])))


def measure(services: Sequence[Service], options: argparse.Namespace, result: Result) -> None:
    dataset = dataset_of(options.chunks)
    stores = {service.name: prepared(service, dataset) for service in services}
    rounds: dict[tuple[str, int], list[Report]] = {}
    memory: dict[str, float] = {}
    for number in range(options.rounds):
        for service in services[:: -1 if number % 2 else 1]:
            store = stores[service.name]
            try:
                with serving(service, store, options.port) as process:
                    warm_s = WARM_FEW_S if service.few else WARM_S
                    asked = generate(service, store, options.port, 4, warm_s)["asked"]
                    for connections in CONNECTIONS:
                        seconds = options.seconds
                        report = generate(service, store, options.port, connections, seconds, asked)
                        asked += report["asked"]
                        rounds.setdefault((service.name, connections), []).append(report)
                        rate = f"{report['rate']:.0f} answers/s with {connections}"
                        say(f"round {number + 1}, {service.name}: {rate}")
                    memory[service.name] = resident_mb(process.pid)
            except Failed as error:
                result.notes.append(f"{service.name} failed: {error}.")
                say(result.notes[-1])
    result.tables[f"{options.chunks:,} chunks"] = rows_of(rounds, memory)
    result.measured = [
        {"server": name, "connections": connections, "rounds": reports}
        for (name, connections), reports in rounds.items()
    ]
    for connections in CONNECTIONS:
        bars = []
        for service in services:
            if (service.name, connections) in rounds:
                values = spread([one["rate"] for one in rounds[service.name, connections]])
                bars.append((service.name, values["median"], values["low"], values["high"]))
        bars.sort(key=lambda bar: -bar[1])
        title = f"{connections} connection{'s'[: connections > 1]} to each server"
        result.charts.append(Chart(str(connections), title, "answers a second", bars, [OURS]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--port", type=int, default=8766)
    parser.add_argument("--quick", action="store_true", help="1,000 chunks, two seconds each")
    parser.add_argument("--only", nargs="+", default=[], help="servers, by name, besides surefind")
    options = parser.parse_args()
    if options.quick:
        options.chunks, options.seconds = 1000, 2
    services = [one for one in SERVICES if not options.only or one.name in (*options.only, OURS)]
    here, away = installed([BY_NAME[service.contender] for service in services])
    services = [service for service in services if BY_NAME[service.contender] in here]
    RESULTS.mkdir(exist_ok=True)
    ask(2000 if options.quick else 5665)
    result = Result(
        "peers-http",
        "HTTP, compared with other servers",
        f"{options.chunks:,} chunks of three sentences of squad-dev-even with 384-dimensional "
        "vectors; all questions differ; ten hits with their texts.",
        {"rounds": options.rounds, "seconds a measurement": options.seconds},
        versions(here),
        machine(),
        notes=[*NOTES, *(f"{name} took no part: {why}." for name, why in away.items())],
    )
    measure(services, options, result)
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
