"""Replaces raw HTML in Markdown by the text that readers see.

Tables, lists, preformatted text and plain links become Markdown. Other tags are dropped; their
content stays. Headings keep their tags, because anchors depend on them. Unknown tags, as in
`List<T>`, are text.
"""

import html
import re
from bisect import bisect_left
from collections.abc import Callable

from surefind.text.markdown.protected_spans import is_inside, protected_spans
from surefind.text.markdown.writer import guarded

_TAG = re.compile(
    r"<(/?)(a|abbr|address|article|aside|audio|b|bdi|bdo|big|blockquote|br|button|caption|center|cite"
    r"|col|colgroup|dd|del|details|dfn|dialog|div|dl|dt|em|embed|fieldset|figcaption|figure|font"
    r"|footer|form|h[1-6]|header|hr|i|iframe|img|ins|label|legend|li|main|mark|nav|noscript|object|ol"
    r"|p|picture|pre|q|s|samp|script|section|select|small|source|span|strike|strong|style|sub"
    r"|summary|sup|svg|table|tbody|td|tfoot|th|thead|time|tr|track|tt|u|ul|var|video|wbr|code|kbd)"
    r"((?:\s++[^\s\"'<>/=]++(?:\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'|[^\s\"'=<>`]++))?+)*+)\s*+/?>",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]")
