"""Locates the headings, code and block borders of a Markdown text.

One pass over the lines. It follows CommonMark at the top level, where sections are; the content of
lists and quotes stays inside them. A test compares it with a CommonMark parser.
"""

import re
from dataclasses import dataclass
from html import unescape

from surefind.model import AnchorRule
from surefind.text.anchors import GITHUB

_ATX = re.compile(r" {0,3}(#{1,6})(?![^ \t])(.*)$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_LIST_ITEM = re.compile(r"( {0,3}(?:[-+*]|\d{1,9}[.)]))([ \t]+|$)")
_QUOTE = re.compile(r" {0,3}>")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_RAW_HTML = re.compile(
    r" {0,3}<(!--|\?|!\[CDATA\[|!(?=[a-z])|(?:pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE
)
_RAW_HTML_ENDS = {"!--": "-->", "?": "?>", "![cdata[": "]]>", "!": ">"}
# Both end at a blank line. The second is alone on its line and can't interrupt a paragraph.
_HTML_BLOCK = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup"
    r"|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]"
    r"|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup"
    r"|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)"
    r"(?=[ \t>]|/>|$)",
    re.IGNORECASE,
)
_LONE_TAG = re.compile(
    r"""[ ]{0,3}<(?:/[a-z][a-z0-9-]*+\s*+>
    |[a-z][a-z0-9-]*+(?:\s++[a-z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+)*+\s*+/?>
    )\s*$""",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
# Possessive quantifiers: a row of blank cells would backtrack exponentially.
_TABLE_RULE = re.compile(
    r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+(?::?-++:?|:{0,2}+)[ \t]*+)++$"
)
# A line that starts with none of these and no digit is text, like most lines.
_MARKERS = frozenset("\t#=-`~<*_+>|:")
TITLE_LENGTH = 500
_OPENINGS = {"}": "{", "]": "["}
_MAX_OPENINGS = 3  # a quoted value may contain one
_INLINE_MARKUP = re.compile(r"[\[`*_~<&\\]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SET_ASIDE = 0xE000  # escaped characters are moved here, into a private area of Unicode
_BACK = {_SET_ASIDE + code: code for code in range(0x21, 0x7F)}
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG = re.compile(  # known HTML tags only: the `<T>` of `List<T>` is text
    r"(?<!\\)</?(?:a|abbr|b|bdi|bdo|big|br|cite|code|del|details|dfn|div|em|font|h[1-6]|i|img|input|ins"
    r"|kbd|label|mark|p|picture|q|s|samp|small|source|span|strike|strong|sub|summary|sup|svg|time"
    r"|tt|u|var|wbr)(?:\s[^<>]*+)?+/?>",
    re.IGNORECASE,
)
_CODE_SPAN = re.compile(r"(?<!`)`++([^`]++)`++")
_CODE_SPANS = re.compile(r"((?<!`)`++[^`]++`++)")
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|~~)(?=\S)(.+?)(?<=\S)(\1)(?!\w)")


@dataclass(frozen=True, slots=True)
class Heading:
    """`start` and `end` span the heading's lines in the text.

    `name` identifies the heading in its page. It is the anchor, unless the site renders none.
    """

    level: int
    title: str
    anchor: str
    start: int
    end: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class OpenedBlock:
    """A table or a code block. `start` to `head` is its opening, which the rest of the block needs
    to make sense.
    """

    start: int
    head: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """Where to cut a text. `borders` are the offsets of blocks after a blank line;
    `inner_borders` are those inside lists. Neither is inside code. `attributes` are the spans of
    ids and other attributes that headings declare, such as `{#id}`.
    """

    headings: tuple[Heading, ...] = ()
    borders: tuple[int, ...] = ()
    inner_borders: tuple[int, ...] = ()
    code: tuple[OpenedBlock, ...] = ()
    tables: tuple[OpenedBlock, ...] = ()
    attributes: tuple[tuple[int, int], ...] = ()


