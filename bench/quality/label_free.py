"""Are tests without labels valid? They order configurations; judged questions do so too.

Twelve configurations, some of them deliberately broken, answer the judged questions about React and
Vite and the label-free tests of the same pages. Each kind of test puts the configurations into an
order; Kendall's tau-b compares it with the order by the judged questions. Its interval is a
bootstrap over the questions of both.

    judged        nDCG@5 of pages, gains are 2^grade - 1
    label-free    the discounted rank of the first right passage among ten
"""

import argparse
import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from bench.quality.ranking_sets import CACHE, Question, ingested, judged_pages
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import machine
from surefind.bootstrap import Application
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.evaluation.golden.label_free import LabelFreeKind, SelfDescription
from surefind.model import ChunkRecord, GroupBy, Mode, Query
from surefind.services.search.filters import read_expressions
from surefind.services.search.ranking import fusion
from surefind.services.search.search import Searcher
from surefind.settings import load

LIBRARIES = ("react", "vite")
SAMPLES = 2_000
SOUND = 6
"""The first configurations, which are not broken."""
_TOP, _LOST_TOP = 10, 20
_SEED = 25
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Configuration:
    label: str
    mode: Mode = Mode.HYBRID
    dense_weight: float = fusion.DENSE_WEIGHT
    kinds_count: bool = True
    asks: str = "all"
    """all: the question; first: its first word; half: every other letter."""
    damage: str = ""
    """reversed: the worst of ten hits first; lost: half of the pages are missing."""

    def question(self, text: str) -> str:
        if self.asks == "first":
            return text.split(maxsplit=1)[0]
        return text[::2] if self.asks == "half" else text


CONFIGURATIONS = [
    Configuration("hybrid"),
    Configuration("dense", Mode.DENSE),
    Configuration("lexical", Mode.LEXICAL),
    Configuration("hybrid, dense weight .3", dense_weight=0.3),
    Configuration("hybrid, dense weight .9", dense_weight=0.9),
    Configuration("hybrid, all kinds of pages equal", kinds_count=False),
    Configuration("hybrid, half of the pages lost", damage="lost"),
    Configuration("hybrid, ten hits reversed", damage="reversed"),
    Configuration("hybrid, first word only", asks="first"),
    Configuration("dense, first word only", Mode.DENSE, asks="first"),
    Configuration("lexical, first word only", Mode.LEXICAL, asks="first"),
    Configuration("dense, every other letter", Mode.DENSE, asks="half"),
]


class Library:
    """One library's pages, judged questions and label-free tests."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        collection = ingested(name)
        self.judged: Sequence[Question] = judged_pages(name, collection)
        records = sorted(
            collection.records, key=lambda one: (one.chunk.source_path, one.chunk.position)
        )
        began = time.perf_counter()
        description = SelfDescription()
        for record in records:
            description.add(record)
        self.tests = {kind: description.tests(kind, most) for kind in LabelFreeKind}
        self.seconds = time.perf_counter() - began
        self.chunks = len(records)

    async def measured(self) -> dict[str, list[list[float]]]:
        """For each kind, and `judged`: a list of values for each configuration."""
        application = Application(load(data_dir=CACHE / "data", collection=self.name))
        try:
            values: dict[str, list[list[float]]] = {name: [] for name in ("judged", *self.tests)}
            for configuration in CONFIGURATIONS:
                fusion.DENSE_WEIGHT = configuration.dense_weight
                searcher = await _searcher(application, configuration)
                values["judged"].append(
                    [await self._judged(searcher, configuration, one) for one in self.judged]
                )
                for kind, tests in self.tests.items():
                    found = [await self._found(searcher, configuration, one) for one in tests]
                    values[kind].append(found)
                say(f"{self.name}: {configuration.label}")
            return values
        finally:
            await application.close()

    async def _judged(
        self, searcher: Searcher, configuration: Configuration, question: Question
    ) -> float:
        query = Query(question.text, collection=self.name, group_by=GroupBy.DOCUMENT)
        records = await _hits(searcher, configuration, query)
        gains = [2 ** question.gains.get(one.chunk.source_path, 0) - 1 for one in records[:5]]
        ideal = [2**gain - 1 for gain in sorted(question.gains.values(), reverse=True)[:5]]
        return _discounted(gains) / _discounted(ideal)

    async def _found(
        self, searcher: Searcher, configuration: Configuration, test: GoldenTest
    ) -> float:
        query = Query(test.query_text, collection=self.name, where=read_expressions(test.where))
        records = await _hits(searcher, configuration, query)
        for rank, record in enumerate(records):
            if any(one.matches(record) for one in test.expected):
                return 1 / math.log2(rank + 2)
        return 0.0


async def _searcher(application: Application, configuration: Configuration) -> Searcher:
    parts = application.parts
    weights = parts.kind_weights if configuration.kinds_count else {}
    # Without an answer cache, which does not know what is changed here.
    embedder = await parts.query_embedder()
    return Searcher(parts.readers, embedder, parts.terms, kind_weights=weights)


async def _hits(
    searcher: Searcher, configuration: Configuration, query: Query
) -> list[ChunkRecord]:
    top = _LOST_TOP if configuration.damage == "lost" else _TOP
    query = replace(
        query,
        text=configuration.question(query.text),
        mode=configuration.mode,
        top_k=top,
    )
    records = [hit.record for hit in (await searcher.search(query)).hits]
    if configuration.damage == "lost":
        return [one for one in records if len(one.chunk.source_path) % 2][:_TOP]
    return records[::-1] if configuration.damage == "reversed" else records


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))


def tau_b(first: Values, second: Values) -> float:
    """Kendall's tau-b, which corrects for ties; 0 if all are tied."""
    left, right = (np.sign(one[:, None] - one[None, :]) for one in (first, second))
    pairs = np.triu_indices(len(first), 1)
    agreement = float((left * right)[pairs].sum())
    norm = float(np.abs(left[pairs]).sum() * np.abs(right[pairs]).sum()) ** 0.5
    return agreement / norm if norm else 0.0


