"""Locates code and headings in Markdown, which replacements in prose leave alone."""

import re
from bisect import bisect_right
from collections.abc import Iterator

_PROTECTED = re.compile(
    r"^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|^[ ]{0,3}#{1,6}[ \t].*$|(?P<ticks>(?<!`)`+(?!`))|\\<",
    re.MULTILINE,
)
_LIST_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]")
_MAY_INDENT = re.compile(r"(?:\A|\n)[ \t]*\n(?:[ ]{4}|\t)|\A(?:[ ]{4}|\t)")
_MAX_SPAN = 2_000  # characters of a code span
_CODE_INDENT = 4


def is_inside(start: int, spans: list[tuple[int, int]], starts: list[int]) -> bool:
    """Whether an offset is in one of the sorted spans, which begin at `starts`."""
    number = bisect_right(starts, start) - 1
    return number >= 0 and start < spans[number][1]


def protected_spans(text: str) -> Iterator[tuple[int, int]]:
    """Fenced and indented code, code spans, headings and escaped brackets, in order."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer(r"`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    indented = list(_indented_code(text))
    starts = [start for start, _ in indented]
    spans = []
    position = 0
    while (found := _PROTECTED.search(text, position)) is not None:
        position = found.end()
        if is_inside(found.start(), indented, starts):
            continue
        if found["fence"]:
            fence = found["fence"]
            closing = re.compile(
                rf"^[ \t>]*{fence[0]}{{{len(fence)},}}[ \t]*$", re.MULTILINE
            ).search(text, found.end())
            position = len(text) if closing is None else closing.end()
        elif found["ticks"]:
            places = runs[len(found["ticks"])]
            after = bisect_right(places, found.start())
            if after == len(places) or places[after] - position > _MAX_SPAN:
                continue
            if "\n\n" in text[position : places[after]]:
                continue
            position = places[after] + len(found["ticks"])
        spans.append((found.start(), position))
    yield from sorted([*spans, *indented])


def _indented_code(text: str) -> Iterator[tuple[int, int]]:
    if _MAY_INDENT.search(text) is None:
        return
    after_blank, in_list, in_code = True, False, False
    start = 0
    for line in text.split("\n"):
        end = start + len(line) + 1
        if not line or line.isspace():
            after_blank = True
        else:
            indent = 0
            if line[0] in " \t":
                expanded = line.expandtabs(_CODE_INDENT)
                indent = len(expanded) - len(expanded.lstrip(" "))
            in_code = (in_code or (after_blank and not in_list)) and indent >= _CODE_INDENT
            if in_code:
                yield start, end
            elif _LIST_ITEM.match(line):
                in_list = True
            elif after_blank and not indent:
                in_list = False
            after_blank = False
        start = end
