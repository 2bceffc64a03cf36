"""Models of our own beside the original: the same sets, the same search, other vectors.

    python -m bench.quality.embedders tuned=FOLDER quantized=FOLDER:onnx/model_quantized.onnx

Each model ingests every set with the settings `embedder = "onnx"` and `embed_model`; `default` is
surefind's default model. What a model has ingested stays in BENCH_CACHE.

    nDCG@10        judged sets; dense: the cosine alone, hybrid: as surefind searches by default
    nDCG@5, MRR    graded questions about documentation, by page

Links and descriptions of documentation, each of them the question whose answer is the page that it
is about, are judged sets too.

A difference is to the first model, with half of its 95 % interval by a paired bootstrap; `*` marks
those whose interval excludes 0.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bench.quality import ranking_sets
from bench.quality.judged import interval
from bench.quality.ranking import PASSAGES, Ranker, ndcg
from bench.quality.ranking_sets import CACHE, RankingSet
from bench.support.folders import RESULTS
from bench.support.results import Result, Row
from bench.support.workers import machine

SETS = ("cranfield", "squad-dev-even", "cacm", "mtrag-un-even", "react", "vite")
DEFAULT = "default"
Measured = dict[str, dict[str, list[float]]]
"""By set and measure: the value of each question."""


def measured(of: RankingSet) -> dict[str, list[float]]:
    ranker = Ranker(of)
    hybrid = ranker.rankings(PASSAGES[0])
    pages = [record.chunk.source_path for record in of.collection.records]
    dense = []
    for question, vector in zip(of.questions, of.vectors, strict=True):
        order = np.argsort(-(of.collection.vectors @ vector), kind="stable")[:400]
        found = dict.fromkeys(pages[row] for row in order)
        dense.append([page for page in found if page != question.omitted])
    name = "nDCG@5" if of.is_graded else "nDCG@10"
    values: dict[str, list[float]] = {}
    for leg, rankings in {"dense": dense, "hybrid": hybrid}.items():
        pairs = list(zip(rankings, of.questions, strict=True))
        values[f"{leg} {name}"] = [ndcg(*one, is_graded=of.is_graded) for one in pairs]
        if of.is_graded:
            values[f"{leg} MRR"] = [
                next((1 / n for n, page in enumerate(found[:10], 1) if page in one.gains), 0.0)
                for found, one in pairs
            ]
    return values


def work(sets: Sequence[str], limit: int) -> None:
    """In a process of its own, since the model comes from the environment."""
    for name in sets:
        for one in ranking_sets.judged_sets(name, limit):
            print(json.dumps({"set": one.name, "values": measured(one)}), flush=True)


def asked(model: str, sets: Sequence[str], limit: int) -> Measured:
    name, _, place = model.partition("=")
    folder, _, file = place.partition(":")
    environment = dict(os.environ)
    if name != DEFAULT:
        environment |= {
            "BENCH_CACHE": str(CACHE / "models" / name),
            "SUREFIND_EMBEDDER": "onnx",
            "SUREFIND_EMBED_MODEL": str(Path(folder).resolve()),
        }
        if file:
            environment["SUREFIND_EMBED_FILE"] = file
    command = [sys.executable, "-m", "bench.quality.embedders", "--worker", "--sets", *sets]
    done = subprocess.run(
        [*command, "--questions", str(limit)],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    held = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"set"')]
    return {one["set"]: one["values"] for one in held}


def rows_of(by_model: Mapping[str, Measured]) -> list[Row]:
    first = next(iter(by_model))
    rows: list[Row] = []
    for name, measures in by_model[first].items():
        for measure, values in measures.items():
            row: Row = {"set": f"{name} ({len(values)})", "measure": measure}
            for model, held in by_model.items():
                theirs = held[name][measure]
                row[model] = f"{np.mean(theirs):.4f}"
                if model != first:
                    difference, half = interval(values, theirs)
                    mark = "*" if abs(difference) > half else ""
                    row[model] = f"{row[model]} ({difference:+.4f} ± {half:.4f}{mark})"
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", help="NAME=FOLDER or NAME=FOLDER:FILE")
    parser.add_argument("--questions", type=int, default=400, help="maximum number from each set")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.sets, options.questions)
        return
    by_model = {
        model.partition("=")[0]: asked(model, options.sets, options.questions)
        for model in (DEFAULT, *options.models)
    }
    result = Result(
        "embedders",
        "Embedding models",
        "Judged documents as pages, and documentation with graded questions.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=["These sets were available when the model was chosen."],
    )
    result.tables["Models"] = rows_of(by_model)
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
