"""Detects pages in other languages than English, which a model for English does not know.

A model that detects languages would be far larger than this question: text without English function
words and with letters beyond ASCII is in another language. Pages of code and tables have neither.
"""

import re

_CODE = re.compile(r"^ *(```|~~~).*?^ *\1|`[^`\n]*`|\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    [
        "and",
        "are",
        "by",
        "can",
        "from",
        "has",
        "if",
        "it",
        "not",
        "or",
        "that",
        "the",
        "this",
        "to",
        "with",
        "you",
        "your",
    ]
)
_MOST_CHARACTERS = 20_000
_FEWEST_LETTERS = 150
_ENGLISH_SHARE, _OTHER_LETTERS = 0.05, 0.005


def is_foreign(text: str) -> bool:
    """Whether a Markdown text is clearly in another language than English."""
    words = _WORD.findall(_CODE.sub(" ", text[:_MOST_CHARACTERS]).casefold())
    letters = sum(map(len, words))
    if letters < _FEWEST_LETTERS:
        return False
    english = sum(word in _ENGLISH for word in words) / len(words)
    others = sum(not letter.isascii() for word in words for letter in word) / letters
    return english < _ENGLISH_SHARE and others > _OTHER_LETTERS


def is_for_english(model: str) -> bool:
    """Whether a model says in its name that it is for English: `bge-small-en-v1.5`."""
    return re.search(r"(?:^|[-_/.])en(?:glish)?(?:[-_.]|$)", model) is not None
