"""Words as terms, without any rules of language."""

import hashlib
from collections import Counter

from support.fakes.embedders import WORDS
from surefind.model import (
    SparseVector,
)


class WordAnalyzer:
    """Every word is a term."""

    name = "fake-words"

    def terms(self, word: str, language: str = "en") -> tuple[int, ...]:
        return (int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]),)


def word_terms(text: str) -> SparseVector:
    """A text's words with their counts."""
    counts = Counter(
        term for word in WORDS.findall(text.lower()) for term in WordAnalyzer().terms(word)
    )
    ids = sorted(counts)
    return SparseVector(tuple(ids), tuple(float(counts[term]) for term in ids))
