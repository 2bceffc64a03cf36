"""What a reranker adds to hybrid search, and what it costs: nDCG@10 and latency, at several depths.

`--model` is a folder or an id of the hub; it can be given several times. Each question is searched
without the reranker and with it, one after the other, so that both meet the same load.

`±` is half of a 95 % interval of the difference in nDCG@10: a paired bootstrap.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from bench.quality.judged import Judged, System, interval, measure, read
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, number
from bench.support.workers import machine
from surefind.bootstrap import Application
from surefind.model import Collapse, Query
from surefind.settings import load

SETS = ("cranfield", "mtrag-un-even", "squad-dev-even")
DEPTHS = (20, 50)
PLAIN = "without"
TOP_K = 10


@dataclass
class Measured:
    quality: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


async def ask(system: System, application: Application, text: str, *, rerank: bool) -> list[str]:
    query = Query(text, top_k=TOP_K, rerank=rerank, collapse=Collapse.SAME)
    result = await application.searching.search(query)
    ids = system.ids_of_pages()
    paths = [hit.record.chunk.source_path.removeprefix("pages/") for hit in result.hits]
    return [ids[path] for path in dict.fromkeys(paths)]


async def run(judged: Judged, models: Sequence[str]) -> list[Row]:
    system = System(judged)
    await system.ingest()
    data = system.application.settings.data_dir
    variants: dict[str, Application] = {PLAIN: system.application}
    for model in models:
        for depth in DEPTHS:
            settings = load(data_dir=data, reranker="onnx", rerank_model=model, rerank_depth=depth)
            variants[f"{model}, {depth} candidates"] = Application(settings, print)
    for name, application in variants.items():  # load the model before anything is timed
        await ask(system, application, "warm up", rerank=name != PLAIN)
    measured = {name: Measured() for name in variants}
    for text, gains in judged.questions:
        for name, application in variants.items():
            began = time.perf_counter()
            ranked = await ask(system, application, text, rerank=name != PLAIN)
            measured[name].milliseconds.append((time.perf_counter() - began) * 1000)
            measured[name].quality.append(measure(ranked, gains)["nDCG@10"])
    for application in variants.values():
        await application.close()
    return [_row(name, one, measured[PLAIN]) for name, one in measured.items()]


def _row(name: str, one: Measured, plain: Measured) -> Row:
    difference, half = interval(plain.quality, one.quality)
    middle, slow = np.percentile(one.milliseconds, (50, 95))
    ratio = middle / np.percentile(plain.milliseconds, 50)
    return {
        "reranker": name,
        "nDCG@10": f"{np.mean(one.quality):.4f}",
        "difference": None if one is plain else f"{difference:+.4f} ± {half:.4f}",
        "p50 ms": number(float(middle)),
        "p95 ms": number(float(slow)),
        "p50 beside none": f"{ratio:.1f} ×",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", required=True, help="a folder or an id")
    parser.add_argument("--questions", type=int, default=200, help="maximum number from each set")
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    result = Result(
        "reranking",
        "Rerankers, beside hybrid search without one",
        "Each document of a judged set is ingested as a Markdown page; the first ten hits count.",
        {"questions": options.questions, "models": options.model},
        {"surefind": version("surefind"), "onnxruntime": version("onnxruntime")},
        machine(),
        notes=["Repeated questions are answered from the cache, so each is asked once."],
    )
    for name in options.sets:
        judged = read(name, options.questions)
        rows = asyncio.run(run(judged, options.model))
        result.tables[f"{name}, {len(judged.questions):,} questions"] = rows
        result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
