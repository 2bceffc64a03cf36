"""How deep each leg is asked: the quality of hybrid search by the number of candidates.

The documents of both judged sets lie in one collection, so that the questions of each meet the
other's as well. Each leg ranks all chunks once, exactly; then the same rankings are cut at several
depths and fused as a search fuses them. What differs is the depth alone.

`±` is half of a 95 % interval of the difference to the deepest in nDCG@10: a paired bootstrap.
"""

import argparse
import asyncio
from importlib.metadata import version

import numpy as np

from bench.quality.judged import SETS, Judged, interval, measure, read
from bench.support.folders import RESULTS
from bench.support.results import Result, Row
from bench.support.workers import machine
from surefind.bootstrap import Application, IngestRequest
from surefind.model import Ranking, SparseVector
from surefind.ports import DenseQuery, SparseQuery, Vector
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.ranking import depth as depths
from surefind.services.search.ranking.fusion import LegResults, fuse
from surefind.settings import load

DEPTHS = (200, 150, 100, 75, 50, 40, 30, 20, 10)
LOOKED_AT = 40
FOLDER = RESULTS / "fusion"
NOTES = [
    "Two English sets with short documents, some 2,600 chunks: in a collection of a million, what "
    "is right may lie deeper in a leg.",
    "Dense rankings are exact here; an approximate index finds less of what lies deep.",
]


async def ingest(sets: list[Judged]) -> tuple[Application, dict[str, str]]:
    """The application, and which document each page is, with its set's name before it."""
    pages = FOLDER / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    documents: dict[str, str] = {}
    for judged in sets:
        for number, (document, (title, text)) in enumerate(judged.documents.items()):
            page = pages / f"{judged.name}-{number}.md"
            page.write_text(f"# {title}\n\n{text}\n")
            documents[f"pages/{page.name}"] = f"{judged.name} {document}"
    application = Application(load(data_dir=FOLDER / "data"))
    report = await application.ingesting.ingest(IngestRequest(paths=[pages]))
    print(f"{report.documents} pages, {report.chunks} chunks", flush=True)
    return application, documents


class Legs:
    """What each leg says of every chunk, to one question."""

    def __init__(self, dense: Ranking, lexical: Ranking) -> None:
        self._rankings = dense, lexical
        self._scores = [dict(zip(leg.points, leg.scores, strict=True)) for leg in self._rankings]

    @classmethod
    async def of(cls, generation: OpenGeneration, vector: Vector, terms: SparseVector) -> "Legs":
        every = generation.manifest.chunks
        dense, lexical = DenseQuery(vector, every, exact=True), SparseQuery(terms, every)
        return cls(*await generation.index.search([dense, lexical]))

    def best(self, depth: int) -> list[int]:
        """The first points of a search of this depth."""
        depths.DEPTH = depth
        own = [Ranking(leg.points[:depth], leg.scores[:depth]) for leg in self._rankings]
        others = self._other(0, own), self._other(1, own)
        pool = fuse([LegResults("docs", own[0], own[1], *others)])
        return [pool.points[row] for row in pool.order[:LOOKED_AT]]

    def _other(self, leg: int, own: list[Ranking]) -> Ranking:
        """The scores in one leg of what only the other found."""
        scores = self._scores[leg]
        only = set(own[1 - leg].points) - set(own[leg].points)
        ranked = sorted((p for p in only if p in scores), key=lambda point: -scores[point])
        return Ranking(ranked, [scores[point] for point in ranked])


async def rows_of(judged: Judged, application: Application, documents: dict[str, str]) -> list[Row]:
    embedder = await application.parts.embedder()
    measured: dict[int, list[dict[str, float]]] = {depth: [] for depth in DEPTHS}
    async with application.parts.reader.lease() as generation:
        for text, gains in judged.questions:
            vector = await embedder.embed_query(text)
            legs = await Legs.of(generation, vector, application.parts.terms.query(text))
            wanted = {f"{judged.name} {document}": gain for document, gain in gains.items()}
            for depth in DEPTHS:
                points = legs.best(depth)
                records, _ = await generation.numbered(points)
                paths = (record.chunk.source_path for record in records)
                ranked = list(dict.fromkeys(documents[path] for path in paths))
                measured[depth].append(measure(ranked, wanted))
    deepest = [one["nDCG@10"] for one in measured[DEPTHS[0]]]
    rows: list[Row] = []
    for depth, ones in measured.items():
        difference, half = interval(deepest, [one["nDCG@10"] for one in ones])
        means = {name: f"{np.mean([one[name] for one in ones]):.4f}" for name in ones[0]}
        beside = f"{difference:+.4f} ± {half:.4f}"
        rows.append({"depth": depth, **means, f"nDCG@10 less that of {DEPTHS[0]}": beside})
    return rows


async def run(result: Result, limit: int) -> None:
    sets = [read(name, limit) for name in SETS]
    application, documents = await ingest(sets)
    for judged in sets:
        rows = await rows_of(judged, application, documents)
        result.tables[f"{judged.name}, {len(judged.questions):,} questions"] = rows
    await application.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1500, help="maximum number from each set")
    options = parser.parse_args()
    result = Result(
        "fusion",
        "Hybrid search by how deep each leg is asked",
        "The documents of both judged sets in one collection.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=list(NOTES),
    )
    asyncio.run(run(result, options.questions))
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
