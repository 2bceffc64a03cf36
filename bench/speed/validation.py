"""What a validation costs beside the embedding that it can't do without.

The questions of squad-dev-even are validated as a user would: asked, judged, explained where they
failed, summed up. Beside it, the same questions are embedded and nothing else. Both take turns, and
the order alternates, so that the noise of the machine affects both. A neighbour that empties the
caches slows a search, which goes through many small objects, more than a model that multiplies.

Then a comparison of targets against the bare searches of its questions, one at a time, in turns:
what judging and reporting add to the processor time of a target.

Then metrics over 100,000 judged hits, and the HTML of the report: its size, and how long it takes.
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
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.support.folders import RESULTS
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import locate
from surefind.bootstrap import Application, IngestRequest
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.measures.ranking import Measure, measure_run
from surefind.evaluation.report.report import Report
from surefind.interfaces.reports.html import ReportExtras, html_page
from surefind.model import TargetQuery
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.comparison_run import run_on_targets
from surefind.services.validation.targets.own_target import OwnOptions, OwnTarget
from surefind.settings import load

DATA = Path(os.environ.get("SUREFIND_DATA", "../shared/data")) / "squad-dev-even"
WARM_UP, REPETITIONS, SEED, PART = 50, 3, 7, 50


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


def pages(folder: Path) -> Path:
    if not (DATA / "corpus.jsonl").exists():
        sys.exit(f"{DATA} is missing: set SUREFIND_DATA to the folder that holds squad-dev-even/")
    docs = folder / "docs"
    docs.mkdir()
    for line in (DATA / "corpus.jsonl").read_text("utf-8").splitlines():
        page = json.loads(line)
        (docs / f"{page['_id']}.md").write_text(f"# {page['title']}\n\n{page['text']}\n", "utf-8")
    return docs


class Bench:
    def __init__(
        self, application: Application, bare: BgeSmallEmbedder, golden: GoldenSet, concurrency: int
    ) -> None:
        self._application = application
        self._bare = bare
        self._golden = golden
        self._options = RunRequest(concurrency=concurrency)
        self.report: Report | None = None

    async def validate(self, tests: Sequence[GoldenTest]) -> None:
        golden = replace(self._golden, tests=tuple(tests))
        self.report = await self._application.validation.validate(
            golden, self._options, lambda _done, _total: None
        )

    async def embed(self, tests: Sequence[GoldenTest]) -> None:
        """One per thread of the embedder, which is its maximum throughput."""
        await self._bare.embed_passages([test.query_text for test in tests])

    async def turn(self, tests: Sequence[GoldenTest], *, bare_first: bool) -> tuple[float, float]:
        works = [lambda: self.embed(tests), lambda: self.validate(tests)]
        order = (0, 1) if bare_first else (1, 0)
        spent = {number: await timed(works[number]) for number in order}
        return spent[0], spent[1]


async def target_overhead(
    application: Application,
    bare: BgeSmallEmbedder,
    golden: GoldenSet,
    tests: Sequence[GoldenTest],
    repetitions: int,
) -> dict[str, float]:
    """The processor time of a comparison relative to the searches of its target alone.

    The embedder has no cache, so that every search takes as long as the first. Both take turns
    after a few questions.
    """
    searcher = (await application.parts.searcher()).without_cache(bare)
    target = OwnTarget("own", searcher, OwnOptions(application.settings.collection))
    request = RunRequest(concurrency=1)
    top_k = request.top_k_for(golden)

    async def search(part: Sequence[GoldenTest]) -> None:
        for test in part:
            await target.search(TargetQuery(test.test_id, test.query_text, top_k))

    async def judge(part: Sequence[GoldenTest]) -> None:
        await run_on_targets([target], replace(golden, tests=tuple(part)), request, "bench")

    found, added = [], []
    print(f"{'':>12} {'bare/ms':>8} {'compared/ms':>12} {'ratio':>7}")
    for _ in range(repetitions):
        spent = [0.0, 0.0]
        for number, start in enumerate(range(0, len(tests), PART)):
            part = tests[start : start + PART]
            for at in (0, 1) if number % 2 == 0 else (1, 0):
                begun = time.process_time()
                await (search, judge)[at](part)
                spent[at] += time.process_time() - begun
        each_ms = [1000 * one / len(tests) for one in spent]
        found.append(spent[1] / spent[0])
        added.append(each_ms[1] - each_ms[0])
        print(f"{len(tests):>12} {each_ms[0]:>8.2f} {each_ms[1]:>12.2f} {found[-1]:>7.3f}")
    return {
        "target_ratio_median": statistics.median(found),
        "target_added_ms_median": statistics.median(added),
    }


async def ratios(bench: Bench, tests: Sequence[GoldenTest], repetitions: int) -> dict[str, float]:
    found: list[float] = []
    print(f"{'':>12} {'bare/s':>8} {'validated/s':>12} {'ratio':>7}")
    for number in range(repetitions):
        bare_s, whole_s = await bench.turn(tests, bare_first=number % 2 == 0)
        found.append(bare_s / whole_s)
        count = len(tests)
        print(f"{count:>12} {count / bare_s:>8.0f} {count / whole_s:>12.0f} {found[-1]:>7.2f}")
    return {"ratio_median": statistics.median(found), "ratio_best": max(found)}


def metrics_seconds() -> float:
    """10,000 queries with ten judged hits each, by six measures."""
    chance = random.Random(SEED)
    names = [f"d{number}" for number in range(40)]
    rankings = {str(query): chance.sample(names, 10) for query in range(10_000)}
    judged = {
        query: {name: chance.randint(0, 3) for name in ranking}
        for query, ranking in rankings.items()
    }
    measures = [Measure.parse(name) for name in ("nDCG@10", "R@10", "P@10", "hit@10", "MRR", "MAP")]
    begun = time.process_time()
    measure_run(rankings, judged, measures)
    return time.process_time() - begun


async def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    settings = load(data_dir=str(folder / "data"))
    application = Application(settings)
    bare = BgeSmallEmbedder(locate(settings.model_dir, settings.cache_dir, print), settings.threads)
    print("ingesting squad-dev-even")
    await application.ingesting.ingest(IngestRequest(paths=[pages(folder)]))
    golden = await application.validation.golden(DATA)
    tests = list(golden.tests)
    random.Random(SEED).shuffle(tests)
    bench = Bench(application, bare, golden, arguments.concurrency)
    await bench.turn(tests[:WARM_UP], bare_first=True)
    chosen = tests[WARM_UP:] if arguments.all else tests[WARM_UP : WARM_UP + arguments.queries]
    found = await ratios(bench, chosen, arguments.repetitions)
    found |= await target_overhead(
        application, bare, golden, chosen[: arguments.queries], arguments.repetitions
    )
    assert bench.report is not None
    passages = await application.validation.passages_of(bench.report)
    # As large as the report of all questions, whatever part of them was asked.
    times = -(-len(tests) // len(bench.report.tests))
    told = replace(bench.report, tests=(bench.report.tests * times)[: len(tests)])
    begun = time.process_time()
    page = html_page(told, ReportExtras(passages))
    found |= {
        "html_s": time.process_time() - begun,
        "html_megabytes": len(page.encode()) / 1e6,
        "metrics_100k_hits_s": metrics_seconds(),
    }
    await application.close()
    await bare.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=900, help="how many questions")
    parser.add_argument("--all", action="store_true", help="all 5,665 questions")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--concurrency", type=int, default=RunRequest().concurrency)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(run(arguments, Path(folder)))
    for name, value in found.items():
        print(f"{name:>24} {value:.3f}")
    RESULTS.mkdir(exist_ok=True)
    told = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **found}
    (RESULTS / "validation.json").write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