def outline(text: str, anchors: AnchorRule = GITHUB) -> Outline:
    scanner = _Scanner(anchors)
    start, size = 0, len(text)
    for line in text.split("\n"):
        end = start + len(line) + 1
        if scanner.awaited in line:
            scanner.line(line, start, min(end, size))
        start = end
    scanner.finish(size)
    return Outline(
        headings=tuple(scanner.headings),
        borders=tuple(scanner.borders),
        inner_borders=tuple(scanner.inner_borders),
        code=tuple(scanner.code),
        tables=tuple(scanner.tables),
        attributes=tuple(scanner.attributes),
    )


@dataclass(frozen=True, slots=True)
class _Fence:
    marks: str
    start: int
    head: int


class _Scanner:
    def __init__(self, rule: AnchorRule) -> None:
        self._rule = rule
        self.headings: list[Heading] = []
        self.borders: list[int] = []
        self.inner_borders: list[int] = []
        self.code: list[OpenedBlock] = []
        self.tables: list[OpenedBlock] = []
        self.attributes: list[tuple[int, int]] = []
        self.awaited = ""  # in code, skip lines without the end marker
        self._anchors: dict[str, int] = {}
        self._fence: _Fence | None = None
        self._table: OpenedBlock | None = None
        self._last: tuple[str, int] = ("", 0)  # the previous line and its start
        self._raw_html_end: str | None = None
        self._in_html_block = False
        self._paragraph: int | None = None  # start of the open paragraph, if it may be a heading
        self._paragraph_lines: list[str] = []
        self._lazy = False  # inside a list or a quote, until a blank line
        self._list_indent = 0  # lines with at least this indent belong to the list item
        self._empty_item = False
        self._after_blank = False

    def line(self, line: str, start: int, end: int) -> None:
        if self._fence is not None:
            self._inside_fence(self._fence, line, end)
        elif self._raw_html_end is not None:
            if self._raw_html_end in line.lower():
                self._raw_html_end = None
        elif not line or line.isspace():
            self._in_html_block = False
            self._after_blank = True
            self._close_table()
            self._close_paragraph()
            self._lazy = False
            if self._empty_item:  # a blank line ends an empty item
                self._list_indent = 0
        elif not self._in_html_block:
            if self._after_blank:
                self._border(line, start)
                self._after_blank = False
            self._block_line(line, start, end)
        self._last = (line, start)

    def finish(self, end: int) -> None:
        """An unclosed fence extends to the end, as in CommonMark."""
        self._close_table()
        if self._fence is not None:
            self.code.append(OpenedBlock(self._fence.start, self._fence.head, end))

    def _border(self, line: str, start: int) -> None:
        goes_on = _indent(line) >= self._list_indent or _LIST_ITEM.match(line)
        inside = self._list_indent and goes_on and not _RULE.match(line)
        (self.inner_borders if inside else self.borders).append(start)

    def _inside_fence(self, fence: "_Fence", line: str, end: int) -> None:
        stripped = line.strip(" \t")
        indent = len(line) - len(line.lstrip(" "))
        if indent <= 3 and not stripped.strip(fence.marks):
            self.code.append(OpenedBlock(fence.start, fence.head, end))
            self._fence = None
            self.awaited = ""

    def _block_line(self, line: str, start: int, end: int) -> None:
        self._empty_item = False
        if self._list_indent and _indent(line) >= self._list_indent:
            return
        if not self._lazy:
            self._list_indent = 0
        first = line.lstrip(" ")[0]
        if first not in _MARKERS and not first.isdecimal():
            if not self._table_continues(end):
                self._words(line, start)
        elif first == "#" and self._atx_heading(line, start, end):
            return
        elif not (first in "=-" and self._setext_heading(line, end)):
            self._marked_line(line, start, end)

    def _marked_line(self, line: str, start: int, end: int) -> None:
        fence = _FENCE.match(line)
        if fence is not None:
            self._close_containers()
            self._fence = _Fence(fence.group(1), start, end)
            self.awaited = fence.group(1)
            return
        raw_html = _RAW_HTML.match(line)
        if raw_html is not None:
            self._open_raw_html(line, raw_html)
            return
        if self._opens_html_block(line):
            self._close_containers()
            self._in_html_block = True
            return
        if _RULE.match(line):
            self._close_containers()
            return
        if not self._table_continues(end) and not self._table_begins(line, end):
            self._text_line(line, start)

    def _table_begins(self, line: str, end: int) -> bool:
        """A table is a row with bars, a delimiter row, and the rows that follow without a gap."""
        if self._paragraph is None or "|" not in self._last[0] or not _TABLE_RULE.match(line):
            return False
        self._table = OpenedBlock(self._last[1], end, end)
        self._close_paragraph()
        return True

    def _table_continues(self, end: int) -> bool:
        if self._table is None:
            return False
        self._table = OpenedBlock(self._table.start, self._table.head, end)
        return True

    def _text_line(self, line: str, start: int) -> None:
        item = _LIST_ITEM.match(line)
        if item is not None and self._may_open_list(line, item):
            self._close_paragraph()
            self._lazy = _holds_paragraph(line)
            self._empty_item = not line[item.end() :].strip()
            padding = len(item.group(2).expandtabs(4))
            self._list_indent = len(item.group(1)) + (padding if 1 <= padding <= 4 else 1)
        elif _QUOTE.match(line):
            self._close_paragraph()
            self._lazy = _holds_paragraph(line)
        else:
            self._words(line, start)

    def _words(self, line: str, start: int) -> None:
        """Continue or start a paragraph, unless it is in a list or a quote."""
        if self._lazy or (self._paragraph is None and _indent(line) >= 4):
            return
        if self._paragraph is None:
            self._paragraph = start
        self._paragraph_lines.append(line)

    def _may_open_list(self, line: str, item: re.Match[str]) -> bool:
        """An empty item, or a number other than 1, can't interrupt a paragraph."""
        if self._paragraph is None:
            return True
        marker = item.group(1).strip()
        return bool(line[item.end() :].strip()) and (not marker[:-1] or marker[:-1] == "1")

    def _open_raw_html(self, line: str, opening: re.Match[str]) -> None:
        self._close_containers()
        name = opening.group(1).lower()
        end = _RAW_HTML_ENDS.get(name, f"</{name}>")
        if end not in line.lower()[opening.end() :]:
            self._raw_html_end = end

    def _opens_html_block(self, line: str) -> bool:
        if "<" not in line:
            return False
        in_paragraph = self._paragraph is not None or self._lazy
        return bool(_HTML_BLOCK.match(line) or (not in_paragraph and _LONE_TAG.match(line)))

    def _setext_heading(self, line: str, end: int) -> bool:
        underline = _SETEXT.match(line)
        if underline is None or self._paragraph is None:
            return False
        title = " ".join(part.strip() for part in self._paragraph_lines)
        self._add_attributes(title, *self._last)
        self._add(1 if underline.group(1)[0] == "=" else 2, title, self._paragraph, end)
        return True

    def _atx_heading(self, line: str, start: int, end: int) -> bool:
        heading = _ATX.match(line)
        if heading is None:
            return False
        title = without_closing(heading.group(2))
        self._add_attributes(title, line[: line.rindex(title) + len(title)], start)
        self._add(len(heading.group(1)), title, start, end)
        return True

    def _add(self, level: int, raw_title: str, start: int, end: int) -> None:
        raw_title = raw_title[:TITLE_LENGTH]  # a longer one is really a paragraph
        raw_title, declared = self._rule.split(raw_title)
        title = plain(raw_title)
        if declared and declared == self._rule.unknown:
            self.headings.append(Heading(level, title, "", start, end, name=f"? {title}"))
            self._close_containers()
            return
        mark = self._rule.included
        is_included = bool(mark) and declared.startswith(mark)
        anchor = declared.removeprefix(mark) or self._rule.slug(title)
        repeats = self._anchors.get(anchor, 0)
        is_title = level < self._rule.first_level and not self._rule.counts_titles
        if not is_title and (not declared or (self._rule.counts_declared and not is_included)):
            self._anchors[anchor] = repeats + 1
        if repeats and anchor and not declared:
            anchor = self._next_free(anchor, repeats)
        shown = anchor if level >= self._rule.first_level else ""
        self.headings.append(Heading(level, title, shown, start, end, name=anchor))
        self._close_containers()

    def _add_attributes(self, title: str, line: str, start: int) -> None:
        """`line` is the last line of the title. The rule of the site separates both."""
        line = line.rstrip()
        opening = _OPENINGS.get(line[-1:])
        if opening is None or len(title) > TITLE_LENGTH:
            return
        words = self._rule.split(title)[0].rstrip()
        at = len(line)
        for _ in range(_MAX_OPENINGS):
            at = line.rfind(opening, 0, at)
            rest = title[: len(title) - (len(line) - at)].rstrip()
            if at <= 0 or not rest:
                return
            if self._rule.split(rest) in {(words, ""), (words, self._rule.unknown)}:
                self.attributes.append((start + len(line[:at].rstrip()), start + len(line)))
                return

    def _next_free(self, anchor: str, repeats: int) -> str:
        while (free := self._rule.numbered(anchor, repeats)) in self._anchors:
            repeats += 1
        self._anchors[free] = 1
        return free

    def _close_paragraph(self) -> None:
        self._paragraph = None
        self._paragraph_lines = []

    def _close_table(self) -> None:
        if self._table is not None:
            self.tables.append(self._table)
            self._table = None

    def _close_containers(self) -> None:
        self._close_table()
        self._close_paragraph()
        self._lazy = False
        self._list_indent = 0


