"""Splits a Document into Chunks: whole sections if they fit, else parts cut at the best border."""

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from surefind.model import Chunk, ChunkerSettings, Document
from surefind.text.markdown.blocks import Heading, OpenedBlock, Outline
from surefind.text.slugs import chunk_id

CountTokens = Callable[[str], int]
Span = tuple[int, int]

_LINE = re.compile(r"\n")
# Chinese and Japanese have no space after a sentence.
_SENTENCE = re.compile(
    r"(?<=[.!?\u2026\u061f\u06d4\u0964\u0965])[\"')\]*_\u2019\u201d\u00bb]*\s+"
    r"|(?<=[\u3002\uff01\uff1f\uff61])(?![\u3002\uff01\uff1f\uff61])"
    r"[\"')\]*_\u2019\u201d\u300d\u300f\uff09\u3011]*\s*"
)
# Other lines continue the line above.
_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]")
_HARD_BREAKS = ("  \n", "\\\n")
_WORD_CHARACTER = re.compile(r"[^\W_]")
_INVISIBLE = re.compile(r"<[^<>]*>|&#?\w+;|\{#[^\s{}]*\}|\]\([^()\s]*\)")
_SHORT = 400  # longer sections have words
_WORD = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_MOSTLY_CODE = 0.8
_CONTEXT_SHARE = 4  # headings may use up to a quarter of the budget
_HEAD_SHARE = 3  # the opening of a table or code block, a third of the rest


@dataclass(frozen=True, slots=True)
class _Section:
    """The text from one heading to the next, under the headings above it.

    `inherited` are the headings of the path that the section's text does not contain. `name`
    identifies the section within the page: its anchor, if it has one.
    """

    start: int
    end: int
    path: tuple[str, ...]
    inherited: tuple[str, ...]
    anchor: str
    name: str


def chunk_document(
    document: Document, structure: Outline, settings: ChunkerSettings, count_tokens: CountTokens
) -> list[Chunk]:
    """Split a document. Every non-blank character is in exactly one chunk; chunks are in order.

    Sections without a word, such as a rule between two headings, are in none.

    With an overlap, a chunk that continues a section starts with the end of the previous chunk.
    """
    chunks: list[Chunk] = []
    opened = sorted((*structure.code, *structure.tables), key=lambda block: block.start)
    ordinals: Counter[str] = Counter()
    for section in _sections(document, structure):
        if not has_words(document.text[section.start : section.end]):
            continue
        # The first piece contains its heading; later ones need the full heading path.
        first_context = _shorten(" > ".join(section.inherited), settings, count_tokens)
        context = _shorten(" > ".join(section.path), settings, count_tokens)
        context_tokens = max(count_tokens(context), count_tokens(first_context))
        cutter = _SectionCutter(
            document.text, structure, opened, settings, count_tokens, context_tokens
        )
        for number, piece in enumerate(cutter.cut(section.start, section.end)):
            text = document.text[piece.start : piece.end]
            own_context = "\n\n".join(
                filter(None, (context if number else first_context, piece.head))
            )
            has_code, content_type = _kind(text, piece.start, piece.end, structure)
            chunks.append(
                Chunk(
                    id=chunk_id(document.source_path, section.name, ordinals[section.name]),
                    source_path=document.source_path,
                    position=len(chunks),
                    text=text,
                    start=piece.start,
                    end=piece.end,
                    heading_path=section.path,
                    context=own_context,
                    anchor=section.anchor,
                    tokens=piece.tokens + count_tokens(own_context),
                    content_hash=hashlib.sha256(text.encode()).hexdigest(),
                    has_code=has_code,
                    content_type=content_type,
                )
            )
            ordinals[section.name] += 1
    return chunks