_ALT = re.compile(r"\salt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_HREF = re.compile(r"\shref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_LINKED = re.compile(r"https?://[^\s()<>\\]+|(?!\w+:)[\w./#?][^\s()<>\\]*")
_LINK_TEXT = re.compile(r"[^\n\[\]`]*[^\s\[\]`][^\n\[\]`]*")
_FENCE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_MARGIN = re.compile(r"[ \t>]*")
_MARKED_UP = frozenset({"table", "pre", "ul", "ol", "dl"})
_UNSEEN = frozenset({"script", "style", "svg", "select", "object", "iframe", "audio", "video"})
_INSIDE_WORDS = frozenset(
    {
        *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i"),
        *(
            "ins",
            "kbd",
            "mark",
            "q",
            "s",
            "samp",
            "small",
            "span",
            "strike",
            "strong",
            "sub",
            "sup",
        ),
        *("time", "tt", "u", "var", "wbr"),
    }
)
_NEAR = 200

ToMarkdown = Callable[[str], str]
"""Converts a whole element of HTML."""


def without_raw_html(text: str, to_markdown: ToMarkdown) -> str:
    """Code and unknown tags stay as they are."""
    if _TAG.search(text) is None:
        return text
    return _HtmlInMarkdown(text, to_markdown).unwrapped()


class _HtmlInMarkdown:
    def __init__(self, text: str, to_markdown: ToMarkdown) -> None:
        self._text = text
        self._to_markdown = to_markdown
        self._fences = [fence.start() for fence in _FENCE.finditer(text)]
        self._done: list[str] = []

    def unwrapped(self) -> str:
        protected = list(protected_spans(self._text))
        starts = [start for start, _ in protected]
        tags = [
            tag
            for tag in _TAG.finditer(self._text)
            if not is_inside(tag.start(), protected, starts)
        ]
        partners = _partners(tags)
        position = 0
        for number, tag in enumerate(tags):
            if tag.start() < position:
                continue
            self._done.append(self._text[position : tag.start()])
            name, partner = tag[2].lower(), partners.get(number)
            position = tag.end()
            if tag[1]:
                self._done.append(_mark(name))
            elif name == "a" and (link := self._link(tag, tags[number + 1 : number + 2])):
                self._done.append(link)
                position = tags[number + 1].end()
            elif partner is not None and name in _UNSEEN:
                position = tags[partner].end()
            elif partner is not None and name in _MARKED_UP:
                position = self._element(tag, tags[partner])
            else:
                self._done.append(self._opening(name, tag))
        self._done.append(self._text[position:])
        return _without_gaps("".join(self._done))

    def _opening(self, name: str, tag: re.Match[str]) -> str:
        if name == "img":
            alt = _ALT.search(tag[3])
            return html.unescape(alt[1] or alt[2] or "") if alt else ""
        return _mark(name)

    def _link(self, opening: re.Match[str], following: list[re.Match[str]]) -> str:
        """A link in Markdown; empty for links with tags or brackets, and for other schemes."""
        if not following or not following[0][1] or following[0][2].lower() != "a":
            return ""
        words = self._text[opening.end() : following[0].start()]
        found = _HREF.search(opening[3])
        target = html.unescape(found[1] or found[2] or "").strip() if found else ""
        if not _LINKED.fullmatch(target) or not _LINK_TEXT.fullmatch(words):
            return ""
        return f"[{words}]({target})"

    def _element(self, opening: re.Match[str], closing: re.Match[str]) -> int:
        """Convert an element, unless Markdown in it would be lost; return where it ends."""
        start, end = opening.start(), closing.end()
        if bisect_left(self._fences, end) > bisect_left(self._fences, start):
            self._done.append(_GAP)
            return opening.end()
        inside = self._text[start:end]
        before = self._text[max(0, start - _NEAR) : start].rpartition("\n")[2]
        margin = _MARGIN.match(before)
        indent = margin[0] if margin else ""
        written = self._to_markdown(inside).strip("\n").split("\n")
        lines = [
            f"{indent}{line}".rstrip() if number else line for number, line in enumerate(written)
        ]
        self._done.append(("\n\n" + indent if before.strip(" \t>") else "") + "\n".join(lines))
        after = self._text[end : end + _NEAR].partition("\n")[0]
        self._done.append("\n\n" + indent if after.strip() else "\n")
        return end


def _mark(name: str) -> str:
    if name in {"code", "tt", "samp"}:
        return _GRAVE
    return "" if name in _INSIDE_WORDS else _GAP


_GRAVE = "\0`"
_GAP = "\0 "
_GAPS = re.compile(r"[ \t]*\0[ \t\0]*")
_CODE = re.compile(r"\0`([^\0\n]*)\0`")


def _without_gaps(text: str) -> str:
    """Lines that had only tags are dropped, and words that a tag separated stay apart."""
    lines: list[str] = []
    in_list = in_html = False
    after_blank = True
    for line in text.split("\n"):
        if not line.strip():
            in_html, after_blank = False, True
            lines.append(line)
            continue
        in_html = in_html and not _FENCE.match(line)
        begins = line.lstrip(" \t")[:2] == _GAP
        if "\0" not in line and not in_html:
            in_list = _LIST_ITEM.match(line) is not None or (
                in_list and not (after_blank and line[0] not in " \t")
            )
            after_blank = False
            lines.append(line)
            continue
        in_html = in_html or begins
        shown = _CODE.sub(_as_code, line).replace(_GRAVE, "").replace(_GAP, "\0")
        words = _GAPS.sub(" ", shown).strip()
        margin = line[: len(line) - len(line.lstrip(" \t"))] if in_list or not in_html else ""
        if words:
            lines.append(margin + (guarded(words) if in_html else words))
        elif lines and lines[-1].strip():
            lines.append("")
        after_blank = False
    return "\n".join(lines)


def _as_code(span: re.Match[str]) -> str:
    words = html.unescape(span[1]).strip()
    ticks = "`" * (max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    space = " " if "`" in words else ""
    return f"{ticks}{space}{words}{space}{ticks}" if words else ""


def _partners(tags: list[re.Match[str]]) -> dict[int, int]:
    """The closing tag of each opening one that has to be read as a whole."""
    waiting: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    for number, tag in enumerate(tags):
        name = tag[2].lower()
        if name not in _MARKED_UP | _UNSEEN:
            continue
        if not tag[1]:
            waiting.setdefault(name, []).append(number)
        elif waiting.get(name):
            found[waiting[name].pop()] = number
    return found