def without_closing(title: str) -> str:
    """An ATX heading's title without surrounding blanks and the closing sequence."""
    title = title.strip(" \t")
    words = title.rstrip("#")
    return words.rstrip(" \t") if not words or words[-1] in " \t" else title


def _holds_paragraph(line: str) -> bool:
    """Whether a line of a list or a quote leaves a paragraph open for the next line."""
    while (marker := _QUOTE.match(line) or _LIST_ITEM.match(line)) is not None:
        line = line[marker.end() :]
    patterns = (_ATX, _FENCE, _RULE, _RAW_HTML, _HTML_BLOCK, _LONE_TAG)
    return bool(line.strip()) and not any(pattern.match(line) for pattern in patterns)


def plain(inline: str) -> str:
    """A heading's text without markup, as shown to readers and used for anchors."""
    if _INLINE_MARKUP.search(inline) is None:
        return inline.strip()
    if "\\" in inline:
        inline = _escapes_set_aside(inline)
    parts = _CODE_SPAN.split(_LINK.sub(r"\1", inline))  # every second one is code
    words = (
        part if number % 2 else unescape(_EMPHASIS.sub(r"\2", _TAG.sub("", part)))
        for number, part in enumerate(parts)
    )
    return "".join(words).translate(_BACK).strip()


def _escapes_set_aside(inline: str) -> str:
    parts = _CODE_SPANS.split(inline)
    return "".join(
        part if number % 2 else _ESCAPE.sub(lambda one: chr(_SET_ASIDE + ord(one[1])), part)
        for number, part in enumerate(parts)
    )


def escaped_tags(inline: str) -> str:
    """Escape text in a heading that would be parsed as a tag."""
    parts = _CODE_SPANS.split(inline)
    return "".join(
        part if number % 2 else _TAG.sub(lambda tag: f"\\{tag[0]}", part)
        for number, part in enumerate(parts)
    )


def _indent(line: str) -> int:
    if line[0] not in " \t":
        return 0
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))
