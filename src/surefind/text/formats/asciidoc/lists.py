"""Recognizes the items of lists."""

import re
from dataclasses import dataclass

_UNORDERED = re.compile(r"[ \t]*(-|\*{1,5}|•)[ \t]+(?=\S)(.*)$")
_ORDERED = re.compile(r"[ \t]*(\.{1,5}|\d{1,9}\.|[a-zA-Z]\.|[ivxIVX]{1,9}\))[ \t]+(?=\S)(.*)$")
_CALLOUT = re.compile(r"<(\d{1,4}|\.)>[ \t]+(?=\S)(.*)$")
_DESCRIBED = re.compile(r"(?!//)[ \t]*(\S(?:[^\n]{0,1000}?\S)??)(:::?:?|;;)(?:[ \t]+(\S.*))?$")
_CHECK = re.compile(r"\[([ x*])\][ \t]+")


@dataclass(frozen=True, slots=True)
class ListItem:
    """`kind` identifies the level: items with the same kind belong to the same list."""

    kind: str
    text: str
    term: str = ""

    @property
    def is_ordered(self) -> bool:
        return self.kind[0] == "o"


def item_of(line: str) -> ListItem | None:
    """The list item that begins in a line."""
    if line[:1] in {"", "/", "[", "|"}:
        return None
    found = _UNORDERED.match(line)
    if found:
        text = _CHECK.sub(lambda box: "✓ " if box[1] != " " else "☐ ", found[2], count=1)
        return ListItem(f"u{found[1]}", text)
    found = _ORDERED.match(line)
    if found:
        mark = found[1]
        kind = mark if mark.startswith(".") else "1." if mark[0].isdecimal() else f"a{mark[-1]}"
        return ListItem(f"o{kind}", found[2])
    found = _CALLOUT.match(line)
    if found:
        return ListItem("o<>", found[2])
    found = _DESCRIBED.match(line) if "::" in line or ";;" in line else None
    if found and not found[1].endswith(":"):
        return ListItem(f"d{found[2]}", found[3] or "", found[1])
    return None
