"""A search of the same chunks by surefind and by what people would pick instead.

Every system gets the same texts and vectors (see dataset.py), is built by one process and opened by
another, and is asked the same questions for the ten best. Systems take turns, round by round, so
that they meet the same weather, and the order turns too. Each round measures one caller and sixteen
at once. Ratios are to surefind in the same round.
"""

import argparse
import os
import shutil
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.support.dataset import Dataset, dataset_of
from bench.support.drawing import Chart
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say, spread
from bench.support.workers import Failed, Worker, installed, machine, versions
from bench.systems import BY_NAME, CONTENDERS, DENSE, HYBRID, OURS, Contender

STORES = RESULTS / "stores" / str(os.getpid())  # no run touches what another one builds
CALLERS = (1, 16)
SEARCHING = {"OMP_NUM_THREADS": "1"}
DATA = (
    "Chunks of three sentences of squad-dev-even with 384-dimensional vectors, scattered "
    "around a thousand centres; 500 of its questions with vectors around the same centres; "
    "top 10. Recall is the share of the ten exact nearest neighbours that were found."
)
NOTES = [
    "Embedding is excluded: each question comes with its vector.",
    "surefind, LanceDB, Chroma, txtai, LlamaIndex and Haystack return the chunk's text. "
    "surefind also returns its record: address, heading path, scores of both legs, "
    "confidence. hnswlib and FAISS return numbers; fetching the texts is extra work.",
    "Hybrid search differs. surefind takes 50 candidates of each leg and computes the exact "
    "score of each in both; the others fuse the ranks of their lists, mostly of ten. The "
    "quality tables show what that is worth.",
    "Callers are threads; for surefind they are tasks of one event loop, its native "
    "interface. Its engine holds the interpreter's lock, so one core serves sixteen callers "
    "in one process.",
    "OpenMP, which FAISS and txtai use, has one thread per search. With two threads on two "
    "cores, a flat scan waits for cores that others hold, ten times as long as it works. "
    "Builds use all cores.",
    "Before each of its turns, a system runs uncounted for twice as long, because its memory "
    "may have been reclaimed while others had theirs.",
    "Memory is what the process uses after the searches minus what it used before it opened "
    "the store. Mapped files count where they were read.",
    "Processor ms is the processor time of one answer in all threads, which other programs "
    "affect least.",
    "The vectors are synthetic. Recall on them is not recall on your data.",
]


@dataclass
class Standing:
    """What is known of one system at one size."""

    contender: Contender
    size: int
    built: dict[str, Any] = field(default_factory=dict)
    recall: dict[str, float | None] = field(default_factory=dict)
    rounds: dict[tuple[str, int], list[dict[str, float]]] = field(default_factory=dict)
    memory_mb: float = 0.0


def construct(contender: Contender, dataset: Dataset, size: int, patience_s: float) -> Standing:
    store = store_of(contender, size)
    shutil.rmtree(store, ignore_errors=True)
    standing = Standing(contender, size)
    with Worker(contender) as worker:
        standing.built = worker.ask("build", patience_s, dataset=dataset.folder, store=store)
    say(f"{size} chunks, {contender.name}: built in {standing.built['seconds']:.1f} s")
    return standing


def moved_in(contender: Contender, size: int, standings: Sequence[Standing]) -> Standing:
    """One who searches what another has built."""
    built = next(one.built for one in standings if one.contender.name == contender.opens)
    return Standing(contender, size, built)


def store_of(contender: Contender, size: int) -> Path:
    builder = BY_NAME[contender.opens or contender.name]
    return STORES / str(size) / builder.module.replace(":", "-")


def measure(
    standings: Sequence[Standing], dataset: Dataset, rounds: int, seconds: float
) -> dict[str, str]:
    """Fills the standings; gives back who failed, and why."""
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        workers: list[tuple[Standing, Worker, float]] = []
        for standing in standings:
            worker = stack.enter_context(Worker(standing.contender, **SEARCHING))
            try:
                store = store_of(standing.contender, standing.size)
                opened = worker.ask("open", dataset=dataset.folder, store=store)
                for mode in standing.contender.vectors:
                    warmed = worker.ask("recall", mode=mode, seconds=4 * seconds)
                    standing.recall[mode] = warmed["recall"]
                workers.append((standing, worker, opened["before"]["rss_mb"]))
            except Failed as error:
                failed[standing.contender.name] = str(error)
        for number in range(rounds):
            turned = workers[number % len(workers) :] + workers[: number % len(workers)]
            for standing, worker, before_mb in turned:
                try:
                    one_round(standing, worker, seconds, before_mb)
                except Failed as error:
                    failed[standing.contender.name] = str(error)
            say(f"round {number + 1} of {rounds} is done")
    return failed


