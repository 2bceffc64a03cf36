"""Chunks put together again: what an overlap repeats is shown once."""

import re
from collections.abc import Iterable

from surefind.model import Chunk

_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")


def unrepeated(chunks: Iterable[Chunk]) -> list[str]:
    """The text of each chunk of a page, in order, without what the ones before it have shown."""
    texts, shown = [], 0
    for chunk in chunks:
        repeated = min(max(0, shown - chunk.start), len(chunk.text))
        text = chunk.text[repeated:]
        blank = _BLANK_LINES.match(text) if repeated else None
        texts.append(text[blank.end() :] if blank else text)
        shown = max(shown, chunk.end)
    return texts
