"""What similar words do for questions with a typing mistake, and to questions without.

Each question is asked as it is, with one random edit in one of its content words, and with half of
its last word. A word that no passage has is replaced by similar words of the collection: nowhere,
in the lexical leg of hybrid search, or in the embedded question as well. Both legs rank all
passages exactly, and pages are ranked as in `bench.quality.ranking`, with the same measures.

A difference is to the row without replacements, with half of its 95 % interval by a paired
bootstrap; `*` marks those whose interval excludes 0.
"""

import argparse
import asyncio
import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version

import numpy as np

from bench.quality.judged import interval
from bench.quality.ranking import Postings, Ranker, Scores, fused, ndcg
from bench.quality.ranking_sets import Question, RankingSet, every_set, with_vectors
from bench.support.folders import RESULTS
from bench.support.results import Result, Row, say
from bench.support.workers import machine
from surefind.model import SparseVector
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.unknown_words import (
    ReplacedWord,
    corrected,
    similar_words,
    with_replaced,
)
from surefind.services.encoding.vocabulary import Vocabulary, words_of
from surefind.services.search.ranking.depth import DEPTH

NOTES = [
    "The edits are random: letters are added, left out, changed or swapped anywhere in a word.",
    "Passages are found by exact search, so the numbers differ a little from those of an index.",
]
_SEED = 7
_SHORTEST_EDITED = 4
_CONTENT = re.compile(r"[^\W\d_]{4,}")
_LAST = re.compile(r"(\w+)\W*\Z")
NONE, LEXICAL, BOTH = "no replacements", "in the lexical leg", "in both legs"


def mistyped(text: str, encoder: Bm25Encoder, chance: random.Random) -> str:
    """With one edit in one content word, if there is any."""
    words = [one for one in _CONTENT.finditer(text) if encoder.words(one.group())]
    if not words:
        return text
    chosen = chance.choice(words)
    return text[: chosen.start()] + _edited(chosen.group(), chance) + text[chosen.end() :]


def _edited(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word))
    before, letter, after = word[:at], word[at], word[at + 1 :]
    other = chance.choice(string.ascii_lowercase.replace(letter.lower(), ""))
    edits = [before + after, before + other + letter + after, before + other + after]
    if after and after[0] != letter:
        edits.append(before + after[0] + letter + after[1:])
    return chance.choice(edits)


def half_typed(text: str) -> str:
    """With the first half of its last word, of at least three letters."""
    last = _LAST.search(text)
    if last is None:
        return text
    return text[: last.start()] + last[1][: max(3, (len(last[1]) + 1) // 2)]


class Measured:
    """One set, asked in several ways."""

    def __init__(self, of: RankingSet) -> None:
        self._set = of
        self._ranker = Ranker(of)
        self._postings = Postings(of.collection)
        self._vocabulary = Vocabulary()
        for record in of.collection.records:
            self._vocabulary.add(record.chunk.passage)

    def asked(self, name: str) -> RankingSet:
        """The set with its questions as they are typed."""
        chance, encoder = random.Random(_SEED), self._set.collection.encoder
        typed = {
            "as it is": lambda text: text,
            "one typing mistake": lambda text: mistyped(text, encoder, chance),
            "half of its last word": half_typed,
        }[name]
        questions = [replace(one, text=typed(one.text)) for one in self._set.questions]
        return self._embedded(name, questions)

    def values(self, asked: RankingSet) -> tuple[dict[str, list[float]], int]:
        """The nDCG of each question by method, and how many questions have a replaced word."""
        replaced = [self._replaced(one.text) for one in asked.questions]
        meant = [
            replace(one, text=corrected(one.text, words))
            for one, words in zip(asked.questions, replaced, strict=True)
        ]
        vectors = self._embedded("corrected", meant).vectors
        encoder = self._set.collection.encoder
        values: dict[str, list[float]] = {NONE: [], LEXICAL: [], BOTH: []}
        for at, question in enumerate(asked.questions):
            terms = encoder.query(question.text)
            more = with_replaced(encoder, terms, replaced[at])
            for method, vector, words in (
                (NONE, asked.vectors[at], terms),
                (LEXICAL, asked.vectors[at], more),
                (BOTH, vectors[at], more),
            ):
                values[method].append(asyncio.run(self._ndcg(asked, at, vector, words)))
        return values, sum(map(bool, replaced))

    async def _ndcg(self, asked: RankingSet, at: int, vector: Scores, terms: SparseVector) -> float:
        similarities = self._set.collection.vectors @ vector
        pool = fused(similarities, self._postings.scores(terms), DEPTH)
        question = asked.questions[at]
        ranked = await self._ranker.ranked(pool, question)
        return ndcg(ranked, question, is_graded=self._set.is_graded)

    def _replaced(self, text: str) -> tuple[ReplacedWord, ...]:
        encoder = self._set.collection.encoder
        unknown = [
            word
            for word in dict.fromkeys(words_of(text))
            for terms in [encoder.words(word)]
            if terms and not any(term in self._postings for term in terms)
        ]
        return similar_words(text, unknown, [self._vocabulary])

    def _embedded(self, how: str, questions: Sequence[Question]) -> RankingSet:
        one, name = self._set, f"{self._set.name}, {how}"
        return with_vectors(name, one.collection, questions, is_graded=one.is_graded)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=300, help="maximum number from each set")
    options = parser.parse_args()
    result = Result(
        "typing-mistakes",
        "Questions with typing mistakes",
        "Judged documents as pages, and documentation with graded and label-free questions.",
        {"questions": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=list(NOTES),
    )
    for one in every_set(options.questions):
        measured = Measured(one)
        for name in ("as it is", "one typing mistake", "half of its last word"):
            values, replaced = measured.values(measured.asked(name))
            say(f"{one.name}, {name}: {replaced} of {len(one.questions)} replaced")
            row = _row(values, f"{one.name} ({len(one.questions)})", replaced)
            result.tables.setdefault(f"Questions: {name}", []).append(row)
    result.write(RESULTS)
    print(result.markdown())


def _row(values: Mapping[str, Sequence[float]], name: str, replaced: int) -> Row:
    row: Row = {"set": name, "with an unknown word": replaced}
    for method, each in values.items():
        row[method] = f"{np.mean(each):.3f}"
        if method != NONE:
            difference, half = interval(values[NONE], each)
            mark = "*" if abs(difference) > half else ""
            row[method] = f"{row[method]} ({difference:+.3f} ± {half:.3f}{mark})"
    return row


if __name__ == "__main__":
    main()