def one_round(standing: Standing, worker: Worker, seconds: float, before_mb: float) -> None:
    """While others had their turn, mapped memory may have been taken back: it warms up first."""
    for mode in standing.contender.vectors:
        worker.ask("measure", mode=mode, callers=1, seconds=2 * seconds)
        for callers in CALLERS:
            spent = worker.ask("measure", mode=mode, callers=callers, seconds=seconds)
            standing.rounds.setdefault((mode, callers), []).append(spent)
            standing.memory_mb = spent["rss_mb"] - before_mb


def rows_of(standings: Sequence[Standing], mode: str) -> list[Row]:
    ours = next(one for one in standings if one.contender.name == OURS)
    rows: list[Row] = []
    for one in standings:
        if any((mode, callers) not in one.rounds for callers in CALLERS):
            continue
        alone, many = (one.rounds[mode, callers] for callers in CALLERS)
        row: Row = {
            "chunks": f"{one.size:,}",
            "system": one.contender.name,
            "answers/s": middle(alone, "qps"),
            "× surefind": ratio(one, ours, mode, 1),
            "16 callers, answers/s": middle(many, "qps"),
            "16 callers, × surefind": ratio(one, ours, mode, 16),
            "p50 ms": middle(alone, "p50_ms"),
            "p99 ms": middle(alone, "p99_ms"),
            "16 callers, p99 ms": middle(many, "p99_ms"),
            "processor ms": middle(alone, "cpu_ms"),
        }
        if mode == DENSE:
            row["recall@10"] = f"{one.recall[mode]:.3f}"
            row["memory MB"] = one.memory_mb
            row["disk MB"] = float(one.built["disk_mb"])
            row["built in s"] = float(one.built["seconds"])
        rows.append(row)
    return rows


def middle(rounds: Sequence[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds)


def ratio(one: Standing, ours: Standing, mode: str, callers: int) -> float:
    """The median of the rounds' ratios: both met the same weather."""
    pairs = zip(one.rounds[mode, callers], ours.rounds[mode, callers], strict=False)
    return statistics.median(theirs["qps"] / mine["qps"] for theirs, mine in pairs)


def chart(standings: Sequence[Standing], mode: str, callers: int) -> Chart:
    bars = []
    for one in standings:
        if (mode, callers) in one.rounds:
            values = spread([spent["qps"] for spent in one.rounds[mode, callers]])
            bars.append((one.contender.name, values["median"], values["low"], values["high"]))
    bars.sort(key=lambda bar: -bar[1])
    size = standings[0].size
    return Chart(
        f"{mode}-{size}-{callers}",
        f"{mode.capitalize()} search of {size:,} chunks, {callers} caller{'s'[: callers > 1]}",
        "answers a second",
        bars,
        [bar[0] for bar in bars if bar[0].startswith(OURS)],
    )


def kept(one: Standing) -> Row:
    return {
        "system": one.contender.name,
        "chunks": one.size,
        "built": one.built,
        "recall": one.recall,
        "rounds": {f"{mode}, {callers}": spent for (mode, callers), spent in one.rounds.items()},
    }


def run(options: argparse.Namespace) -> Result:
    sizes, rounds, seconds, names = options.sizes, options.rounds, options.seconds, options.only
    chosen = [one for one in CONTENDERS if not names or one.name in (*names, OURS)]
    here, away = installed(chosen)
    result = Result(
        "search",
        "Search, compared with other tools",
        DATA,
        {"rounds": rounds, "seconds a measurement": seconds, "sizes": list(sizes)},
        versions(here),
        machine(),
        notes=[*NOTES, *(f"{one.name}: {one.note}." for one in here)],
    )
    result.notes += [f"{name} took no part: {why}." for name, why in away.items()]
    for size in sizes:
        dataset = dataset_of(size)
        standings: list[Standing] = []
        for contender in here:
            try:
                standings.append(
                    moved_in(contender, size, standings)
                    if contender.opens
                    else construct(contender, dataset, size, options.timeout)
                )
            except Failed as error:
                if contender.name == OURS:
                    raise  # without it, there is nothing to compare with
                result.notes.append(f"{contender.name} could not be built at {size:,}: {error}.")
                say(result.notes[-1])
        for name, why in measure(standings, dataset, rounds, seconds).items():
            result.notes.append(f"{name} failed at {size:,} chunks: {why}.")
            say(result.notes[-1])
        for mode in (DENSE, HYBRID):
            rows = rows_of(standings, mode)
            result.tables.setdefault(mode.capitalize(), []).extend(rows)
            result.charts += [chart(standings, mode, callers) for callers in CALLERS]
        result.measured += [kept(one) for one in standings]
        result.write(RESULTS)
        shutil.rmtree(STORES, ignore_errors=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="1,000 chunks, half seconds")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one to be built")
    parser.add_argument("--only", nargs="+", default=[], help="systems, by name, besides surefind")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.seconds = [1000], 0.5
    print(run(options).markdown())


if __name__ == "__main__":
    main()
