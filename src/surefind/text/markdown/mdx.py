"""Converts MDX to Markdown: keeps the text in order and drops the code around it.

One pass finds everything that is not text (`mdx_scanner` turns unmatched tags back into text).
`_MdxPage` then joins the rest line by line. Unclosed spans are cached, so that every page takes
linear time.
"""

import re
from bisect import bisect_right
from itertools import accumulate

from surefind.text.front_matter import split_front_matter
from surefind.text.markdown.blocks import plain, without_closing
from surefind.text.markdown.mdx_scanner import RemovedSpan, Scanner, balanced
from surefind.text.markdown.writer import fenced, guarded
from surefind.text.slugs import anchor_of

_HEADING = re.compile(r" {0,3}#{1,6}[ \t](.*)$")
_EXPLICIT_ID = re.compile(r"\{#[^\s{}]+\}[ \t]*$")
_TAG = "\0"  # replaces a tag; never occurs in cleaned text
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_INSIDE_WORDS = {"a", "abbr", "b", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong"}
_INSIDE_WORDS |= {"sub", "sup", "u", "wbr"}


def strip_mdx(text: str) -> str:
    """Convert MDX to Markdown with all visible text; everything else stays unchanged.

    Code stays byte for byte, except that the content of a JSX element is dedented to the element's
    column, because indented text is not code in MDX.
    """
    start = len(text) - len(split_front_matter(text)[1])
    return text[:start] + read_mdx(text[start:])[0]


def read_mdx(text: str) -> tuple[str, tuple[str, ...]]:
    """(Markdown with all visible text, code of the page that may show more)."""
    scanner = Scanner(text, jsx=True)
    return _without(text, scanner), tuple(dict.fromkeys(scanner.left_out))


def strip_comments(text: str) -> str:
    """Remove HTML comments, except those in code and unclosed ones."""
    return _without(text, Scanner(text, jsx=False))


def _without(text: str, scanner: Scanner) -> str:
    cuts, pairs = balanced(scanner.cuts())
    if not cuts:
        return text
    page = _MdxPage()
    position = 0
    for cut in sorted([*cuts, *_dedents(text, pairs)], key=lambda cut: cut.start):
        if cut.start >= position:  # else it is the indentation inside a removed span
            page.keep(text[position : cut.start])
            page.replace(cut)
            position = cut.end
    page.keep(text[position:])
    return page.text()


def _dedents(text: str, pairs: list[tuple[RemovedSpan, RemovedSpan]]) -> list[RemovedSpan]:
    """The indentation to remove so that each element's content moves to the column of its tag."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    indents = [len(line) - len(line.lstrip(" \t")) for line in lines]
    change = [0] * (len(lines) + 1)
    for opening, closing in pairs:
        tag_line = bisect_right(starts, opening.start) - 1
        first = bisect_right(starts, opening.end)
        last = bisect_right(starts, closing.start) - 1
        if opening.start != starts[tag_line] + indents[tag_line]:
            continue
        while first < last and not lines[first].strip():
            first += 1
        deeper = indents[first] - indents[tag_line] if first < last else 0
        if deeper > 0:
            change[first] += deeper
            change[last] -= deeper
    moved = accumulate(change)
    return [
        RemovedSpan(start, start + min(shift, indent), role="indent")
        for start, indent, shift in zip(starts, indents, moved, strict=False)
        if shift and indent
    ]


def _joined(before: str, words: str) -> str:
    """Join words that a tag separated with exactly one space."""
    if before.isalnum() and words[0].isalnum():
        return f" {words}"
    return words[1:] if before == words[0] == " " else words


def _own_anchor(line: str, source: str) -> str:
    """The anchor of a heading with tags, if it differs from that of its plain text.

    Docusaurus builds anchors from the text between tags, including spaces at the ends, but not
    from what a tag shows: `## Foo <Badge label="new" />` has the anchor `foo-`.
    """
    shown, written = _HEADING.match(line), _HEADING.match(source)
    if shown is None or written is None or _EXPLICIT_ID.search(line):
        return ""
    text = _title(written[1]).replace(_TAG, "")
    words = text.strip()
    anchor = anchor_of(text.replace(words, plain(words))) if words else ""
    return "" if anchor == anchor_of(plain(_title(shown[1]))) else anchor


def _title(written: str) -> str:
    """Keeps trailing spaces, because Docusaurus includes them in anchors."""
    return without_closing(written) if written.rstrip(" \t").endswith("#") else written.strip(" \t")


class _MdxPage:
    """Reassembles the text without gaps where lines were removed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._swallows = False  # a line was removed: the following blank line may go too
        self._after_label = False
        self._begin_line()

    def _begin_line(self, *, touched: bool = False) -> None:
        self._parts: list[str] = []
        self._source: list[str] = []
        self._blank = True
        self._touched = touched
        self._led = touched  # the line started with a removed span
        self._labels = False
        self._breaks = False  # a label on its own line
        self._gap = False

    def keep(self, piece: str) -> None:
        first, *rest = piece.split("\n")
        self._source.append(first)
        self._write(first)
        for number, line in enumerate(rest, start=1):
            self._end_line()
            self._begin_line()
            if number < len(rest) and not self._swallows and not self._after_label:
                self._lines.extend(rest[number - 1 : -1])  # whole lines stay as they are
                self._source.append(rest[-1])
                self._write(rest[-1])
                return
            self._source.append(line)
            self._write(line)

    def replace(self, cut: RemovedSpan) -> None:
        if cut.role == "indent":
            return
        if cut.role in {"text", "code"}:
            self._write_paragraph(cut.words, is_code=cut.role == "code")
            return
        self._touched = True
        self._source.append(_TAG if cut.tag else cut.words)
        self._led = self._led or self._blank
        if "\n" in cut.words:
            self._write_code(cut.words.strip("\n"))
            return
        leads = self._blank
        if cut.tag and cut.words and not leads and not self._parts[-1][-1].isspace():
            self._write(" ")
        self._write(cut.words)
        joins = cut.tag in _INSIDE_WORDS if not cut.words else not cut.tag
        self._gap = self._gap or not joins
        if leads and cut.words.strip():
            self._labels = True
            self._breaks = cut.role == "open"

    def _write(self, words: str) -> None:
        if not words:
            return
        if self._breaks and words.strip():
            self._end_line()
            self._begin_line(touched=True)
        if self._gap and self._parts:
            words = _joined(self._parts[-1][-1], words)
        self._gap = False
        self._blank = self._blank and not words.strip()
        if words:
            self._parts.append(words)

    def _write_paragraph(self, words: str, *, is_code: bool) -> None:
        if not self._blank:
            self._end_line()
        if self._lines and self._lines[-1].strip():
            self._lines.append("")
        self._lines.extend(fenced(words).split("\n") if is_code else [guarded(words)])
        self._begin_line(touched=True)

    def _write_code(self, code: str) -> None:
        if not self._blank:
            self._end_line()
        self._lines.extend(fenced(code).split("\n"))
        self._begin_line(touched=True)

    def _end_line(self) -> None:
        line = "".join(self._parts)
        is_blank = not line.strip()
        after_blank = not self._lines or not self._lines[-1].strip()
        if is_blank and (self._touched or self._swallows):
            self._swallows = True
            if not after_blank:
                self._lines.append("")
        else:
            if self._after_label and _UNDERLINE.match(line):
                self._lines.append("")
            line = line.rstrip() if self._touched else line
            anchor = _own_anchor(line, "".join(self._source)) if _TAG in self._source else ""
            line += f" {{#{anchor}}}" if anchor else ""
            self._lines.append(guarded(line) if self._led else line)
            self._swallows = False
        self._after_label = self._labels

    def text(self) -> str:
        self._end_line()
        return "\n".join(self._lines)
