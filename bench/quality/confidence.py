"""How well the confidence separates answerable questions from others, with and without the words.

Each collection is asked its own judged questions, questions on its subject without an answer, if
there are any, and the questions of the other sets. *Similarity* is the calibrated confidence alone,
*with words* what a search returns: names, codes, capitals and the words in common count, too.

    strong    the share of questions with strong evidence
    AUC       how often an answerable question has more confidence than another one
"""

import argparse
import asyncio
import random
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np

from bench.quality.ranking_sets import CACHE, every_set
from bench.support.corpora import texts_of
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import machine
from surefind.bootstrap import Application
from surefind.model import Confidence, Evidence, Query
from surefind.services.encoding.confidence import judge
from surefind.settings import load

_ASKED = ("cranfield", "squad-dev-even", "mtrag-un-even", "react", "vite")
_WITHOUT_ANSWER = {
    "squad-dev-even": ("unanswerable.jsonl", "without an answer"),
    "mtrag-un-even": ("no-answer.jsonl", "without an answer"),
}
_SUBJECTS = {"react": "programming", "vite": "programming"}
_OWN, _OTHER = "answerable", "another subject"
_SEED = 7


async def asked(collection: str, questions: Mapping[str, Sequence[str]]) -> list[Row]:
    application = Application(load(data_dir=CACHE / "data", collection=collection))
    found: dict[str, list[tuple[Confidence, Confidence]]] = {}
    try:
        async with application.parts.reader.lease() as generation:
            manifest = generation.manifest
        for kind, texts in questions.items():
            for text in texts:
                result = await application.searching.search(Query(text, collection=collection))
                alone = judge(manifest.calibration, result.best_similarity)
                if alone is not None and result.confidence is not None:
                    found.setdefault(kind, []).append((alone, result.confidence))
    finally:
        await application.close()
    return [_row(collection, kind, pairs, found[_OWN]) for kind, pairs in found.items()]


def _row(
    collection: str,
    kind: str,
    pairs: Sequence[tuple[Confidence, Confidence]],
    own: Sequence[tuple[Confidence, Confidence]],
) -> Row:
    row: Row = {"collection": collection, "questions": f"{len(pairs)} {kind}"}
    for at, method in enumerate(("similarity", "with words")):
        strong = sum(pair[at].evidence is Evidence.STRONG for pair in pairs)
        row[f"strong, {method}"] = f"{strong / len(pairs):.3f}"
        values = [[pair[at].value for pair in some] for some in (own, pairs)]
        row[f"AUC, {method}"] = None if kind == _OWN else f"{_auc(*values):.3f}"
    return row


def _auc(more: Sequence[float], less: Sequence[float]) -> float:
    difference = np.array(more)[:, None] - np.array(less)[None]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def _sampled(texts: Sequence[str], most: int) -> list[str]:
    return random.Random(_SEED).sample(list(texts), min(most, len(texts)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200, help="maximum number of each kind")
    options = parser.parse_args()
    result = Result(
        "confidence",
        "Confidence: answerable questions and others",
        "Judged documents as pages, and documentation with graded questions.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=["Many questions of mtrag-un-even are follow-ups, asked here without their context."],
    )
    own = {
        one.name: _sampled([question.text for question in one.questions], options.questions)
        for one in every_set(options.questions)
        if one.name in _ASKED
    }
    rows: list[Row] = []
    for name in _ASKED:
        questions = {_OWN: own[name]}
        if name in _WITHOUT_ANSWER:
            file, kind = _WITHOUT_ANSWER[name]
            questions[kind] = _sampled(texts_of(name, file), options.questions)
        others = [other for other in _ASKED if _subject(other) != _subject(name)]
        each = options.questions // len(others)
        questions[_OTHER] = [text for other in others for text in _sampled(own[other], each)]
        rows += asyncio.run(asked(name, questions))
        say(name)
    result.tables["Confidence"] = rows
    result.write(RESULTS)
    print(result.markdown())


def _subject(name: str) -> str:
    return _SUBJECTS.get(name, name)


if __name__ == "__main__":
    main()
