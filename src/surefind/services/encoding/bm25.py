"""BM25 for the lexical leg: terms and their weights.

There are four kinds of terms: stemmed words, parts of identifiers, pairs of adjacent words, and
pairs of characters in scripts without spaces. A pair of words weighs a fifth of a word; it
distinguishes "machine learning" from a page about machines that mentions learning. Words are
analyzed by the language of their page. The index supplies the inverse document frequency.
"""

import math
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from surefind.model import DEFAULT_LANGUAGE, SparseVector
from surefind.model.language_codes import LATIN, SCRIPTS
from surefind.ports import Analyzer
from surefind.services.encoding.normalization import STOP_WORDS, folded, light_stem, normalized

SATURATION = 1.2
LENGTH_SHARE = 0.75
PAIR_WEIGHT = 0.2
ENGLISH_ONLY = "qdrant-bm25-english+parts+pairs-1"
"""The encoder of earlier versions, which analyzed every page as English."""
_GRID = 1.1
_WORDS_KEPT = 200_000
_PASSAGES_KEPT = 1_000
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    "\u0981-\u0983\u09bc-\u09d7\u0b82\u0bbe-\u0bd7\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
# Without these marks, which Python does not count as letters, words would break.
_WORD = re.compile(rf"\w[\w{_MARKS}]*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED_RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u3005\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7af"  # Hangul
)
_PIECE = re.compile(f"(?P<unspaced>[{_UNSPACED_RANGES}]+)|[^{_UNSPACED_RANGES}]+")
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_BRAND_HUMPS = 2
_SHORTEST_PART = 2


class _Terms(NamedTuple):
    """The terms of a word.

    `run` is in reading order, `whole` is the identifier that the run is part of. `stored` are
    further spellings and single characters, by which queries find a passage.
    """

    run: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    stored: tuple[int, ...] = ()


