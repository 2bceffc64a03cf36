"""How good the answers are: the whole system on judged questions, beside its parts alone.

Each document of a set becomes a page, is ingested as a user would ingest it, and is searched in
every mode; hits are mapped back to their documents. Beside it, on the same data: `bm25s` alone
(in an environment of its own), the bare embedder alone (whole documents, exact cosine), and two
other fusions of surefind's own two legs, those that Qdrant offers (RRF and DBSF).

    nDCG@10    gains as judged, linear; ideal over all judgements
    recall@k   of the relevant documents, how many are among the first k
    MRR@10     one over the rank of the first relevant document

`± ` is half of a 95 % interval of the difference to hybrid in nDCG@10: a paired bootstrap.
"""

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from surefind.bootstrap import Application
from surefind.model import Collapse, Mode, Query
from surefind.ports import DenseProbe, TermProbe
from surefind.settings import load

DATA = Path(os.environ.get("SUREFIND_DATA", "../shared/data"))
HERE = Path(__file__).parent
RESULTS = HERE / "results"
PEERS = HERE.parent / ".venv-peers" / "parsing" / "bin" / "python"
SETS = ("cranfield", "squad-dev-even")
DEEP = 100
RRF_K = 60  # of Qdrant's documentation: https://qdrant.tech/documentation/concepts/hybrid-queries/

Judgements = Mapping[str, int]
Ranked = Sequence[str]


@dataclass(frozen=True)
class Judged:
    """A set: documents by id, and the questions that somebody has judged."""

    name: str
    documents: dict[str, tuple[str, str]]
    questions: Sequence[tuple[str, Judgements]]


def read(name: str, limit: int | None) -> Judged:
    folder = DATA / name
    if not folder.is_dir():
        sys.exit(f"{folder} is missing: set SUREFIND_DATA to the folder that holds {name}/")
    documents = {
        line["_id"]: (line["title"], line["text"]) for line in _lines(folder / "corpus.jsonl")
    }
    judged: dict[str, dict[str, int]] = {}
    for row in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, gain = row.split("\t")
        if int(gain) > 0:
            judged.setdefault(query, {})[document] = int(gain)
    questions = [
        (line["text"].strip(), judged[line["_id"]])
        for line in _lines(folder / "queries.jsonl")
        if line["_id"] in judged
    ]
    return Judged(name, documents, questions[:limit])


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return [json.loads(line) for line in stream]


# --- the system -------------------------------------------------------------------------------


class System:
    """surefind with one set ingested; what was ingested before is not ingested again."""

    def __init__(self, judged: Judged) -> None:
        self._judged = judged
        self._folder = RESULTS / "quality" / judged.name
        self.application = Application(load(data_dir=self._folder / "data"))
        self._ids: dict[str, str] = {}

    async def ingest(self) -> None:
        pages = self._folder / "pages"
        pages.mkdir(parents=True, exist_ok=True)
        for number, (document, (title, text)) in enumerate(self._judged.documents.items()):
            page = pages / f"{number}.md"
            content = f"# {title}\n\n{text}\n"
            if not page.exists() or page.read_text() != content:
                page.write_text(content)
            self._ids[f"pages/{page.name}"] = document
        report = await self.application.ingest([pages], lambda _: None, rebuild=True)
        print(f"{self._judged.name}: {report.documents} pages, {report.chunks} chunks", flush=True)

    async def search(self, text: str, mode: Mode) -> Ranked:
        query = Query(text, top_k=DEEP, mode=mode, collapse=Collapse.SAME)
        result = await self.application.search(query)
        paths = [
            record.chunk.source_path for hit in result.hits for record in (hit.record, *hit.also)
        ]
        return [self._ids[path] for path in dict.fromkeys(paths)]

    async def fused(self, text: str, fusion: Callable[..., dict[str, float]]) -> Ranked:
        """The two legs' first hundred, fused as somebody else does."""
        embedder = await self.application.embedder()
        vector, terms = await embedder.embed_query(text), self.application.terms.query(text)
        async with self.application.reader.lease() as generation:
            legs = await generation.index.probe([DenseProbe(vector, DEEP), TermProbe(terms, DEEP)])
            scored = fusion(
                *({str(p): s for p, s in zip(leg.points, leg.scores, strict=True)} for leg in legs)
            )
            points = {str(p): p for leg in legs for p in leg.points}
            order = sorted(scored, key=lambda point: (-scored[point], point))
            records, _ = await generation.records([points[point] for point in order])
        paths = [records[points[point]].chunk.source_path for point in order]
        return [self._ids[path] for path in dict.fromkeys(paths)]


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
    embedder = await application.embedder(writing=True)
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
        [str(PEERS), str(HERE / "quality_bm25s.py")],
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


async def run(name: str, limit: int | None) -> list[dict[str, object]]:
    judged = read(name, limit)
    system = System(judged)
    await system.ingest()

    async def every(ask: Callable[[str], Awaitable[Ranked]]) -> list[Ranked]:
        return [await ask(text) for text, _ in judged.questions]

    answers: dict[str, list[Ranked]] = {
        "surefind hybrid": await every(lambda text: system.search(text, Mode.HYBRID)),
        "surefind dense": await every(lambda text: system.search(text, Mode.DENSE)),
        "surefind lexical": await every(lambda text: system.search(text, Mode.LEXICAL)),
        "its legs, DBSF": await every(lambda text: system.fused(text, dbsf)),
        "its legs, RRF": await every(lambda text: system.fused(text, rrf)),
        "bare embedder": await bare_embedder(judged, system.application),
        "bm25s": bm25s_alone(judged),
    }
    await system.application.close()
    measured = {
        what: [
            measure(one, gains) for one, (_, gains) in zip(ranked, judged.questions, strict=True)
        ]
        for what, ranked in answers.items()
    }
    best = [one["nDCG@10"] for one in measured["surefind hybrid"]]
    rows = []
    for what, ones in measured.items():
        means = {metric: float(np.mean([one[metric] for one in ones])) for metric in ones[0]}
        difference, half = interval(best, [one["nDCG@10"] for one in ones])
        rows.append({"set": name, "system": what, **means, "difference": difference, "half": half})
    return rows


def table(rows: Sequence[Mapping[str, object]]) -> str:
    metrics = ("nDCG@10", "recall@5", "recall@10", "MRR@10")
    lines = [
        "| set | system | " + " | ".join(metrics) + " | nDCG@10 less hybrid's |",
        "|---|---|" + "---|" * (len(metrics) + 1),
    ]
    for row in rows:
        numbers = " | ".join(f"{row[metric]:.3f}" for metric in metrics)
        less = "" if row["half"] == 0 else f"{row['difference']:+.3f} ± {row['half']:.3f}"
        lines.append(f"| {row['set']} | {row['system']} | {numbers} | {less} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, help="at most so many of each set")
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    rows = [row for name in options.sets for row in asyncio.run(run(name, options.questions))]
    RESULTS.mkdir(exist_ok=True)
    report = {"surefind": version("surefind"), "rows": rows}
    (RESULTS / "quality.json").write_text(json.dumps(report, indent=2))
    (RESULTS / "quality.md").write_text(table(rows) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
