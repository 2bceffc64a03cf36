"""Words as the lexical leg meets them: where they stand, and what an identifier is made of."""

import re
from collections.abc import Iterator

WORD = re.compile(r"\w+")
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


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    for match in WORD.finditer(text):
        yield match.start(), match.end(), match.group()


def parts(word: str) -> tuple[str, ...]:
    """The words that a word is made of; nothing where it is just one.

    >>> parts("max_tokens"), parts("useEffect"), parts("HtmlWebpackPlugin")
    (('max', 'tokens'), ('use', 'Effect'), ('Html', 'Webpack', 'Plugin'))
    >>> parts("JavaScript"), parts("iPhone"), parts("tokens")
    ((), (), ())
    """
    if _UNSPACED.search(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    pieces = [piece for piece in word.split("_") if piece]
    humps = [hump for piece in pieces for hump in _humps(piece)]
    return tuple(humps) if len(humps) > 1 else ()


def _humps(piece: str) -> list[str]:
    """An identifier's; a name like JavaScript is one word, and Java is another."""
    humps = _HUMP.split(piece)
    is_name = piece[0].isupper() and len(humps) <= _BRAND_HUMPS
    if is_name or min(map(len, humps)) < _SHORTEST_PART:
        return [piece]
    return humps
