"""Turns the Markdown of Python-Markdown and PyMdown into plain Markdown.

Admonitions, tabs and other blocks become a line with their label and the unindented content.
Attribute lists, abbreviations and icons are dropped. Code stays unchanged but for its indentation.
"""

import re
from collections.abc import Callable, Collection

from surefind.text.markdown.writer import guarded

_TAB = 4
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]")
_NOTE = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]*([\w-]+(?:[ \t]+[\w-]+)*)(?:[ \t]+\"(.*?)\")?[ \t]*$")
_NOTE_TITLED = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]*()\"(.*?)\"[ \t]*$")
_TAB_TITLE = re.compile(r"===[!+]{0,2}[ \t]+(?:\"(.*?)\"|'(.*?)')[ \t]*$")
_BLOCK = re.compile(r"(/{3,})[ \t]*([\w-]*)(?:[ \t]*\|[ \t]*(.*?))?[ \t]*$")
_BLOCK_OPTION = re.compile(r"[ ]{4}[ \t]*[\w-]+:")
_ABBREVIATION = re.compile(r" {0,3}\*\[[^\]\\]*\] ?:")
_CONTENTS = re.compile(r" {0,3}\[TOC\][ \t]*$")
_DEFINITION = re.compile(r" {0,3}:[ \t]{1,3}(?=\S)")
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]+\]:[ \t]*")
_FOOTNOTE_MARK = re.compile(r"(?<!^)\[\^[^\]\s]+\](?!:)")
_HEADING = re.compile(r"(#{1,6})([^#\s].*)")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LANGUAGE = re.compile(r"(?:#!|:::)[\w+-]+[ \t]+(?=\S)")
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[\w-]+:")
_EMOJI = re.compile(r"(?<![\w:]):[a-z][\w+-]*:(?![\w:])")
_WORD = r"(?:[#.][^\s{}\"'=]+|[\w:@-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s\"'{}]+))"
_ATTRIBUTES = re.compile(rf"[ \t]*\{{:?[ \t]*{_WORD}(?:[ \t]+{_WORD})*+[ \t]*\}}")
_BARE_ATTRIBUTES = re.compile(r"(?<=[)\]`*_])\{:?[ \t]*[a-z-]+(?:[ \t]+[a-z-]+)*+[ \t]*\}")
_DEFINED = re.compile(r"^ {0,3}\[([^\[\]\n]{1,200})\]:", re.MULTILINE)
_SPLIT_REFERENCE = re.compile(r"\](?: |[ ]?\n[ \t]*)(?=\[([^\[\]\n]{1,200})\](?![(:]))")
_KEYS = re.compile(r"\+\+([\w-]{1,20}(?:\+(?:[\w-]{1,20}|\"[^\"\n]{1,20}\"))*)\+\+")
_UNLABELLED = {"caption", "html", "define", "definition", "figure-caption", "table-caption"}
_KEPT = "\0"


def plain_markdown(text: str, extensions: Collection[str]) -> str:
    """`extensions` are the names of the site's Markdown extensions."""
    page = _Page(extensions)
    for line in _with_joined_references(text).split("\n"):
        page.add(line)
    return "\n".join(page.lines)


def _with_joined_references(text: str) -> str:
    """`[text]` and its `[name]` may be separated by a space or a line break in Python-Markdown."""
    defined = {name.lower() for name in _DEFINED.findall(text)}
    if not defined:
        return text
    return _SPLIT_REFERENCE.sub(lambda gap: "]" if gap[1].lower() in defined else gap[0], text)