def without_overlap(chunks: Iterable[Chunk]) -> list[str]:
    """The text of each chunk of a page, in order, without the overlap with earlier ones."""
    texts, shown = [], 0
    for chunk in chunks:
        repeated = min(max(0, shown - chunk.start), len(chunk.text))
        text = chunk.text[repeated:]
        blank = _BLANK_LINES.match(text) if repeated else None
        texts.append(text[blank.end() :] if blank else text)
        shown = max(shown, chunk.end)
    return texts


def _sections(document: Document, structure: Outline) -> Iterator[_Section]:
    """Split at headings; a heading without text joins the following section."""
    text, headings = document.text, structure.headings
    first = headings[0].start if headings else len(text)
    if text[:first].strip():
        yield _Section(0, first, (document.title,), (document.title,), "", "")
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
        name = (
            heading.name or f"# {heading.title}"
        )  # a title without letters still differs from the start of the page
        yield _Section(start, end, titles, above, heading.anchor, name)
        start = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span with its tokens. `head` is the opening of the table or code block it continues."""

    start: int
    end: int
    tokens: int
    head: str = ""


class _SectionCutter:
    """Cuts one section into pieces within the budget."""

    def __init__(
        self,
        text: str,
        structure: Outline,
        opened: Sequence[OpenedBlock],
        settings: ChunkerSettings,
        count_tokens: CountTokens,
        context_tokens: int,
    ) -> None:
        self._text = text
        self._structure = structure
        self._opened = opened
        self._count = count_tokens
        self._max_chars = settings.max_chars
        self._max_tokens = settings.max_tokens - context_tokens
        self._overlap_tokens = settings.overlap_tokens

    def cut(self, start: int, end: int) -> Iterator[_Piece]:
        """Pieces without surrounding white space, in order. The span must not be blank."""
        if not self._overlap_tokens:
            yield from self._pieces(start, end)
            return
        room = self._max_tokens, self._max_chars
        whole = next(self._parts((start, end), 0))
        if not self._text[whole.end : end].strip():
            yield whole
            return
        self._max_tokens = max(1, room[0] - self._overlap_tokens)
        self._max_chars = max(1, room[1] * self._max_tokens // room[0])
        previous = None
        for piece in list(self._pieces(start, end)):
            yield self._widened(piece, previous.start, room) if previous else piece
            previous = piece

    def _widened(self, piece: _Piece, earliest: int, room: tuple[int, int]) -> _Piece:
        """Extend the piece backwards by whole sentences or lines that fit."""
        widest = piece
        for start in self._starts(earliest, piece.start):
            repeated = self._count(self._text[start : piece.start])
            head = self._head_of(start)
            tokens = piece.tokens + repeated
            too_long = tokens + self._count(head) > room[0] or piece.end - start > room[1]
            if repeated > self._overlap_tokens or too_long:
                break
            widest = _Piece(start, piece.end, tokens, head)
        return widest

    def _starts(self, after: int, before: int) -> list[int]:
        """Starts of lines and sentences, nearest first; only of lines in code and tables."""
        lines = {self._trim(start, before)[0] for start in self._line_starts(after, before)}
        sentences = {m.end() for m in _SENTENCE.finditer(self._text, after, before)}
        starts = lines | {start for start in sentences if self._block_at(start) is None}
        return sorted(
            (start for start in starts if start < before and not self._is_in_head(start)),
            reverse=True,
        )

    def _pieces(self, start: int, end: int) -> Iterator[_Piece]:
        parts = self._parts((start, end), 0)
        piece = next(parts)
        for part in parts:
            together = _Piece(piece.start, part.end, piece.tokens + part.tokens, piece.head)
            if self._fits(together):
                piece = together
            else:
                yield piece
                piece = _Piece(part.start, part.end, part.tokens, self._head_of(part.start))
        yield piece

    def _fits(self, piece: _Piece) -> bool:
        tokens = piece.tokens + (self._count(piece.head) if piece.head else 0)
        return tokens <= self._max_tokens and piece.end - piece.start <= self._max_chars

    def _head_of(self, start: int) -> str:
        """The opening to repeat for a piece that starts inside a table or a code block."""
        block = self._block_at(start)
        if block is None or start < block.head:
            return ""
        head = self._text[block.start : block.head].strip()
        if len(head) > self._max_chars:  # too long to count its tokens for every piece
            return ""
        return head if self._count(head) <= self._max_tokens // _HEAD_SHARE else ""

    def _is_in_head(self, start: int) -> bool:
        block = self._block_at(start)
        return block is not None and block.start < start < block.head

    def _block_at(self, start: int) -> OpenedBlock | None:
        number = bisect_right(self._opened, start, key=lambda block: block.start) - 1
        return self._opened[number] if number >= 0 and start < self._opened[number].end else None

    def _parts(self, span: Span, level: int) -> Iterator[_Piece]:
        """The largest parts that fit: blocks, then items, sentences, lines, words, characters."""
        start, end = self._trim(*span)
        if start == end:
            return
        # A very long span can't fit, so skip counting its tokens.
        if end - start <= self._max_chars:
            part = _Piece(start, end, self._count(self._text[start:end]), self._head_of(start))
            if self._fits(part) or end - start == 1:
                yield _Piece(start, end, part.tokens)
                return
        for inner in self._split(start, end, level):
            yield from self._parts(inner, level + 1)

    def _split(self, start: int, end: int, level: int) -> Iterator[Span]:
        if level <= 1:
            outline = self._structure
            borders = outline.borders if level == 0 else outline.inner_borders
            low, high = bisect_left(borders, start + 1), bisect_left(borders, end)
            points = list(borders[low:high])
        elif level == 2:
            points = list(self._line_starts(start, end))
        elif level <= 5:
            pattern = (_SENTENCE, _LINE, _WORD)[level - 3]
            points = [match.end() for match in pattern.finditer(self._text, start, end)]
        else:
            size = max(1, min(self._max_chars, (end - start + 1) // 2))
            points = list(range(start + size, end, size))
        return pairwise([start, *points, end])

    def _line_starts(self, start: int, end: int) -> Iterator[int]:
        """Starts of lines that are more than a continuation of the line above."""
        for line in _LINE.finditer(self._text, start, end):
            after = line.end()
            breaks = self._text.endswith(_HARD_BREAKS, start, after) or _ITEM.match(
                self._text, after, end
            )
            if breaks or self._block_at(after) is not None:
                yield after

    def _trim(self, start: int, end: int) -> Span:
        """Strip white space, but keep the indentation of the first line."""
        piece = self._text[start:end]
        if not piece.strip():
            return end, end
        lead = len(piece) - len(piece.lstrip())
        return start + piece.rfind("\n", 0, lead) + 1, start + len(piece.rstrip())


def _shorten(context: str, settings: ChunkerSettings, count_tokens: CountTokens) -> str:
    """Drop the first headings if the path exceeds its share of the budget."""
    room = settings.max_tokens // _CONTEXT_SHARE
    while context and (count_tokens(context) > room or len(context) > settings.max_chars):
        parts = context.split(" > ", 1)
        context = parts[1] if len(parts) == 2 else context[: len(context) // 2]
    return context


def has_words(text: str) -> bool:
    """Whether readers see a word, and not only a rule, empty tags or `&nbsp;`."""
    if len(text) < _SHORT and "`" not in text and "~~~" not in text:
        text = _INVISIBLE.sub("", text)
    return _WORD_CHARACTER.search(text) is not None


def _kind(text: str, start: int, end: int, structure: Outline) -> tuple[bool, str]:
    blocks = structure.code
    first = max(0, bisect_right(blocks, start, key=lambda block: block.start) - 1)
    code = 0
    for block in islice(blocks, first, None):
        if block.start >= end:
            break
        code += max(0, min(end, block.end) - max(start, block.start))
    if not code:
        return False, "text"
    return True, "code" if code >= _MOSTLY_CODE * len(text) else "mixed"
