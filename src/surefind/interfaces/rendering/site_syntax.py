"""Rewrites the syntax that site generators add to Markdown as Markdown, line by line.

Admonitions, tabs and blocks become a bold label and their content. The number of lines stays the
same, so lines of the result are lines of the source.
"""

import re

_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_COLONS = re.compile(r"([ \t>]*):{3,}[ \t]*(?:\{?([\w-]+)\}?)?(?:\[(.*)\]|[ \t]+(.*?))?[ \t]*$")
_SLASHES = re.compile(r"([ \t]*)/{3,}[ \t]*(?:([\w-]+)(?:[ \t]*\|[ \t]*(.*?))?)?[ \t]*$")
_SLASHES_OPTION = re.compile(r"[ ]{4}[ \t]*[\w-]+:")
_NOTE = re.compile(
    r"([ \t]*)(?:!!!|\?\?\?\+?)[ \t]*([\w-]*)(?:[ \t]+[\w-]+)*(?:[ \t]*\"(.*?)\")?[ \t]*$"
)
_TAB = re.compile(r"([ \t]*)===[!+]{0,2}[ \t]+()[\"'](.*?)[\"'][ \t]*$")
_ALERT = re.compile(r"([ \t]*>[ \t]*)\[!(\w+)\][+-]?[ \t]*(.*)$")
_MODULE = re.compile(r"(?:import\s.*\sfrom\s|import\s|export\s.*\sfrom\s)['\"][^'\"]+['\"];?\s*$")
_SHORTCODE = re.compile(r"\{\{[<%].*?[%>]\}\}")
_CONTENTS = re.compile(r"[ \t]*(?:\[TOC\]|\[\[toc\]\]|\{\{[ ]?toc[ ]?\}\})[ \t]*$", re.IGNORECASE)
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[\w-]+:")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}\]:?")
_TASK = re.compile(r"(?<=[-+*] )\[([ xX])\](?=\s)")
_WORD = r"(?:[#.][^\s{}\"'=]+|[\w:@-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s\"'{}]+))"
_ATTRIBUTES = re.compile(rf"[ \t]*\{{:?[ \t]*{_WORD}(?:[ \t]+{_WORD})*+[ \t]*\}}")
_COMMENTED_ID = re.compile(r"\{/\*[ \t]*#[^\s{}*]+[ \t]*\*/\}")
_CODE_SPANS = re.compile(r"((?<!`)`++[^`]++`++)")
_TAB_WIDTH = 4
_UNLABELLED = frozenset(
    {"caption", "code-group", "define", "definition", "figure-caption", "html", "tab"}
    | {"table-caption", "tabs"}
)


def without_site_syntax(text: str) -> str:
    page = _SiteSyntax()
    return "\n".join([page.read(line) for line in text.split("\n")])


class _SiteSyntax:
    """`_inside` holds the margin of the content of each open indented block."""

    def __init__(self) -> None:
        self._inside: list[int] = []
        self._fence = ""
        self._options = False

    def read(self, line: str) -> str:
        if self._fence:
            return self._code(self._dedented(line))
        if not line.strip():
            self._options = False
            return ""
        indent = _indent(line)
        while self._inside and indent < self._inside[-1]:
            self._inside.pop()
        line = self._dedented(line)
        fence = _FENCE.match(line)
        if fence is not None:
            self._fence = fence[1]
            return line
        return self._prose(line)

    def _code(self, line: str) -> str:
        marks = line.strip(" \t>")
        if marks.startswith(self._fence) and not marks.strip(self._fence[0]):
            self._fence = ""
        return line

    def _prose(self, line: str) -> str:
        first = line.lstrip(" \t>")[:1]
        if self._options and _SLASHES_OPTION.match(line):
            return ""
        self._options = False
        if first in ":/" and (block := _COLONS.match(line) or _SLASHES.match(line)):
            self._options = line.lstrip().startswith("/")
            title = next(filter(None, block.groups()[2:]), "")
            return _label(block[1], block[2] or "", title)
        if first in "!?=" and (note := _NOTE.match(line) or _TAB.match(line)):
            self._inside.append(_indent(line) + _TAB_WIDTH * (1 + len(self._inside)))
            return _label(note[1], note[2], note[3] or "")
        if first == "[" and (alert := _ALERT.match(line)):
            return _label(alert[1], alert[2].lower(), alert[3])
        if _CONTENTS.match(line) or _MODULE.match(line):
            return ""
        return _apart(line)

    def _dedented(self, line: str) -> str:
        margin = _TAB_WIDTH * len(self._inside)
        indented = margin and _indent(line) >= margin
        return line.expandtabs(_TAB_WIDTH)[margin:] if indented else line


def _apart(line: str) -> str:
    """Cleans the parts of a line that are not code."""
    parts = _CODE_SPANS.split(line)
    return "".join(part if at % 2 else _inline(part) for at, part in enumerate(parts))


def _inline(part: str) -> str:
    if not set("{[:") & set(part):
        return part
    part = _SHORTCODE.sub("", _COMMENTED_ID.sub("", part))
    part = _TASK.sub(lambda box: "☐" if box[1] == " " else "☑", part)
    return _FOOTNOTE.sub("", _ICON.sub("", _ATTRIBUTES.sub("", part)))


def _label(margin: str, kind: str, title: str) -> str:
    """`**Tip: Title**` and a line break; nothing for the end of a block."""
    name = "" if kind in _UNLABELLED or (kind == "details" and title) else kind
    label = ": ".join(filter(None, dict.fromkeys((name.replace("-", " ").capitalize(), title))))
    return f"{margin}**{_inline(label)}**  " if label else margin.rstrip(" \t")


def _indent(line: str) -> int:
    expanded = line.expandtabs(_TAB_WIDTH)
    return len(expanded) - len(expanded.lstrip(" "))
