"""How good the answers are: the whole system on judged questions, beside its parts alone.

Each document of a set becomes a page, is ingested as a user would ingest it, and is searched in
every mode; hits are mapped back to their documents. Beside it, on the same data: `bm25s` alone
(in an environment of its own), the bare embedder alone (whole documents, exact cosine), and two
other fusions of surefind's own two legs, those that Qdrant offers (RRF and DBSF); and what people
would pick instead, each in an environment of its own, with the same pages and the same embedder.

    nDCG@10    gains as judged, linear; ideal over all judgements
    recall@k   of the relevant documents, how many are among the first k
    MRR@10     one over the rank of the first relevant document

`± ` is half of a 95 % interval of the difference to hybrid in nDCG@10: a paired bootstrap.
"""

import argparse
import asyncio
import json
import math
import random
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from bench.quality.peers import peers_answers, peers_versions
from bench.support.corpora import folder_of, lines_of
from bench.support.drawing import Chart
from bench.support.folders import ENVIRONMENTS, RESULTS
from bench.support.results import Result, Row
from bench.support.workers import machine
from surefind.bootstrap import Application, IngestRequest
from surefind.model import Collapse, Mode, Query
from surefind.ports import DenseQuery, SparseQuery
from surefind.settings import load

PEERS = ENVIRONMENTS / "parsing" / "bin" / "python"
SETS = ("cranfield", "squad-dev-even")
DEEP = 100
RRF_K = 60  # of Qdrant's documentation: https://qdrant.tech/documentation/concepts/hybrid-queries/

BEST = "surefind"
NOTES = [
    "*surefind* without a suffix is its default mode, hybrid.",
    "All systems use the same embedder (bge-small-en-v1.5, int8), so differences come from "
    "chunking, terms and fusion. Other tools with their own default models are a different "
    "comparison.",
    "Two English sets with short documents: one judged by experts (cranfield), one with "
    "questions written while reading the paragraph (squad-dev-even), which favours matching "
    "words.",
    "± is half of a 95 % interval of the difference in nDCG@10, by a paired bootstrap. "
    "Smaller differences are not significant.",
    "Both sets were available when surefind's defaults were chosen.",
]

Judgements = Mapping[str, int]
Ranked = Sequence[str]


@dataclass(frozen=True)
class Judged:
    """A set: documents by id, and the questions that somebody has judged."""

    name: str
    documents: dict[str, tuple[str, str]]
    questions: Sequence[tuple[str, Judgements]]