class Bm25Encoder:
    """Encodes texts as weighted terms. Caches words, because a collection has few distinct ones."""

    def __init__(self, analyzer: Analyzer, max_words: int = _WORDS_KEPT) -> None:
        self._analyzer = analyzer
        self._max_words = max_words
        self._known: defaultdict[str, dict[str, _Terms]] = defaultdict(dict)
        self._passage_words = lru_cache(_PASSAGES_KEPT)(self._words_of)

    @property
    def name(self) -> str:
        """Identifies the rules; encoders with the same name give the same terms."""
        return f"{self._analyzer.name}+parts+pairs-2"

    def reads(self, name: str) -> bool:
        """Whether queries match the terms of the encoder with this name."""
        return name in (self.name, ENGLISH_ONLY)

    def length(self, passage: str, language: str = DEFAULT_LANGUAGE) -> int:
        """The number of words, for BM25's length normalization."""
        run, whole, _ = self._read(passage, language)
        return len(run) + len(whole)

    def passage(
        self, passage: str, mean_terms: float, language: str = DEFAULT_LANGUAGE
    ) -> SparseVector:
        """The stored weights of a passage: saturated counts, normalized by length."""
        run, whole, stored = self._read(passage, language)
        length = len(run) + len(whole)
        norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean_terms)
        counts = Counter(run)
        counts.update(whole)
        counts.update(_pairs(run))
        counts.update(stored)
        return _terms(
            (term, count * (SATURATION + 1) / (count + norm)) for term, count in counts.items()
        )

    def query(self, query: str, languages: Sequence[str] = (DEFAULT_LANGUAGE,)) -> SparseVector:
        """The weights of a query; repeated words weigh more.

        With several languages, it has the terms of each.
        """
        weights: dict[int, float] = {}
        for language in languages:
            for term, weight in self._query_weights(query, language).items():
                weights[term] = max(weight, weights.get(term, 0.0))
        return _terms(weights.items())

    def _query_weights(self, query: str, language: str) -> dict[int, float]:
        run, whole, _ = self._read(query, language)
        weights: dict[int, float] = dict(Counter((*run, *whole)))
        for pair in _pairs(run):
            weights[pair] = weights.get(pair, 0.0) + PAIR_WEIGHT
        return weights

    def words(self, text: str, language: str = DEFAULT_LANGUAGE) -> set[int]:
        """The terms without pairs, as other BM25 encoders with the same analyzer store them."""
        return set(self._words_of(text, language))

    def _words_of(self, text: str, language: str) -> frozenset[int]:
        run, whole, _ = self._read(text, language)
        return frozenset((*run, *whole))

    def passage_words(self, passage: str, language: str = DEFAULT_LANGUAGE) -> AbstractSet[int]:
        """As `words`; the words of passages that were read lately are kept."""
        return self._passage_words(passage, language)

    def whole(self, word: str, language: str = DEFAULT_LANGUAGE) -> tuple[int, ...]:
        """The terms of one word; of an identifier, those of the whole without its parts."""
        run, whole, _ = self._of(word, language)
        return whole or run

    def matches(
        self, text: str, query: str, language: str = DEFAULT_LANGUAGE
    ) -> list[tuple[int, int]]:
        """The spans of the query's words in a text, as (start, end)."""
        wanted = set(self._query_weights(query, language))
        spans: list[tuple[int, int]] = []
        for word in _WORD.finditer(text):
            for piece in _PIECE.finditer(word.group()):
                for span in self._matching(piece, wanted, language):
                    start, end = (word.start() + at for at in span)
                    overlaps = spans and start < spans[-1][1]
                    spans.append((spans.pop()[0] if overlaps else start, end))
        return spans

    def _matching(
        self, piece: re.Match[str], wanted: set[int], language: str
    ) -> Iterator[tuple[int, int]]:
        """The spans in a piece of a word; in scripts without spaces, those of its pairs."""
        text = piece.group()
        size = 2 if piece["unspaced"] and len(text) > 2 else len(text)
        for at in range(len(text) - size + 1):
            found = self._of(text[at : at + size], language)
            if any(term in wanted for terms in found for term in terms):
                yield piece.start() + at, piece.start() + at + size

    def _read(self, text: str, language: str) -> tuple[list[int], list[int], list[int]]:
        """The terms in reading order, the whole identifiers whose parts are among them, and those
        that are only stored.
        """
        run: list[int] = []
        whole: list[int] = []
        stored: list[int] = []
        known = self._known[language]
        for word in _WORD.findall(text):
            read = known.get(word) or self._of(word, language)
            run += read.run
            whole += read.whole
            stored += read.stored
        return run, whole, stored

    def _of(self, word: str, language: str) -> _Terms:
        words = self._known[language]
        known = words.get(word)
        if known is None:
            if len(words) >= self._max_words:
                words.clear()
            known = words[word] = self._learn(word, language)
        return known

    def _learn(self, word: str, language: str) -> _Terms:
        if language != DEFAULT_LANGUAGE and not word.isascii():
            word = unicodedata.normalize("NFKC", word)
        if _UNSPACED.search(word):
            pieces = [self._piece(piece, language) for piece in _PIECE.finditer(word)]
            return _Terms(*map(_joined, zip(*pieces, strict=True)))
        if word.isascii() and SCRIPTS.get(language, LATIN) != LATIN:
            language = DEFAULT_LANGUAGE  # names and code in Russian, Arabic or Hindi text
        terms = self._of_plain(word, language)
        stored: tuple[int, ...] = ()
        if language != DEFAULT_LANGUAGE and not word.isascii():
            other_spelling = self._of_plain(folded(normalized(word, language)), language)
            stored = tuple(term for term in other_spelling if term not in terms)
        inside = identifier_parts(word)
        if not inside:
            return _Terms(terms, (), stored)
        return _Terms(_joined(self._of_plain(part, language) for part in inside), terms, stored)

    def _of_plain(self, word: str, language: str) -> tuple[int, ...]:
        lowered, word = word.lower(), normalized(word, language)
        terms = self._analyzer.terms(word, language)
        if language == DEFAULT_LANGUAGE or not terms:
            return terms
        if word in STOP_WORDS.get(language, ()) or not self._analyzer.terms(lowered, language):
            return ()
        return self._analyzer.terms(light_stem(word, language), language) or terms

    def _piece(self, piece: re.Match[str], language: str) -> _Terms:
        """Pairs of characters in scripts without spaces; other pieces are words."""
        text = piece.group()
        if not piece["unspaced"]:
            return self._of(text, language)
        pairs = [text[at : at + 2] for at in range(max(1, len(text) - 1))]
        single = _HAN.findall(text) if len(text) > 1 else ()
        return _Terms(_joined(map(self._of_pair, pairs)), (), _joined(map(self._of_pair, single)))

    def _of_pair(self, pair: str) -> tuple[int, ...]:
        """The analyzer would split a pair at the marks of Thai."""
        return self._analyzer.terms(pair) if pair.isalnum() else (zlib.crc32(pair.encode()),)


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


def _joined(parts: Iterable[Iterable[int]]) -> tuple[int, ...]:
    return tuple(term for part in parts for term in part)


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
