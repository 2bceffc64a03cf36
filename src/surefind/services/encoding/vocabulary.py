"""The words of a collection, and the ones that a misspelt or unfinished word may stand for."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import takewhile

MAX_WORDS = 100_000
SHORTEST = 3
"""Shorter words are neither kept nor replaced."""
_LONGEST = 40
_SHORTEST_MISSPELT = 4
_MOST_COMPLETIONS, _MOST_CORRECTIONS = 4, 2
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The words in small letters, in reading order."""
    return _WORD.findall(text.lower())


class Vocabulary:
    """Words with the number of passages they occur in. Beyond a limit, the rarest are dropped."""

    def __init__(self, max_words: int = MAX_WORDS) -> None:
        self._max_words = max_words
        self._counts: Counter[str] = Counter()
        self._sorted: list[str] | None = None

    def add(self, passage: str) -> None:
        self._counts.update(
            {word for word in words_of(passage) if SHORTEST <= len(word) <= _LONGEST}
        )
        self._sorted = None
        if len(self._counts) > 2 * self._max_words:
            self._counts = Counter(dict(self._counts.most_common(self._max_words)))

    def __contains__(self, word: str) -> bool:
        return word in self._counts

    def completions(self, start: str) -> list[str]:
        """The most frequent words that begin with these letters."""
        if len(start) < SHORTEST:
            return []
        return self._most_frequent(self._beginning_with(start), _MOST_COMPLETIONS)

    def corrections(self, word: str) -> list[str]:
        """The most frequent words that differ by one typing mistake after the first letter.

        Words with digits or underscores are names, which are never corrected.
        """
        if len(word) < _SHORTEST_MISSPELT or not word.isalpha():
            return []
        near = (
            known
            for known in self._beginning_with(word[0])
            if known.isalpha() and is_one_mistake(word, known)
        )
        return self._most_frequent(near, _MOST_CORRECTIONS)

    def _beginning_with(self, start: str) -> Iterator[str]:
        if self._sorted is None:
            self._sorted = sorted(self._counts)
        first = bisect_left(self._sorted, start)
        following = (self._sorted[at] for at in range(first, len(self._sorted)))
        return takewhile(lambda word: word.startswith(start), following)

    def _most_frequent(self, words: Iterable[str], most: int) -> list[str]:
        return sorted(words, key=lambda word: (-self._counts[word], word))[:most]


def is_one_mistake(one: str, other: str) -> bool:
    """Whether one letter is missing, added or wrong, or two adjacent letters are swapped.

    >>> [is_one_mistake("teapot", typed) for typed in ("teapto", "tepot", "teapott", "teapet")]
    [True, True, True, True]
    >>> [is_one_mistake("teapot", typed) for typed in ("teapot", "tepto")]
    [False, False]
    """
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1 or one == other:
        return False
    start = next(
        (at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    if short[start + 1 :] == long[start + 1 :]:
        return True
    swapped = long[start + 1 : start + 2] + long[start]
    return short[start : start + 2] == swapped and short[start + 2 :] == long[start + 2 :]
