"""Inline markup of AsciiDoc: plain text, with code in backticks.

Every pattern is bounded in length, so that unclosed marks take linear time.
"""

import re
from collections.abc import Callable
from html import unescape

from surefind.text.formats.asciidoc.attributes import Attributes

Keep = Callable[[str], str]
_LONGEST = 500
_MARKUP = re.compile(r"[^\w\s.,;!?-]|_")
_SET_ASIDE = "\ue000{}\ue001"
_KEPT = re.compile("\ue000(\\d{1,9})\ue001")
_PASS = re.compile(
    r"\+\+\+(.{1,500}?)\+\+\+|\$\$(.{1,500}?)\$\$|(?<!\w)pass:[a-z,]{0,20}\[(.{0,500}?)(?<!\\)\]"
    r"|(?<![\w`])`\+(.{1,500}?)\+`(?![\w`])|\+\+(.{1,500}?)\+\+"
    r"|(?<![\w+\\])\+(\S|\S.{0,500}?\S)\+(?![\w+])",
    re.DOTALL,
)
_STEM = re.compile(r"(?:stem|latexmath|asciimath):[a-z,]{0,20}\[(.{0,500}?)(?<!\\)\]", re.DOTALL)
_ROLE = r"(?:\[[^\]\[\n]{1,100}\])?"
_CODE_2 = re.compile(rf"{_ROLE}``(.{{1,{_LONGEST}}}?)``", re.DOTALL)
_QUOTES = re.compile(r"(?<![\w\\])(\"|')`(\S|\S.{0,500}?\S)`\1(?!\w)", re.DOTALL)
_CODE_1 = re.compile(
    rf"(?<![\w\\;:\"'}}`]){_ROLE}`(\S|\S.{{0,{_LONGEST}}}?\S)`(?![\w\"'`])", re.DOTALL
)
_MARKS_2 = [
    re.compile(rf"(?<!\\){_ROLE}{mark}(.{{1,{_LONGEST}}}?){mark}", re.DOTALL)
    for mark in (r"\*\*", "__", "##")
]
_MARKS_1 = [
    re.compile(
        rf"(?<![\w\\;:}}{mark}]){_ROLE}{mark}(\S|\S.{{0,{_LONGEST}}}?\S){mark}(?!\w)", re.DOTALL
    )
    for mark in (r"\*", "_", "#")
]
_SCRIPTS = [re.compile(rf"(?<!\\)\{mark}([^\s\{mark}]{{1,200}})\{mark}") for mark in "^~"]
_ESCAPED = re.compile(r"\\(?=[*_`#^~+\"'<\[({&]|https?:|[a-z]{2,12}:{1,2}\S)")
_HARD_BREAK = re.compile(r"[ \t]\+[ \t]*$", re.MULTILINE)

_TEXT = r"\[((?:[^\]\\]|\\.){0,2000}+)\]"
_LINK = re.compile(rf"(?<![\w/])(?:link:|mailto:)([^\s\[]{{0,2000}}+){_TEXT}", re.DOTALL)
_URL = re.compile(
    rf"(?:&lt;|<)?\b((?:https?|ftp|irc)://[^\s\[\]<>\"]{{1,2000}})(?:{_TEXT}|>)?", re.DOTALL
)
_XREF = re.compile(rf"(?<!\w)xref:([^\s\[]{{0,500}}){_TEXT}", re.DOTALL)
_REFERENCE = re.compile(r"<<([^<>,\n]{1,200})(?:,\s{0,9}([^<>]{1,500}?))?>>")
_UI = re.compile(rf"(?<!\w)(?:kbd|btn):{_TEXT}")
_MENU = re.compile(rf"(?<!\w)menu:([^\[\n]{{1,200}}){_TEXT}")
_IMAGE = re.compile(rf"(?<!\w)(?:image|icon):(?!:)([^\s\[]{{1,500}}){_TEXT}")
_FOOTNOTE = re.compile(rf"(?:footnote|footnoteref):([\w-]{{0,100}}){_TEXT}", re.DOTALL)
_ANCHOR = re.compile(r"\[\[([^\]\[\n]{1,200})\]\]|(?<!\w)anchor:([^\s\[]{1,200})\[[^\]\n]{0,200}\]")
_HIDDEN_TERM = re.compile(r"\(\(\([^()\n]{0,500}\)\)\)|(?<!\w)indexterm:\[[^\]\n]{0,500}\]")
_TERM = re.compile(r"\(\(([^()\n]{1,500})\)\)|(?<!\w)indexterm2:\[([^\]\n]{1,500})\]")
_CUSTOM_ATTRIBUTES = re.compile(r"^[\w-]+=|,\s*(?:window|role|opts|id|title|width)=|[\"']")
_SYMBOLS = {"(C)": "©", "(R)": "®", "(TM)": "™"}
_ENTITY = re.compile(r"&(?:[a-z]{2,9}\d{0,2}|#\d{2,6}|#x[\da-f]{2,5});", re.IGNORECASE)