class _Page:
    """Reads lines; `_inside` holds the indentation that the content of each open block has."""

    def __init__(self, extensions: Collection[str]) -> None:
        self.lines: list[str] = []
        self._inside: list[int] = []
        self._fence = ""
        self._in_list = False
        self._in_indented = False  # code by its indentation
        self._after_label = False
        self._after_blank = True
        self._options = False  # directly after the opening of a `///` block
        notes = {"admonition", "pymdownx.details"} & set(extensions)
        blocks = any(name.startswith("pymdownx.blocks.") for name in extensions)
        self._openings: list[Callable[[str], str | None]] = []
        if notes:
            self._openings.append(_note)
        if "pymdownx.tabbed" in extensions:
            self._openings.append(_tab)
        self._has_blocks = blocks
        self._drops = [_CONTENTS]
        if "abbr" in extensions:
            self._drops.append(_ABBREVIATION)
        self._has_lists = "attr_list" in extensions
        self._has_footnotes = "footnotes" in extensions
        self._has_keys = "pymdownx.keys" in extensions
        self._has_definitions = "def_list" in extensions
        self._has_icons = (
            "pymdownx.emoji" in extensions or "zensical.extensions.emoji" in extensions
        )
        self._has_languages = "pymdownx.inlinehilite" in extensions

    def add(self, line: str) -> None:
        if self._fence:
            self._code(self._without_margin(line))
            return
        if not line or line.isspace():
            self._after_blank = True
            self._options = False
            if not self._after_label:
                self.lines.append("")
            return
        indent = _indent(line)
        while self._inside and indent < self._inside[-1]:
            self._inside.pop()
            self._after_label = False
            self._blank()
        self._line(self._without_margin(line))
        self._after_blank = False

    def _line(self, line: str) -> None:
        if self._options and _BLOCK_OPTION.match(line):
            return
        self._options = False
        begins = self._in_indented or (self._after_blank and not self._in_list)
        self._in_indented = begins and _indent(line) >= _TAB
        if self._in_indented:
            self._write(line)
            return
        if _LIST_ITEM.match(line):
            self._in_list = True
        elif self._after_blank and line[0] not in " \t":
            self._in_list = False
        definition = _DEFINITION.match(line) if self._has_definitions else None
        if definition is not None:  # its further blocks are indented
            self._inside.append(self._margin() + _TAB)
            self._blank()
            line = line[definition.end() :]
        fence = _FENCE.match(line)
        if fence is not None:
            self._fence = fence[1]
            self._write(line)
        elif not self._opens(line) and not any(drop.match(line) for drop in self._drops):
            self._prose(line)

    def _opens(self, line: str) -> bool:
        """Whether the line is the border of a block; its label is written."""
        words = line.lstrip(" \t")
        margin = line[: len(line) - len(words)]
        if words[0] in "!?=":
            for opening in self._openings:
                label = opening(words)
                if label is not None:
                    self._inside.append(self._margin() + _indent(line) + _TAB)
                    self._label(margin, label)
                    return True
        elif words[0] == "/" and self._has_blocks:
            block = _BLOCK.match(words)
            if block is not None:
                self._border(margin, block)
                return True
        return False

    def _border(self, margin: str, block: re.Match[str]) -> None:
        kind, title = block[2], (block[3] or "").strip()
        if not kind:
            self._after_label = False
            self._blank()
            return
        name = "" if kind in {"tab", *_UNLABELLED} else _named(kind, "")
        title = "" if kind in _UNLABELLED else title
        self._label(margin, ": ".join(filter(None, (name, title))))
        self._options = True

    def _label(self, margin: str, label: str) -> None:
        self._after_label = False
        self._blank()
        if label:
            self.lines.append(margin + self._inline(label))
            self._after_label = True
        self._after_blank = False

    def _prose(self, line: str) -> None:
        heading = _HEADING.fullmatch(line)
        if heading is not None:  # Python-Markdown needs no space after the marks
            line = f"{heading[1]} {heading[2]}"
        if self._has_footnotes:
            line = _FOOTNOTE.sub("", line, count=1)
        cleaned = self._inline(line)
        if cleaned.strip():
            self._write(cleaned if cleaned == line else cleaned.rstrip())

    def _inline(self, line: str) -> str:
        if not (set("{[:`+") & set(line)):
            return line
        spans: list[str] = []

        def keep(span: re.Match[str]) -> str:
            ticks, code = span[1], span[2]
            if self._has_languages:
                code = _LANGUAGE.sub("", code, count=1)
            spans.append(f"{ticks}{code}{ticks}")
            return f"{_KEPT}{len(spans) - 1}{_KEPT}"

        line = _CODE_SPAN.sub(keep, line.replace(_KEPT, ""))
        if self._has_icons:
            line = (_EMOJI if line.startswith("#") else _ICON).sub("", line)
        if self._has_keys:
            line = _KEYS.sub(_key_names, line)
        if self._has_footnotes:
            line = _FOOTNOTE_MARK.sub("", line)
        if self._has_lists and not line.startswith("#"):
            line = _BARE_ATTRIBUTES.sub("", _ATTRIBUTES.sub("", line))
        for number, span in enumerate(spans):
            line = line.replace(f"{_KEPT}{number}{_KEPT}", span)
        return line

    def _code(self, line: str) -> None:
        self.lines.append(line)
        marks = line.strip(" \t>")
        if marks.startswith(self._fence) and not marks.strip(self._fence[0]):
            self._fence = ""
            self._after_blank = False

    def _write(self, line: str) -> None:
        self.lines.append(guarded(line) if self._after_label and line[0] in "=-" else line)
        self._after_label = False

    def _blank(self) -> None:
        if self.lines and self.lines[-1].strip():
            self.lines.append("")

    def _margin(self) -> int:
        return _TAB * len(self._inside)

    def _without_margin(self, line: str) -> str:
        """Remove the indentation of the open blocks, but none of other lines' words."""
        margin = self._margin()
        if not margin or not line:
            return line
        if line[:margin].isspace() and "\t" not in line[:margin]:
            return line[margin:]
        words = line.lstrip(" \t")
        return " " * max(0, _indent(line) - margin) + words


def _note(words: str) -> str | None:
    found = _NOTE.match(words) or _NOTE_TITLED.match(words)
    if found is None:
        return None
    kind = found[1].split(" ", 1)[0]
    if found[2] == "":
        return ""
    return _named(kind, found[2] or "")


def _tab(words: str) -> str | None:
    found = _TAB_TITLE.match(words)
    return None if found is None else found[1] or found[2] or ""


def _named(kind: str, title: str) -> str:
    """`Warning: Title`, as in other sites' admonitions."""
    name = kind.replace("-", " ").capitalize()
    return ": ".join(filter(None, dict.fromkeys((name, title))))


def _key_names(keys: re.Match[str]) -> str:
    """`++ctrl+arrow-up++` is shown as Ctrl+Up."""
    return "+".join(
        name.strip('"') if '"' in name else name.removeprefix("arrow-").replace("-", " ").title()
        for name in keys[1].split("+")
    )


def _indent(line: str) -> int:
    if line[0] not in " \t":
        return 0
    expanded = line.expandtabs(_TAB)
    return len(expanded) - len(expanded.lstrip(" "))
