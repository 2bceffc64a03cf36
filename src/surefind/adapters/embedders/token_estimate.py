"""Estimates token counts for hosted models, whose tokenizers are not available.

The estimate counts a token for every few letters of a word, every punctuation mark and every
non-ASCII letter. Compared with BERT's tokenizer on 621 documentation passages, it is 10 % too high
on average. It is too low for one passage in twenty, usually by 5 %, and by 30 % for Latin. The
default chunk of 400 tokens leaves that margin below the usual limit of 512. A test checks this.
"""

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]")
_LETTERS = 5  # most English words of up to this length are one token
_LETTERS_MORE = 3
_DIGITS = 2


def count(text: str) -> int:
    """The estimated number of tokens; 0 for a blank text."""
    return sum(_cost(piece) for piece in _PIECE.findall(text))


def cut(text: str, max_tokens: int) -> str:
    """The longest beginning of a text within the limit."""
    spent = 0
    for match in _PIECE.finditer(text):
        cost = _cost(match[0])
        if spent + cost > max_tokens:
            whole = text[: match.start()].rstrip()
            return whole or text[: max_tokens * _DIGITS]
        spent += cost
    return text


def _cost(piece: str) -> int:
    if not piece[0].isascii():
        return max(
            1, len(piece.encode("utf-8", "replace")) - 2
        )  # two for an emoji, one for a letter
    if piece[0].isdigit():
        return -(-len(piece) // _DIGITS)
    return 1 + max(0, -(-(len(piece) - _LETTERS) // _LETTERS_MORE))
