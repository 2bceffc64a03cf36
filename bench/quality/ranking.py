"""Which ranking is better: mechanisms and their parameters, on every set at once.

Both legs rank all passages exactly, so no index is in the way. Their first fifty are fused and
rescored by the code of the search itself, with one thing changed at a time. Documents are ranked,
by their best passage, as in results that are grouped by page.

    nDCG@10   passage sets and label-free questions; gains as judged, linear
    nDCG@5    graded questions about documentation; gains are 2^grade - 1, as their authors count

A difference is to the first row, with half of its 95 % interval by a paired bootstrap; `*` marks
those whose interval excludes 0. *Held out* chooses the best row without a set, by the mean over the
others, and reports what that row gives on the set: what an unseen collection may expect.
"""

import argparse
import asyncio
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from bench.quality.judged import interval
from bench.quality.ranking_sets import Collection, Question, RankingSet, every_set
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import machine
from surefind.model import GroupBy, Query, Ranking, SparseVector
from surefind.services.encoding import bm25
from surefind.services.search.ranking import depth as depths
from surefind.services.search.ranking import fusion, page_support
from surefind.services.search.ranking.fusion import LegResults, Pool, fuse
from surefind.services.search.ranking.rescoring import DEFAULT_KIND_WEIGHTS, Rescoring, Traits

NOTES = [
    "Parameters were chosen on these sets, so the rows marked *held out* are the honest ones.",
    "With twelve graded questions per library, a single one moves the mean by up to .08.",
    "Link texts and descriptions have no human judgements: only their own target counts.",
]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Configuration:
    """What is changed. `passages` and `names` are the weights of `page_support`; 0 turns it off."""

    label: str
    passages: float = 0.0
    names: float = 0.0
    floor: float = page_support.FLOOR
    saturation: float = 1.2
    length_share: float = 0.75
    depth: int = 50
    dense_weight: float = 0.6
    feedback: float = 0.0


PAGES = [
    Configuration("best passage"),
    *(
        Configuration(f"passages {passages}, names {names}", passages, names)
        for passages, names in (
            *((0.0, names) for names in (0.2, 0.3, 0.4)),
            *((passages, 0.0) for passages in (0.2, 0.4, 0.6)),
            *((passages, names) for passages in (0.3, 0.4, 0.5, 0.6) for names in (0.2, 0.3, 0.4)),
        )
    ),
    *(
        Configuration(f"passages {passages}, names 0.3, floor {floor}", passages, 0.3, floor)
        for passages, floor in ((0.3, 0.0), (0.4, 0.2), (0.5, 0.4))
    ),
]
_NOW = Configuration("as it is", page_support.PASSAGES, page_support.NAMES)
PASSAGES = [
    _NOW,
    *(
        replace(_NOW, label=f"BM25 k1 {k1}, b {b}", saturation=k1, length_share=b)
        for k1, b in ((0.9, 0.4), (1.0, 0.5), (1.2, 0.6), (1.2, 0.4), (1.5, 0.75))
    ),
    *(replace(_NOW, label=f"depth {depth}", depth=depth) for depth in (100, 200)),
    *(replace(_NOW, label=f"dense weight {w}", dense_weight=w) for w in (0.5, 0.55, 0.65, 0.7)),
    *(replace(_NOW, label=f"dense feedback {x}", feedback=x) for x in (0.2, 0.3, 0.4)),
]


_FEEDBACK_HITS = 3
_CUTOFF, _GRADED_CUTOFF = 10, 5


