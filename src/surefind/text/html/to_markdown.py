"""Converts the main content of an HTML page to Markdown.

The tree is walked iteratively, because pages can be nested arbitrarily deep.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from surefind.errors import InputError
from surefind.text.html.content import (
    anchor_of,
    content_root,
    is_dropped,
    is_layout,
    language_of,
    text_of,
)
from surefind.text.html.facts import is_too_deep, read_head
from surefind.text.markdown.blocks import TITLE_LENGTH, escaped_tags, plain
from surefind.text.markdown.writer import MarkdownWriter, fenced, guarded

_LEAST_SHARE = 3  # a content root with less than a third of the page's words is implausible
_WHITE_SPACE = re.compile(r"[ \t\n\r\f]+")
_AROUND_BREAK = re.compile(r" *\n[ \n]*")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "label", "mark", "math", "mn", "mi", "mo", "mrow", "msub", "msup", "q"),
    *("rp", "rt", "ruby", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "u"),
    *("var", "wbr"),
}
_MAX_COLUMNS = 100
# Same tags as in passages.js: text that starts and ends with them is HTML. So is a fragment that
# contains a whole element, unless it also contains Markdown.
_TAGS = "article|blockquote|body|div|h[1-6]|html|main|ol|p|pre|section|span|table|ul"
_IS_HTML = re.compile(rf"\s*(?:<!doctype[^>]*>\s*)?<(?:{_TAGS})(?:\s[^<>]*)?>", re.IGNORECASE)
_ENDS_AS_HTML = re.compile(rf"</(?:{_TAGS})>\s*\Z", re.IGNORECASE)
_ELEMENT = re.compile(
    r"<(a|b|code|dd|dt|em|h[1-6]|i|li|p|span|strong|td|th|u)(?:\s[^<>]*)?>[^<]*\S[^<]*</\1>",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(
    r"`|\]\(|\*\*|^[ \t]*(?:#{1,6}[ \t]|[-*+|>]|\d{1,9}[.)][ \t]|~~~)", re.MULTILINE
)
_BLANK_LINES = re.compile(r"\n(?:[ \t\r]*\n)+")


@dataclass(frozen=True, slots=True)
class HtmlPage:
    text: str
    title: str = ""
    canonical_url: str = ""
    description: str = ""
    language: str = ""


def html_to_markdown(html: str) -> HtmlPage:
    """Convert a page; InputError if its elements are nested too deeply."""
    if is_too_deep(html):
        raise InputError("its elements are nested too deeply; close those that are left open")
    tree = LexborHTMLParser(html)
    text, top_heading = _content(tree)
    head = read_head(tree)
    return HtmlPage(
        text, top_heading or head.title, head.canonical, head.description, head.language
    )


def readable(text: str) -> str:
    """Convert a passage that is stored as HTML; other text is returned unchanged."""
    if _IS_HTML.match(text) and _ENDS_AS_HTML.search(text):
        html = text
    elif _ELEMENT.search(text) and not _MARKDOWN.search(text):
        html = text if "<pre" in text.lower() else _BLANK_LINES.sub("<p>", text)
    else:
        return text
    try:
        return html_to_markdown(html).text.strip() or text
    except InputError:  # nested too deeply
        return text


def _content(tree: LexborHTMLParser) -> tuple[str, str]:
    """(text, top heading) of the content, or of the whole body if no content is found."""
    if tree.body is None:
        return "", ""
    whole = _Converter().convert(tree.body)
    root = content_root(tree)
    if root is None:
        return whole
    part = _Converter().convert(root)
    holds_enough = len(part[0].split()) * _LEAST_SHARE >= len(whole[0].split())
    return part if holds_enough else whole


_Exit = Callable[[], None]


class _Converter:
    """Walks a tree once, with an action before and after the children of each element."""

    def __init__(self) -> None:
        self._writer = MarkdownWriter()
        self._words: list[str] = []
        self._lists: list[int | None] = []  # the number of the next item; None for bullets
        self._rows: list[list[str]] | None = None  # of the table that is open
        self._in_cell = False
        self._top_heading = ""
        self._openers: Mapping[str, Callable[[LexborNode], _Exit | None]] = {
            **dict.fromkeys(_HEADINGS, self._heading),
            **dict.fromkeys(("code", "samp", "tt"), self._inline_code),
            **dict.fromkeys(("ul", "menu", "ol", "dir"), self._list),
            **dict.fromkeys(("td", "th"), self._cell),
            "blockquote": self._quote,
            "br": self._break,
            "dd": self._definition,
            "img": self._image,
            "li": self._item,
            "pre": self._pre,
            "table": self._table,
            "tr": self._row,
        }

    def convert(self, root: LexborNode) -> tuple[str, str]:
        exits: list[_Exit] = []
        node: LexborNode | None = root
        while node is not None:
            leave = self._enter(node)
            if leave is not None and node.child is not None:
                exits.append(leave)
                node = node.child
                continue
            if leave is not None:
                leave()
            while node is not None and exits and node.next is None:
                node = node.parent
                exits.pop()()
            node = node.next if node is not None and exits else None
        self._flush()
        return self._writer.text(), self._top_heading

    def _enter(self, node: LexborNode) -> _Exit | None:
        """The action after the children; None to skip them."""
        tag = node.tag or ""
        if tag == "-text":
            self._words.append(_WHITE_SPACE.sub(" ", node.text_content or ""))
            return None
        if not node.is_element_node or is_dropped(node, tag):
            return None
        if tag in _INLINE:
            return _nothing
        opener = self._openers.get(tag)
        if opener is not None:
            return opener(node)
        self._flush()
        return self._flush

    def _flush(self) -> None:
        """End a paragraph; in a table cell, which is one line, only a word."""
        if self._in_cell:
            self._words.append(" ")
            return
        lines = [guarded(line) for line in self._inline_text().split("\n") if line]
        if lines:
            self._writer.block(lines)

    def _inline_text(self) -> str:
        words = _AROUND_BREAK.sub("\n", re.sub(" +", " ", "".join(self._words))).strip()
        self._words = []
        return words

    def _heading(self, node: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush

        def leave() -> None:
            title = self._inline_text().replace("\n", " ")
            if title:
                anchor = anchor_of(node)
                level = _HEADINGS[node.tag or ""]
                title = escaped_tags(title)
                if level == 1 and not self._top_heading:
                    self._top_heading = plain(title[:TITLE_LENGTH])
                if title.endswith("#") and not anchor:  # it would be parsed as a closing sequence
                    title = f"{title[:-1]}\\#"
                ending = f" {{#{anchor}}}" if anchor else ""
                self._writer.block([f"{'#' * level} {title}{ending}"])

        return leave

    def _inline_code(self, node: LexborNode) -> None:
        code = _WHITE_SPACE.sub(" ", text_of(node)).strip()
        if code:
            ticks = "`" * (max((len(run) for run in re.findall("`+", code)), default=0) + 1)
            space = " " if "`" in code else ""
            self._words.append(f"{ticks}{space}{code}{space}{ticks}")

    def _pre(self, node: LexborNode) -> None:
        if self._in_cell:
            self._inline_code(node)
            return
        self._flush()
        code = text_of(node).strip("\n")
        if code.strip():
            self._writer.block(fenced(code.rstrip(), language_of(node)).split("\n"))

    def _list(self, node: LexborNode) -> _Exit:
        nested = bool(self._lists)
        self._flush()
        start = node.attributes.get("start") or ""
        number = int(start) if start.isdecimal() and len(start) < 9 else 1
        self._lists.append(number if node.tag == "ol" else None)
        if nested and not self._in_cell:
            self._writer.stay_close()

        def leave() -> None:
            self._flush()
            self._lists.pop()
            self._writer.stay_close(close=False)

        return leave

    def _item(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        self._writer.open("- " if number is None else f"{number}. ")
        return self._leave_item

    def _leave_item(self) -> None:
        self._flush()
        self._writer.shut()
        self._writer.stay_close()

    def _definition(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush
        self._writer.open(": ", close=True)
        return self._leave_container

    def _quote(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush
        self._writer.open("> ")
        return self._leave_container

    def _leave_container(self) -> None:
        self._flush()
        self._writer.shut()

    def _break(self, _: LexborNode) -> None:
        self._words.append(" " if self._in_cell else "\n")

    def _image(self, node: LexborNode) -> None:
        self._words.append(_WHITE_SPACE.sub(" ", node.attributes.get("alt") or ""))

    def _table(self, node: LexborNode) -> _Exit:
        self._flush()
        if self._rows is not None or is_layout(node):
            return self._flush
        self._rows = []

        def leave() -> None:
            rows, self._rows, self._words = self._rows or [], None, []
            width = max((len(row) for row in rows), default=0)
            if any(cell for row in rows for cell in row):
                # Only the first row is padded: all rows would take time with width times height.
                rows[0] += [""] * (width - len(rows[0]))
                lines = ["| " + " | ".join(row) + " |" for row in rows]
                self._writer.block([lines[0], "|" + " --- |" * width, *lines[1:]])

        return leave

    def _row(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._rows is not None and not self._in_cell:
            self._rows.append([])
        return self._flush

    def _cell(self, node: LexborNode) -> _Exit:
        self._flush()
        if not self._rows or self._in_cell:
            return self._flush
        row, self._in_cell = self._rows[-1], True
        span = node.attributes.get("colspan") or ""
        columns = int(span) if span.isdecimal() and len(span) < 4 else 1

        def leave() -> None:
            self._in_cell = False
            row.append(self._inline_text().replace("\n", " ").replace("|", "\\|"))
            row.extend([""] * (min(columns, _MAX_COLUMNS) - 1))

        return leave


def _nothing() -> None:
    """The action after an inline element."""