class Inline:
    """Converts inline text. `titles` gives the titles of sections by their ids."""

    def __init__(self, attributes: Attributes, titles: dict[str, str]) -> None:
        self._attributes = attributes
        self._titles = titles
        self.ids: list[str] = []
        self.links: list[str] = []

    def name(self, anchor: str, title: str) -> None:
        """Give a title to references to an anchor."""
        if title:
            self._titles.setdefault(anchor, title)

    def convert(self, text: str) -> str:
        if _MARKUP.search(text) is None:
            return text
        kept: list[str] = []

        def keep(words: str) -> str:
            kept.append(words)
            return _SET_ASIDE.format(len(kept) - 1)

        text = text.replace("\ue000", "").replace("\ue001", "")
        text = self._set_aside(text, keep)
        text = _quotes(text, keep)
        text = self._attributes.expand(text)
        text = self._macros(text)
        text = _HARD_BREAK.sub("", text)
        if "(" in text:
            for name, sign in _SYMBOLS.items():
                text = text.replace(name, sign)
        text = _ENTITY.sub(lambda found: unescape(found[0]), _ESCAPED.sub("", text))
        for _ in range(4):  # code may contain text that was set aside
            if "\ue000" not in text:
                break
            text = _KEPT.sub(lambda found: kept[int(found[1])], text)
        return text

    def _set_aside(self, text: str, keep: Keep) -> str:
        text = _STEM.sub(lambda found: keep(found[1]), text)
        if "+" not in text and "$$" not in text and "pass:" not in text:
            return text

        def passed(found: re.Match[str]) -> str:
            inner = next(group for group in found.groups() if group is not None)
            return keep(_code(inner) if found[4] is not None else inner)

        return _PASS.sub(passed, text)

    def _macros(self, text: str) -> str:
        if "((" in text or "indexterm" in text:
            text = _HIDDEN_TERM.sub("", text)
            text = _TERM.sub(lambda found: (found[1] or found[2]).split(",")[0], text)
        if "[" in text:
            text = self._bracketed(text)
        text = _URL.sub(lambda found: self._link(found[1], found[2]), text)
        if "<<" in text:
            text = _REFERENCE.sub(lambda found: self._reference(found[1], found[2]), text)
        return text

    def _bracketed(self, text: str) -> str:
        text = _ANCHOR.sub(self._anchor, text)
        text = _LINK.sub(lambda found: self._link(found[1], found[2]), text)
        text = _XREF.sub(lambda found: self._reference(found[1], found[2]), text)
        text = _UI.sub(lambda found: _unescaped(found[1]), text)
        text = _MENU.sub(lambda found: " > ".join(filter(None, (found[1], found[2]))), text)
        text = _IMAGE.sub(lambda found: _first(found[2].split(",")[0]), text)
        return _FOOTNOTE.sub(lambda found: f" ({found[2].strip()})" if found[2] else "", text)

    def _anchor(self, found: re.Match[str]) -> str:
        self.ids.append((found[1] or found[2]).split(",")[0])
        return ""

    def _link(self, target: str, words: str | None) -> str:
        tail = ""
        if words is None:
            whole, target = target, target.rstrip(".,;:!?)")
            tail = whole[len(target) :]
        self.links.append(target)
        shown = _first(words or "").removesuffix("^").strip()
        return (shown or target) + tail

    def _reference(self, target: str, words: str | None) -> str:
        target = target.strip()
        shown = _unescaped(words or "").strip()
        if shown and not _CUSTOM_ATTRIBUTES.match(shown):
            return shown
        own = target.rpartition("#")[2] or target
        return (
            self._titles.get(own)
            or self._titles.get(own.lower())
            or (target if re.search(r"[.:]", target) else f"[{own}]")
        )


def _quotes(text: str, keep: Keep) -> str:
    """Code is set aside; other marks are removed."""
    if "`" in text:
        text = _QUOTES.sub(lambda f: f"“{f[2]}”" if f[1] == '"' else f"\u2018{f[2]}\u2019", text)
        for pattern in (_CODE_2, _CODE_1):
            text = pattern.sub(lambda found: keep(_code(_plain(found[1]))), text)
    return _plain(text)


def _plain(text: str) -> str:
    for mark, pattern in zip("*_#", _MARKS_2, strict=True):
        if mark * 2 in text:
            text = pattern.sub(r"\1", text)
    for mark, pattern in zip("*_#", _MARKS_1, strict=True):
        if mark in text:
            text = pattern.sub(r"\1", text)
    for mark, pattern in zip("^~", _SCRIPTS, strict=True):
        if mark in text:
            text = pattern.sub(r"\1", text)
    return text


def _code(words: str) -> str:
    ticks = "``" if "`" in words else "`"
    space = " " if "`" in words else ""
    return f"{ticks}{space}{words}{space}{ticks}"


def _first(words: str) -> str:
    """The text of a macro, without its attributes: `alt text` of `alt text,width=100`."""
    words = _unescaped(words)
    if words[:1] == '"' and '"' in words[1:]:
        return words[1 : words.index('"', 1)]
    found = re.search(r",\s*[\w-]+=|^[\w-]+=", words)
    return words[: found.start()] if found else words


def _unescaped(words: str) -> str:
    return words.replace("\\]", "]")