class Postings:
    """The passages of each term, with their weights."""

    def __init__(self, collection: Collection) -> None:
        encoder, records = collection.encoder, collection.records
        lengths = [encoder.length(record.chunk.passage) for record in records]
        mean = bm25.mean_on_grid(sum(lengths), len(records))
        self._passages = len(records)
        self._stored: dict[int, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for row, record in enumerate(records):
            terms = encoder.passage(record.chunk.passage, mean)
            for term, weight in zip(terms.ids, terms.weights, strict=True):
                self._stored[term][0].append(row)
                self._stored[term][1].append(weight)

    def __contains__(self, term: int) -> bool:
        return term in self._stored

    def scores(self, terms: SparseVector) -> Scores:
        """The scores of all passages, as the index computes them."""
        total = np.zeros(self._passages)
        for term, weight in zip(terms.ids, terms.weights, strict=True):
            if term in self._stored:
                rows, stored = self._stored[term]
                rarity = math.log(1 + (self._passages - len(rows) + 0.5) / (len(rows) + 0.5))
                total[rows] += weight * rarity * np.array(stored)
        return total


class Ranker:
    """Ranks the pages of one set."""

    def __init__(self, of: RankingSet) -> None:
        self._set = of
        records, encoder = of.collection.records, of.collection.encoder
        self._pages = [record.chunk.source_path for record in records]
        self._traits = Traits()
        self._traits.learn(range(len(records)), records, encoder.words)
        self._lexical: dict[tuple[float, float], list[Scores]] = {}

    def measured(self, configuration: Configuration) -> list[float]:
        """The nDCG of each question."""
        return [
            ndcg(ranked, question, is_graded=self._set.is_graded)
            for ranked, question in zip(
                self.rankings(configuration), self._set.questions, strict=True
            )
        ]

    def rankings(self, configuration: Configuration) -> list[list[str]]:
        """The pages found for each question."""
        page_support.PASSAGES, page_support.NAMES = configuration.passages, configuration.names
        page_support.FLOOR = configuration.floor
        fusion.DENSE_WEIGHT = configuration.dense_weight
        depths.DEPTH = configuration.depth
        return asyncio.run(self._rankings(configuration))

    async def _rankings(self, configuration: Configuration) -> list[list[str]]:
        lexical = self._bm25(configuration.saturation, configuration.length_share)
        vectors = self._set.collection.vectors
        found = []
        for question, vector, words in zip(
            self._set.questions, self._set.vectors, lexical, strict=True
        ):
            pool = fused(vectors @ vector, words, configuration.depth)
            if configuration.feedback:
                best = [pool.points[row] for row in pool.order[:_FEEDBACK_HITS]]
                moved = (1 - configuration.feedback) * vector
                moved += configuration.feedback * vectors[best].mean(axis=0)
                pool = fused(vectors @ (moved / np.linalg.norm(moved)), words, configuration.depth)
            found.append(await self.ranked(pool, question))
        return found

    async def ranked(self, pool: Pool, question: Question) -> list[str]:
        """The pages, by the text of the question."""

        async def read(_collection: str, _points: Sequence[int]) -> Traits:
            return self._traits

        query = Query(question.text, group_by=GroupBy.DOCUMENT)
        rescoring = Rescoring(query, DEFAULT_KIND_WEIGHTS, self._set.collection.encoder.words)
        found = [self._pages[one.point] for one in await rescoring.apply(pool, 0.0, read)]
        return [page for page in dict.fromkeys(found) if page != question.omitted]

    def _bm25(self, saturation: float, length_share: float) -> list[Scores]:
        """The scores of all passages for each question, as the index computes them."""
        known = self._lexical.get((saturation, length_share))
        if known is not None:
            return known
        bm25.SATURATION, bm25.LENGTH_SHARE = saturation, length_share
        postings = Postings(self._set.collection)
        encoder = self._set.collection.encoder
        scores = [postings.scores(encoder.query(question.text)) for question in self._set.questions]
        self._lexical[saturation, length_share] = scores
        return scores


def fused(dense: Scores, lexical: Scores, depth: int) -> Pool:
    """The pool of a search in which each leg has this depth."""
    nearest = _best(dense, depth)
    matching = [row for row in _best(lexical, depth) if lexical[row] > 0]
    only_lexical = [row for row in matching if row not in set(nearest)]
    only_dense = [row for row in nearest if row not in set(matching)]

    def ranking(scores: Scores, rows: list[int]) -> Ranking:
        return Ranking(rows, [float(scores[row]) for row in rows])

    found = LegResults(
        "docs",
        ranking(dense, nearest),
        ranking(lexical, matching),
        ranking(dense, only_lexical),
        ranking(lexical, only_dense),
    )
    return fuse([found])


def _best(scores: Scores, depth: int) -> list[int]:
    rows: list[int] = np.argsort(-scores, kind="stable")[:depth].tolist()
    return rows


def ndcg(ranked: Sequence[str], question: Question, *, is_graded: bool) -> float:
    cutoff = _GRADED_CUTOFF if is_graded else _CUTOFF

    def gained(grades: Sequence[int]) -> float:
        gains = [2**grade - 1 if is_graded else grade for grade in grades[:cutoff]]
        return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))

    ideal = sorted(question.gains.values(), reverse=True)
    return gained([question.gains.get(page, 0) for page in ranked]) / gained(ideal)


# --- tables -----------------------------------------------------------------------------------


Values = Mapping[str, Mapping[str, Sequence[float]]]
"""By set and configuration: the value of each question."""


def _rows(configurations: Sequence[Configuration], values: Values) -> list[Row]:
    first = configurations[0].label
    rows: list[Row] = []
    for configuration in configurations:
        row: Row = {"ranking": configuration.label}
        for name, by_label in values.items():
            mean = f"{np.mean(by_label[configuration.label]):.3f}"
            if configuration.label != first:
                difference, half = interval(by_label[first], by_label[configuration.label])
                mark = "*" if abs(difference) > half else ""
                mean += f" ({difference:+.3f} ± {half:.3f}{mark})"
            row[name] = mean
        rows.append(row)
    return rows


def _held_out(configurations: Sequence[Configuration], values: Values) -> list[Row]:
    first = configurations[0].label
    rows: list[Row] = []
    for name, by_label in values.items():
        others = [held for other, held in values.items() if _family(other) != _family(name)]
        chosen = max(
            configurations,
            key=lambda one: float(np.mean([np.mean(held[one.label]) for held in others])),
        )
        difference, half = interval(by_label[first], by_label[chosen.label])
        rows.append(
            {
                "held out": name,
                "chosen on the others": chosen.label,
                f"difference to {first}": f"{difference:+.4f} ± {half:.4f}",
            }
        )
    return rows


def _family(name: str) -> str:
    """Questions about the same pages are held out together."""
    return name.partition(",")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=300, help="maximum number from each set")
    options = parser.parse_args()
    result = Result(
        "ranking",
        "Rankings of pages and passages, by mechanism and parameters",
        "Judged documents as pages, and documentation with graded and label-free questions.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=list(NOTES),
    )
    tables = {"Pages": PAGES, "Passages": PASSAGES}
    values: dict[str, dict[str, dict[str, list[float]]]] = {title: {} for title in tables}
    for one in every_set(options.questions):
        say(f"{one.name}: {len(one.questions)} questions")
        ranker = Ranker(one)
        for title, configurations in tables.items():
            name = f"{one.name} ({len(one.questions)})"
            values[title][name] = {each.label: ranker.measured(each) for each in configurations}
    for title, configurations in tables.items():
        result.tables[title] = _rows(configurations, values[title])
        result.tables[f"{title}, held out"] = _held_out(configurations, values[title])
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
