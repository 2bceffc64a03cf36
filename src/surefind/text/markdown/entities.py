"""Replaces character references such as `&nbsp;` and `&lt;` by what readers see."""

import html
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from surefind.text.markdown.protected_spans import protected_spans

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CODE_SPAN = re.compile(r"(?<!`)`++[^`]++`++")
_BLANK = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|#160|#x0*[aA]0);")
_MARKUP = frozenset("*_`[]\\~|")
_AT_LINE_START = frozenset("#>-+=")
_TAG_START = re.compile(r"[A-Za-z/!?]")
_END_OF_ENTITY = re.compile(r"#?[A-Za-z0-9]{1,32};")
_LINE_BREAKS = frozenset("\u00ad\u200b\u2060\ufeff")  # invisible: where a line may break or not
_IN_ATTRIBUTES = frozenset("{}")
_MARGIN = 100
_MAX_BACKSLASHES = 10


def without_entities(text: str) -> str:
    """Characters that Markdown would read as markup get a backslash. Code stays as it is."""
    if _ENTITY.search(text) is None:
        return text
    done: list[str] = []
    borders = [0, *(border for span in protected_spans(text) for border in span), len(text)]
    for number, (start, end) in enumerate(pairwise(borders)):
        if number % 2 == 0:
            done += _replaced(text, start, end, _in_prose)
        elif text[start : start + 4].lstrip(" ")[:1] == "#":
            for code in _CODE_SPAN.finditer(text, start, end):
                done += (*_replaced(text, start, code.start(), _in_heading), code[0])
                start = code.end()  # noqa: PLW2901
            done += _replaced(text, start, end, _in_heading)
        else:
            done.append(text[start:end])
    return "".join(done)


def _replaced(
    text: str, start: int, end: int, shown: Callable[[re.Match[str]], str]
) -> Iterator[str]:
    for entity in _ENTITY.finditer(text, start, end):
        yield text[start : entity.start()]
        yield entity[0] if _is_escaped(text, entity.start()) else shown(entity)
        start = entity.end()
    yield text[start:end]


def _in_prose(entity: re.Match[str]) -> str:
    shown = html.unescape(entity[0])
    if shown in _LINE_BREAKS:
        return ""
    text, start = entity.string, entity.start()
    before, border, margin = text[max(0, start - _MARGIN) : start].rpartition("\n")
    leads = not _BLANK.sub("", margin).strip(" \t>") and (
        bool(border) or len(before + margin) == start
    )
    if shown.isspace():
        return "" if leads else " "
    return _escaped(shown, entity, leads=leads)


def _in_heading(entity: re.Match[str]) -> str:
    """The very character, because the anchor depends on it."""
    shown = html.unescape(entity[0])
    if "\n" in shown or shown in _IN_ATTRIBUTES:
        return entity[0]
    return _escaped(shown, entity, leads=False)


def _escaped(shown: str, entity: re.Match[str], *, leads: bool) -> str:
    if shown == entity[0]:  # an unknown name
        return shown
    text, end = entity.string, entity.end()
    if shown == "_" and text[max(0, entity.start() - 1)].isalnum():
        return shown if text[end : end + 1].isalnum() else "\\_"
    misread = (
        shown in _MARKUP
        or (leads and shown in _AT_LINE_START)
        or (shown == "<" and _TAG_START.match(text, end) is not None)
        or (shown == "&" and _END_OF_ENTITY.match(text, end) is not None)
    )
    return f"\\{shown}" if misread else shown


def _is_escaped(text: str, start: int) -> bool:
    before = text[max(0, start - _MAX_BACKSLASHES) : start]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
