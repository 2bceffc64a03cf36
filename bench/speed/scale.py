"""How building and searching grow with a collection, with and without quantization.

Fills surefind's own stores with a dataset of each size (see bench/support/dataset.py), as an ingest
does but without the embedder, then opens and searches them in another process. Quantization is an
experiment of this benchmark: see bench/systems/quantized.py. A million chunks take an hour or more
on two cores and many gigabytes of disk: `--sizes 10000 100000 1000000`.
"""

import argparse
import shutil
from collections.abc import Sequence
from contextlib import ExitStack

from bench.speed.search import Standing, construct, middle, one_round, store_of
from bench.support.dataset import Dataset, dataset_of
from bench.support.drawing import Chart
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import Failed, Worker, machine, versions
from bench.systems import BY_NAME, DENSE, HYBRID, OURS, QUANTIZED

VARIANTS = (BY_NAME[OURS], QUANTIZED)
NOTES = [
    "Build time covers writing all chunks to catalog and index and optimizing the index. It "
    "excludes reading, chunking and embedding, which take longer: see the ingest table.",
    "Each collection is built once, one after the other, under varying load. Differences in "
    "build time of less than a half are not meaningful.",
    "Memory is what the process uses after the searches minus what it used before it opened "
    "the store. Mapped files count where they were read; the system reclaims them on demand.",
    "Quantized: 8-bit vectors in memory, full vectors on disk; twice as many candidates are "
    "rescored.",
    "One process, one caller. Nothing was extrapolated.",
]


def measure(
    dataset: Dataset, size: int, options: argparse.Namespace, result: Result
) -> list[Standing]:
    standings: list[Standing] = []
    with ExitStack() as stack:
        workers = []
        for variant in VARIANTS:
            try:
                standing = construct(variant, dataset, size, options.timeout)
                worker = stack.enter_context(Worker(variant))
                store = store_of(variant, size)
                opened = worker.ask("open", dataset=dataset.folder, store=store)
                for mode in variant.vectors:
                    warmed = worker.ask("recall", mode=mode, seconds=4 * options.seconds)
                    standing.recall[mode] = warmed["recall"]
            except Failed as error:
                result.notes.append(f"{variant.name} at {size:,} chunks: {error}.")
                say(result.notes[-1])
                continue
            standings.append(standing)
            workers.append((standing, worker, opened["before"]["rss_mb"]))
        for number in range(options.rounds):
            for standing, worker, before_mb in workers[:: -1 if number % 2 else 1]:
                one_round(standing, worker, options.seconds, before_mb)
    return standings


def rows_of(standings: Sequence[Standing]) -> list[Row]:
    return [
        {
            "chunks": f"{one.size:,}",
            "": one.contender.name,
            "built in s": float(one.built["seconds"]),
            "peak MB while building": float(one.built["peak_mb"]),
            "disk MB": float(one.built["disk_mb"]),
            "memory MB": one.memory_mb,
            "recall@10": f"{one.recall[DENSE]:.3f}",
            **{
                f"{mode} {percentile} ms": middle(one.rounds[mode, 1], f"{percentile}_ms")
                for mode in (DENSE, HYBRID)
                for percentile in ("p50", "p99")
            },
        }
        for one in standings
    ]


def chart(standings: Sequence[Standing], mode: str) -> Chart:
    bars = []
    for one in standings:
        values = [spent["p50_ms"] for spent in one.rounds[mode, 1]]
        name = f"{one.size:,}" + (", quantized" if one.contender is QUANTIZED else "")
        bars.append((name, middle(one.rounds[mode, 1], "p50_ms"), min(values), max(values)))
    title = f"{mode.capitalize()} search as a collection grows"
    return Chart(mode, title, "milliseconds, median; fewer are better", bars)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds for one to be built")
    parser.add_argument("--quick", action="store_true", help="1,000 and 5,000 chunks, half seconds")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.seconds = [1000, 5000], 0.5
    result = Result(
        "scale",
        "Scale",
        "Chunks of three sentences of squad-dev-even with 384-dimensional vectors, scattered "
        "around a thousand centres.",
        {"rounds": options.rounds, "seconds a measurement": options.seconds},
        versions(VARIANTS[:1]),
        machine(),
        notes=list(NOTES),
    )
    everything: list[Standing] = []
    for size in options.sizes:
        standings = measure(dataset_of(size), size, options, result)
        everything += standings
        result.tables.setdefault("surefind, embedded", []).extend(rows_of(standings))
        result.charts = [chart(everything, mode) for mode in (DENSE, HYBRID)]
        result.write(RESULTS)
        shutil.rmtree(store_of(QUANTIZED, size).parent, ignore_errors=True)
    print(result.markdown())


if __name__ == "__main__":
    main()