def read(name: str, limit: int | None) -> Judged:
    documents = {
        line["_id"]: (line["title"], line["text"]) for line in lines_of(name, "corpus.jsonl")
    }
    judged: dict[str, dict[str, int]] = {}
    for row in (folder_of(name) / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, gain = row.split("\t")
        if int(gain) > 0:
            judged.setdefault(query, {})[document] = int(gain)
    questions = [
        (line["text"].strip(), judged[line["_id"]])
        for line in lines_of(name, "queries.jsonl")
        if line["_id"] in judged
    ]
    if limit is not None and limit < len(questions):
        questions = random.Random(7).sample(questions, limit)
    return Judged(name, documents, questions)


# --- the system -------------------------------------------------------------------------------


class System:
    """surefind with one set ingested; what was ingested before is not ingested again."""

    def __init__(self, judged: Judged) -> None:
        self._judged = judged
        self._folder = RESULTS / "quality" / judged.name
        self.application = Application(load(data_dir=self._folder / "data"))
        self.pages = self._folder / "pages"
        self._ids: dict[str, str] = {}

    async def ingest(self) -> None:
        pages = self.pages
        pages.mkdir(parents=True, exist_ok=True)
        for number, (document, (title, text)) in enumerate(self._judged.documents.items()):
            page = pages / f"{number}.md"
            content = f"# {title}\n\n{text}\n"
            if not page.exists() or page.read_text() != content:
                page.write_text(content)
            self._ids[f"pages/{page.name}"] = document
        report = await self.application.ingesting.ingest(IngestRequest(paths=[pages], rebuild=True))
        print(f"{self._judged.name}: {report.documents} pages, {report.chunks} chunks", flush=True)

    def ids_of_pages(self) -> dict[str, str]:
        """By the page's name below the folder, as the peers say it."""
        return {path.removeprefix("pages/"): document for path, document in self._ids.items()}

    async def search(self, text: str, mode: Mode) -> Ranked:
        query = Query(text, top_k=DEEP, mode=mode, collapse=Collapse.SAME)
        result = await self.application.searching.search(query)
        paths = [
            record.chunk.source_path for hit in result.hits for record in (hit.record, *hit.also)
        ]
        return [self._ids[path] for path in dict.fromkeys(paths)]

    async def fused(self, text: str, fusion: Callable[..., dict[str, float]]) -> Ranked:
        """The two legs' first hundred, fused by another method."""
        embedder = await self.application.parts.embedder()
        vector, terms = await embedder.embed_query(text), self.application.parts.terms.query(text)
        async with self.application.parts.reader.lease() as generation:
            legs = await generation.index.search(
                [DenseQuery(vector, DEEP), SparseQuery(terms, DEEP)]
            )
            scored = fusion(
                *(dict(zip(map(_named, leg.points), leg.scores, strict=True)) for leg in legs)
            )
            points = {_named(p): p for leg in legs for p in leg.points}
            order = sorted(scored, key=lambda point: (-scored[point], point))
            records, _ = await generation.numbered([points[point] for point in order])
        paths = [record.chunk.source_path for record in records]
        return [self._ids[path] for path in dict.fromkeys(paths)]


def _named(point: int) -> str:
    """In an order that is the numbers' own."""
    return f"{point:039d}"


def rrf(*legs: Mapping[str, float]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for leg in legs:
        for rank, point in enumerate(sorted(leg, key=lambda p: -leg[p])):
            scores[point] = scores.get(point, 0.0) + 1 / (RRF_K + rank)
    return scores


def dbsf(*legs: Mapping[str, float]) -> dict[str, float]:
    """Each leg scaled between three standard deviations around its mean, and summed."""
    scores: dict[str, float] = {}
    for leg in legs:
        if not leg:
            continue
        values = np.array(list(leg.values()))
        low, width = values.mean() - 3 * values.std(), 6 * values.std()
        for point, score in leg.items():
            scaled = (score - low) / width if width else 0.5
            scores[point] = scores.get(point, 0.0) + float(np.clip(scaled, 0, 1))
    return scores


# --- the parts alone --------------------------------------------------------------------------


async def bare_embedder(judged: Judged, application: Application) -> list[Ranked]:
    embedder = await application.parts.embedder(writing=True)
    ids = list(judged.documents)
    passages = [f"{title}\n\n{text}" for title, text in judged.documents.values()]
    matrix = await embedder.embed_passages(passages)
    ranked: list[Ranked] = []
    for text, _ in judged.questions:
        cosines = matrix @ await embedder.embed_query(text)
        ranked.append([ids[at] for at in np.argsort(-cosines, kind="stable")[:DEEP]])
    return ranked


def bm25s_alone(judged: Judged) -> list[Ranked]:
    work = {
        "ids": list(judged.documents),
        "texts": [f"{title} {text}" for title, text in judged.documents.values()],
        "queries": [text for text, _ in judged.questions],
        "depth": DEEP,
    }
    done = subprocess.run(
        [str(PEERS), "-m", "bench.quality.bm25s_alone"],
        input=json.dumps(work),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
    )
    answer: list[Ranked] = json.loads(done.stdout)
    return answer


# --- measuring --------------------------------------------------------------------------------


def measure(ranked: Ranked, judged: Judgements) -> dict[str, float]:
    gains = [judged.get(document, 0) for document in ranked[:10]]
    ideal = sorted(judged.values(), reverse=True)[:10]
    first = next((rank for rank, gain in enumerate(gains, start=1) if gain), None)
    return {
        "nDCG@10": _dcg(gains) / _dcg(ideal),
        "recall@5": sum(document in judged for document in ranked[:5]) / len(judged),
        "recall@10": sum(document in judged for document in ranked[:10]) / len(judged),
        "MRR@10": 1 / first if first else 0.0,
    }


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """(difference, half of its 95 % interval)."""
    difference = np.array(theirs) - np.array(ours)
    chance = np.random.default_rng(7)
    means = difference[chance.integers(0, len(difference), (2000, len(difference)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(difference.mean()), float(high - low) / 2


async def run(name: str, limit: int | None, result: Result) -> None:
    judged = read(name, limit)
    system = System(judged)
    await system.ingest()

    async def every(ask: Callable[[str], Awaitable[Ranked]]) -> list[Ranked]:
        return [await ask(text) for text, _ in judged.questions]

    answers: dict[str, list[Ranked]] = {
        BEST: await every(lambda text: system.search(text, Mode.HYBRID)),
        "surefind, dense": await every(lambda text: system.search(text, Mode.DENSE)),
        "surefind, lexical": await every(lambda text: system.search(text, Mode.LEXICAL)),
        "its legs, DBSF": await every(lambda text: system.fused(text, dbsf)),
        "its legs, RRF": await every(lambda text: system.fused(text, rrf)),
        "bare embedder": await bare_embedder(judged, system.application),
        "bm25s": bm25s_alone(judged),
    }
    await system.application.close()
    asked = [text for text, _ in judged.questions]
    theirs, notes = peers_answers(system.pages, system.ids_of_pages(), asked)
    result.notes += notes
    measured = {
        what: [
            measure(one, gains) for one, (_, gains) in zip(ranked, judged.questions, strict=True)
        ]
        for what, ranked in {**answers, **theirs}.items()
    }
    result.tables[f"{name}, {len(asked):,} questions"] = rows_of(measured)
    result.charts.append(chart(name, measured))


def rows_of(measured: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Row]:
    best = [one["nDCG@10"] for one in measured[BEST]]
    rows: list[Row] = []
    for what, ones in measured.items():
        row: Row = {"system": what}
        row |= {metric: f"{np.mean([one[metric] for one in ones]):.3f}" for metric in ones[0]}
        difference, half = interval(best, [one["nDCG@10"] for one in ones])
        less = f"{difference:+.3f} ± {half:.3f}"
        rows.append({**row, "nDCG@10 less surefind's": None if what == BEST else less})
    return rows


def chart(name: str, measured: Mapping[str, Sequence[Mapping[str, float]]]) -> Chart:
    bars = []
    for what, ones in measured.items():
        mean = float(np.mean([one["nDCG@10"] for one in ones]))
        bars.append((what, mean, mean, mean))
    bars.sort(key=lambda bar: -bar[1])
    ours = [bar[0] for bar in bars if bar[0].startswith("surefind")]
    return Chart(name, f"nDCG@10 on {name}", "nDCG@10", bars, ours, logarithmic=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1000, help="maximum number from each set")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--quick", action="store_true", help="50 questions of cranfield")
    options = parser.parse_args()
    if options.quick:
        options.questions, options.sets = 50, SETS[:1]
    result = Result(
        "quality",
        "Quality, compared with single components and other tools",
        "Each document of a judged set is ingested as a Markdown page. Hits are mapped back "
        "to documents, and the first ten documents count.",
        {"questions": options.questions, "chunks asked for": DEEP},
        {"surefind": version("surefind"), **peers_versions()},
        machine(),
        notes=list(NOTES),
    )
    for name in options.sets:
        asyncio.run(run(name, options.questions, result))
        result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