def tau_interval(kind: Values, judged: Values) -> tuple[float, float, float]:
    """Tau of the means, and its 95 % interval. Each row has the values of a configuration."""
    chance = np.random.default_rng(_SEED)

    def drawn(values: Values) -> Values:
        means: Values = values[:, chance.integers(values.shape[1], size=values.shape[1])].mean(1)
        return means

    samples = [tau_b(drawn(kind), drawn(judged)) for _ in range(SAMPLES)]
    low, high = np.percentile(samples, [2.5, 97.5])
    return tau_b(kind.mean(1), judged.mean(1)), float(low), float(high)


def _joined(measured: Sequence[Mapping[str, list[list[float]]]], name: str) -> Values:
    return np.hstack([np.array(one[name], dtype=float) for one in measured])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=100, help="of each kind and library")
    parser.add_argument("--only", choices=LIBRARIES, help="use the pages of one library")
    options = parser.parse_args()
    names = (options.only,) if options.only else LIBRARIES
    libraries = [Library(name, options.tests) for name in names]
    measured = [asyncio.run(library.measured()) for library in libraries]
    judged = _joined(measured, "judged")
    scores: list[Row] = [
        {"configuration": one.label, "judged": float(judged[row].mean())}
        for row, one in enumerate(CONFIGURATIONS)
    ]
    validity: list[Row] = []
    for kind in LabelFreeKind:
        values = _joined(measured, kind)
        for row, score in enumerate(scores):
            score[kind] = float(values[row].mean()) if values.size else None
        if values.size:
            tau, low, high = tau_interval(values, judged)
            interval = f"{low:.2f} to {high:.2f}"
            sound = tau_b(values[:SOUND].mean(1), judged[:SOUND].mean(1))
            row_: Row = {"kind": str(kind), "tests": values.shape[1]}
            validity.append(
                row_
                | {
                    "tau-b": f"{tau:.2f}",
                    "95 % interval": interval,
                    f"tau-b of the first {SOUND}": f"{sound:.2f}",
                }
            )
    result = Result(
        "label-free",
        "Validity of tests without labels",
        f"{judged.shape[1]} judged questions, and tests of the pages of {', '.join(names)}.",
        {"tests of each kind and library": options.tests},
        {"surefind": version("surefind")},
        machine(),
        notes=[
            "Chunk sizes are not varied.",
            "Headings, symbols and FAQ questions stay in the index while they are asked.",
        ],
    )
    result.tables = {
        "Validity": validity,
        "Scores": scores,
        "Generation": [
            {"pages": one.name, "chunks": one.chunks, "seconds": one.seconds} for one in libraries
        ],
    }
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
