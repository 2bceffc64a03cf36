"""Searches similar words in place of words that no passage contains.

A query may end with an unfinished word, and any word may have a typing mistake. Words that some
passage contains are searched as they are, so they find what they always found.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

from surefind.errors import StoreError
from surefind.model import DEFAULT_LANGUAGE, Manifest, SparseVector
from surefind.ports import Catalog, SparseQuery, VectorIndex
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.vocabulary import Vocabulary, words_of

MAX_CHUNKS = 50_000
"""The vocabulary of a larger collection would take seconds to read."""
_MOST_WORDS = 16
_WEIGHT = 0.5
_CHUNKS_PER_TURN = 50
_UNFINISHED = re.compile(r"\w\Z")


class ReplacedWord(NamedTuple):
    """A word of the query that no passage contains, and the words that are searched instead."""

    word: str
    instead: tuple[str, ...]

    @property
    def note(self) -> str:
        return f"{self.word}: no passage has this word; searched for {', '.join(self.instead)}"


class SearchedGeneration(Protocol):
    """A generation, with the catalog that has its texts."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def index(self) -> VectorIndex: ...

    @property
    def catalog(self) -> Catalog | None: ...


class UnknownWords:
    """Replaces unknown words. The vocabulary of a generation is read when one first needs it."""

    def __init__(self, encoder: Bm25Encoder, max_chunks: int = MAX_CHUNKS) -> None:
        self._encoder = encoder
        self._max_chunks = max_chunks
        self._known: WeakKeyDictionary[SearchedGeneration, Vocabulary] = WeakKeyDictionary()
        self._reading = asyncio.Lock()

    async def replaced(
        self,
        text: str,
        generations: Sequence[SearchedGeneration],
        languages: Sequence[str] = (DEFAULT_LANGUAGE,),
    ) -> tuple[ReplacedWord, ...]:
        """`languages` are those by which the words of the query are analyzed."""
        unknown = await self._unknown(text, generations, languages)
        if not unknown:
            return ()
        vocabularies = [await self._vocabulary(generation) for generation in generations]
        typed = words_of(text)
        found = []
        for word in unknown:
            unfinished = word == typed[-1] and _UNFINISHED.search(text) is not None
            instead = tuple(
                dict.fromkeys(
                    similar
                    for vocabulary in vocabularies
                    if vocabulary is not None
                    for similar in _similar(word, vocabulary, unfinished=unfinished)
                )
            )
            if instead:
                found.append(ReplacedWord(word, instead))
        return tuple(found)

    def with_replaced(
        self,
        terms: SparseVector,
        words: Sequence[ReplacedWord],
        languages: Sequence[str] = (DEFAULT_LANGUAGE,),
    ) -> SparseVector:
        """The terms of a query and, with less weight, those of the words searched instead."""
        weights = {
            term: _WEIGHT * weight
            for replaced in words
            for similar in replaced.instead
            for term, weight in _pairs(self._encoder.query(similar, languages))
        }
        weights |= dict(_pairs(terms))
        ordered = sorted(weights.items())
        return SparseVector(
            tuple(term for term, _ in ordered), tuple(weight for _, weight in ordered)
        )

    async def _unknown(
        self, text: str, generations: Sequence[SearchedGeneration], languages: Sequence[str]
    ) -> list[str]:
        """The words that have terms, none of which any passage has."""
        words = list(dict.fromkeys(words_of(text)))[-_MOST_WORDS:]
        terms = {
            word: sorted({term for one in languages for term in self._encoder.words(word, one)})
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
            words = [
                word for word, ranking in zip(words, rankings, strict=True) if not ranking.points
            ]
        return words

    async def _vocabulary(self, generation: SearchedGeneration) -> Vocabulary | None:
        """None if the texts can't be read now, belong to another program, or are too many."""
        manifest, catalog = generation.manifest, generation.catalog
        if catalog is None or manifest.connected or manifest.chunks > self._max_chunks:
            return None
        async with self._reading:
            known = self._known.get(generation)
            if known is not None:
                return known
            try:
                vocabulary = await _read(catalog)
            except StoreError:  # the index can still answer
                return None
            self._known[generation] = vocabulary
            return vocabulary


async def _read(catalog: Catalog) -> Vocabulary:
    vocabulary = Vocabulary()
    count = 0
    async for record in catalog.chunks():
        vocabulary.add(record.chunk.passage)
        count += 1
        if count % _CHUNKS_PER_TURN == 0:
            await asyncio.sleep(0)  # other searches get a turn
    return vocabulary


def _similar(word: str, vocabulary: Vocabulary, *, unfinished: bool) -> list[str]:
    completions = vocabulary.completions(word) if unfinished else []
    return completions or vocabulary.corrections(word)


def _pairs(vector: SparseVector) -> list[tuple[int, float]]:
    return list(zip(vector.ids, vector.weights, strict=True))
