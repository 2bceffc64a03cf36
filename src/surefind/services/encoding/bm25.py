"""BM25 for the lexical leg: terms and their weights.

There are three kinds of terms: stemmed words, parts of identifiers, and pairs of adjacent words.
A pair weighs a fifth of a word; it distinguishes "machine learning" from a page about machines that
mentions learning. The index supplies the inverse document frequency.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from surefind.model import SparseVector
from surefind.ports import Analyzer

SATURATION = 1.2
LENGTH_SHARE = 0.75
PAIR_WEIGHT = 0.2
_GRID = 1.1
_WORDS_KEPT = 200_000
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7af"  # Hangul
    "]"
)
_BRAND_HUMPS = 2
_SHORTEST_PART = 2


class Bm25Encoder:
    """Encodes texts as weighted terms. Caches words, because a collection has few distinct ones."""

    def __init__(self, analyzer: Analyzer, max_words: int = _WORDS_KEPT) -> None:
        self._analyzer = analyzer
        self._max_words = max_words
        self._known: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    @property
    def name(self) -> str:
        """Identifies the rules; encoders with the same name give the same terms."""
        return f"{self._analyzer.name}+parts+pairs-1"

    def length(self, passage: str) -> int:
        """The number of words, for BM25's length normalization."""
        run, whole = self._read(passage)
        return len(run) + len(whole)

    def passage(self, passage: str, mean_terms: float) -> SparseVector:
        """The stored weights of a passage: saturated counts, normalized by length."""
        run, whole = self._read(passage)
        length = len(run) + len(whole)
        norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean_terms)
        counts = Counter(run)
        counts.update(whole)
        counts.update(_pairs(run))
        return _terms(
            (term, count * (SATURATION + 1) / (count + norm)) for term, count in counts.items()
        )

    def query(self, query: str) -> SparseVector:
        """The weights of a query; repeated words weigh more."""
        run, whole = self._read(query)
        weights: dict[int, float] = dict(Counter((*run, *whole)))
        for pair in _pairs(run):
            weights[pair] = weights.get(pair, 0.0) + PAIR_WEIGHT
        return _terms(weights.items())

    def words(self, text: str) -> set[int]:
        """The terms without pairs, as other BM25 encoders with the same analyzer store them."""
        run, whole = self._read(text)
        return {*run, *whole}

    def whole(self, word: str) -> tuple[int, ...]:
        """The terms of one word; of an identifier, those of the whole without its parts."""
        run, whole = self._of(word)
        return whole or run

    def matches(self, text: str, query: str) -> list[tuple[int, int]]:
        """The spans of the query's words in a text, as (start, end)."""
        wanted = {term for part in self._read(query) for term in part}
        return [
            match.span()
            for match in _WORD.finditer(text)
            if any(term in wanted for half in self._of(match.group()) for term in half)
        ]

    def _read(self, text: str) -> tuple[list[int], list[int]]:
        """The terms in reading order, and the whole identifiers whose parts are among them."""
        run: list[int] = []
        whole: list[int] = []
        for word in _WORD.findall(text):
            read = self._known.get(word) or self._of(word)
            run += read[0]
            whole += read[1]
        return run, whole

    def _of(self, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= self._max_words:
                self._known.clear()
            known = self._known[word] = self._learn(word)
        return known

    def _learn(self, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        terms = self._analyzer.terms(word.lower())
        inside = identifier_parts(word)
        if not inside:
            return terms, ()
        run = tuple(term for part in inside for term in self._analyzer.terms(part.lower()))
        return run, terms


def mean_on_grid(total_terms: int, chunks: int) -> float:
    """The collection's mean length, on a grid of 10 % steps.

    Every stored weight depends on the mean. On the grid it stays the same after small changes, so
    a small edit rewrites only the edited passages. It depends on the content alone, which is why
    many small edits and one rebuild store the same weights.
    """
    if total_terms <= chunks:
        return 1.0
    steps = round(math.log(total_terms / chunks, _GRID))
    return round(_GRID**steps, 4)


def _pairs(run: list[int]) -> Iterator[int]:
    """Pairs share the 32-bit ID space with words; collisions are rare."""
    for one, other in pairwise(run):
        if one != other:
            yield zlib.crc32((one << 32 | other).to_bytes(8, "little"))


def _terms(weights: Iterable[tuple[int, float]]) -> SparseVector:
    ordered = sorted(weights)
    return SparseVector(tuple(term for term, _ in ordered), tuple(weight for _, weight in ordered))


def identifier_parts(word: str) -> tuple[str, ...]:
    """The words of an identifier; empty for a single word.

    >>> identifier_parts("max_tokens"), identifier_parts("HtmlWebpackPlugin")
    (('max', 'tokens'), ('Html', 'Webpack', 'Plugin'))
    >>> identifier_parts("JavaScript"), identifier_parts("iPhone"), identifier_parts("tokens")
    ((), (), ())
    """
    if _UNSPACED.search(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    pieces = [piece for piece in word.split("_") if piece]
    humps = [hump for piece in pieces for hump in _humps(piece)]
    return tuple(humps) if len(humps) > 1 else ()


def _humps(piece: str) -> list[str]:
    """Split camel case, except in names such as JavaScript."""
    humps = _HUMP.split(piece)
    is_name = piece[0].isupper() and len(humps) <= _BRAND_HUMPS
    if is_name or min(map(len, humps)) < _SHORTEST_PART:
        return [piece]
    return humps
