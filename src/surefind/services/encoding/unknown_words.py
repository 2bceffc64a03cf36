"""Searches similar words in place of words that no passage contains.

A query may end with an unfinished word, and any word may have a typing mistake. Words that some
passage contains are searched as they are, so they find what they always found.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from surefind.model import DEFAULT_LANGUAGE, SparseVector
from surefind.ports import SparseQuery, VectorIndex
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.vocabulary import SHORTEST, Vocabulary, words_of

_MOST_WORDS = 16
_MOST_FOUND = 10_000
_WEIGHT = 0.5
_UNFINISHED = re.compile(r"\w\Z")


class ReplacedWord(NamedTuple):
    """A word of the query that no passage contains, and the words that are searched instead."""

    word: str
    instead: tuple[str, ...]

    @property
    def note(self) -> str:
        return f"{self.word}: no passage has this word; searched for {', '.join(self.instead)}"


class WordsOfGeneration(Protocol):
    """The words of a generation."""

    @property
    def are_used(self) -> bool: ...

    @property
    def known(self) -> Vocabulary | None: ...

    @property
    def found(self) -> set[tuple[str, ...]]: ...

    async def read(self) -> Vocabulary | None: ...


class SearchedGeneration(Protocol):
    """A generation, with its words."""

    @property
    def index(self) -> VectorIndex: ...

    @property
    def words(self) -> WordsOfGeneration: ...


async def replaced_words(
    text: str,
    generations: Sequence[SearchedGeneration],
    encoder: Bm25Encoder,
    languages: Sequence[str] = (DEFAULT_LANGUAGE,),
) -> tuple[ReplacedWord, ...]:
    """The unknown words of a query. `languages` are those by which its words are analyzed."""
    words = [one.words for one in generations if one.words.are_used]
    if not words:
        return ()
    unknown = await _unknown(text, generations, encoder, languages)
    if not unknown:
        return ()
    vocabularies = [await one.read() for one in words]
    return similar_words(text, unknown, [one for one in vocabularies if one is not None])


async def _unknown(
    text: str,
    generations: Sequence[SearchedGeneration],
    encoder: Bm25Encoder,
    languages: Sequence[str],
) -> list[str]:
    """The words that have terms, none of which any passage has.

    A word that is in a vocabulary is known, and so is one that the index had before; the index is
    searched only for other words, and other forms of a word.
    """
    vocabularies = [one.words.known or () for one in generations]
    found_before = [one.words.found for one in generations]
    words = [
        word
        for word in list(dict.fromkeys(words_of(text)))[-_MOST_WORDS:]
        if len(word) >= SHORTEST
        and not any(word in one for one in vocabularies)
        and not any((word, *languages) in one for one in found_before)
    ]
    terms = {
        word: sorted({term for one in languages for term in encoder.words(word, one)})
        for word in words
    }
    words = [word for word in words if terms[word]]
    for generation in generations:
        if not words:
            break
        queries = [
            SparseQuery(SparseVector(tuple(terms[word]), (1.0,) * len(terms[word])), 1)
            for word in words
        ]
        rankings = await generation.index.search(queries)
        found = {word for word, ranking in zip(words, rankings, strict=True) if ranking.points}
        if generation.words.are_used and len(generation.words.found) < _MOST_FOUND:
            generation.words.found.update((word, *languages) for word in found)
        words = [word for word in words if word not in found]
    return words


def with_replaced(
    encoder: Bm25Encoder,
    terms: SparseVector,
    words: Sequence[ReplacedWord],
    languages: Sequence[str] = (DEFAULT_LANGUAGE,),
) -> SparseVector:
    """The terms of a query and, with less weight, those of the words searched instead."""
    weights = {
        term: _WEIGHT * weight
        for replaced in words
        for similar in replaced.instead
        for term, weight in _pairs(encoder.query(similar, languages))
    }
    weights |= dict(_pairs(terms))
    ordered = sorted(weights.items())
    return SparseVector(tuple(term for term, _ in ordered), tuple(weight for _, weight in ordered))


def similar_words(
    text: str, unknown: Sequence[str], vocabularies: Sequence[Vocabulary]
) -> tuple[ReplacedWord, ...]:
    """What the unknown words of a query may stand for; nothing for a word without similar ones."""
    typed = words_of(text)
    is_unfinished = _UNFINISHED.search(text) is not None
    found = []
    for word in unknown:
        unfinished = is_unfinished and word == typed[-1]
        instead = dict.fromkeys(
            similar
            for vocabulary in vocabularies
            for similar in _similar(word, vocabulary, unfinished=unfinished)
        )
        if instead:
            found.append(ReplacedWord(word, tuple(instead)))
    return tuple(found)


def corrected(text: str, words: Sequence[ReplacedWord]) -> str:
    """The text with each unknown word replaced by its most frequent similar word."""
    for one in words:
        text = re.sub(rf"(?i)\b{re.escape(one.word)}\b", one.instead[0], text)
    return text


def _similar(word: str, vocabulary: Vocabulary, *, unfinished: bool) -> list[str]:
    completions = vocabulary.completions(word) if unfinished else []
    return completions or vocabulary.corrections(word)


def _pairs(vector: SparseVector) -> list[tuple[int, float]]:
    return list(zip(vector.ids, vector.weights, strict=True))
