"""A Document becomes Chunks: whole sections where they fit, cut at the best border where not."""

import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from surefind.model import Chunk, ChunkerSettings, Document
from surefind.text.markdown import Heading, Outline
from surefind.text.slugs import chunk_id

CountTokens = Callable[[str], int]
Span = tuple[int, int]

_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])[\"')\]]*\s+")
_WORD = re.compile(r"\s+")
_MOSTLY_CODE = 0.8
_CONTEXT_SHARE = 4  # headings may take up to a quarter of the budget


@dataclass(frozen=True, slots=True)
class _Section:
    """The text from one heading to the next, under the headings above it.

    `inherited` are those of the path that the section's own text does not spell out.
    """

    start: int
    end: int
    path: tuple[str, ...]
    inherited: tuple[str, ...]
    anchor: str


def chunk_document(
    document: Document, structure: Outline, settings: ChunkerSettings, count_tokens: CountTokens
) -> list[Chunk]:
    """Every character that is not white space is in exactly one chunk; chunks are in order."""
    chunks: list[Chunk] = []
    ordinals: Counter[str] = Counter()  # two headings without letters share the empty anchor
    for section in _sections(document, structure):
        # The first piece spells out its own heading; those after it are told all of them.
        first_context = _shorten(" > ".join(section.inherited), settings, count_tokens)
        context = _shorten(" > ".join(section.path), settings, count_tokens)
        cutter = _Cutter(document.text, structure, settings, count_tokens, count_tokens(context))
        for piece, (start, end, tokens) in enumerate(cutter.cut(section.start, section.end)):
            text = document.text[start:end]
            own_context = context if piece else first_context
            has_code, content_type = _kind(text, start, end, structure)
            chunks.append(
                Chunk(
                    id=chunk_id(document.source_path, section.anchor, ordinals[section.anchor]),
                    source_path=document.source_path,
                    position=len(chunks),
                    text=text,
                    start=start,
                    end=end,
                    heading_path=section.path,
                    context=own_context,
                    anchor=section.anchor,
                    tokens=tokens + count_tokens(own_context),
                    content_hash=hashlib.sha256(text.encode()).hexdigest(),
                    has_code=has_code,
                    content_type=content_type,
                )
            )
            ordinals[section.anchor] += 1
    return chunks


def _sections(document: Document, structure: Outline) -> Iterator[_Section]:
    """A heading with nothing of its own below it joins the section that follows."""
    text, headings = document.text, structure.headings
    first = headings[0].start if headings else len(text)
    if text[:first].strip():
        yield _Section(0, first, (document.title,), (document.title,), "")
    open_headings: list[Heading] = []
    start, inherited_from = None, 0
    for number, heading in enumerate(headings):
        while open_headings and open_headings[-1].level >= heading.level:
            open_headings.pop()
        if start is None:
            start, inherited_from = heading.start, len(open_headings)
        else:
            inherited_from = min(inherited_from, len(open_headings))
        open_headings.append(heading)
        end = headings[number + 1].start if number + 1 < len(headings) else len(text)
        if not text[heading.end : end].strip() and number + 1 < len(headings):
            continue
        titles = tuple(item.title for item in open_headings if item.title)
        above = tuple(item.title for item in open_headings[:inherited_from] if item.title)
        if titles[:1] != (document.title,):
            titles, above = (document.title, *titles), (document.title, *above)
        yield _Section(start, end, titles, above, heading.anchor)
        start = None


class _Cutter:
    """Cuts one section's span into pieces within the budget."""

    def __init__(
        self,
        text: str,
        structure: Outline,
        settings: ChunkerSettings,
        count_tokens: CountTokens,
        context_tokens: int,
    ) -> None:
        self._text = text
        self._borders = structure.borders
        self._count = count_tokens
        self._max_chars = settings.max_chars
        self._max_tokens = settings.max_tokens - context_tokens

    def cut(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, tokens), without white space around. The span holds some text."""
        pieces = self._pieces((start, end), 0)
        begin, stop, tokens = next(pieces)
        for piece_start, piece_end, piece_tokens in pieces:
            if not self._fits(begin, piece_end, tokens + piece_tokens):
                yield (begin, stop, tokens)
                begin, tokens = piece_start, 0
            stop, tokens = piece_end, tokens + piece_tokens
        yield (begin, stop, tokens)

    def _fits(self, start: int, end: int, tokens: int) -> bool:
        return tokens <= self._max_tokens and end - start <= self._max_chars

    def _pieces(self, span: Span, level: int) -> Iterator[tuple[int, int, int]]:
        """The largest pieces that fit: blocks, then lines, sentences, words, characters."""
        start, end = self._trim(*span)
        if start == end:
            return
        # A very long span can't fit: do not spend a token count on it.
        if end - start <= self._max_chars:
            tokens = self._count(self._text[start:end])
            if tokens <= self._max_tokens or end - start == 1:
                yield (start, end, tokens)
                return
        for inner in self._split(start, end, level):
            yield from self._pieces(inner, level + 1)

    def _split(self, start: int, end: int, level: int) -> Iterator[Span]:
        if level == 0:
            low, high = bisect_left(self._borders, start + 1), bisect_left(self._borders, end)
            points = list(self._borders[low:high])
        elif level <= 3:
            pattern = (_LINE, _SENTENCE, _WORD)[level - 1]
            points = [match.end() for match in pattern.finditer(self._text, start, end)]
        else:
            size = max(1, min(self._max_chars, (end - start + 1) // 2))
            points = list(range(start + size, end, size))
        edges = [start, *points, end]
        return pairwise(edges)

    def _trim(self, start: int, end: int) -> Span:
        """Without the white space around it, but with the indentation of its first line."""
        piece = self._text[start:end]
        if not piece.strip():
            return end, end
        lead = len(piece) - len(piece.lstrip())
        return start + piece.rfind("\n", 0, lead) + 1, start + len(piece.rstrip())


def _shorten(context: str, settings: ChunkerSettings, count_tokens: CountTokens) -> str:
    """Headings must leave room for the text: beyond their share they lose their beginning."""
    room = settings.max_tokens // _CONTEXT_SHARE
    while context and (count_tokens(context) > room or len(context) > settings.max_chars):
        parts = context.split(" > ", 1)
        context = parts[1] if len(parts) == 2 else context[: len(context) // 2]
    return context


def _kind(text: str, start: int, end: int, structure: Outline) -> tuple[bool, str]:
    code = sum(
        max(0, min(end, code_end) - max(start, code_start))
        for code_start, code_end in structure.code
    )
    if not code:
        return False, "text"
    return True, "code" if code >= _MOSTLY_CODE * len(text) else "mixed"
