"""Tables of AsciiDoc as tables of Markdown."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_CELL = re.compile(
    r"(?:(?:^|(?<=[ \t\n]))(\d{1,4}\*|\d{0,3}(?:\.\d{1,3})?\+)?([<^>]?(?:\.[<^>])?)([a-demshlv])?)?"
    r"(?<!\\)\|"
)
_COLUMN = re.compile(r"(\d{1,3})\*")
_MAX_COLUMNS = 200
_MAX_COPIES = 100


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    columns: int
    style: str
    line: int


def table(
    lines: Sequence[str],
    options: dict[str, str],
    separator: str,
    convert: Callable[[str, str], str],
) -> str:
    """A table in Markdown. `convert` turns the text of a cell, with its style, into one line."""
    kind = options.get("format", {",": "csv", ":": "dsv"}.get(separator, "psv"))
    if kind in {"csv", "tsv", "dsv"}:
        mark = {"csv": ",", "tsv": "\t", "dsv": ":"}[kind]
        rows = [
            [_Cell(text, 1, "", 0) for text in row]
            for row in csv.reader(lines, delimiter=options.get("separator", mark)[:1] or mark)
            if row
        ]
    else:
        cells = list(_cells(lines, options.get("separator", separator)[:1] or "|"))
        width = _width(options.get("cols", "")) or _first_line(cells)
        rows = list(_rows(cells, width))
    if not rows:
        return ""
    styles = _styles(options.get("cols", ""))
    shown = []
    for row in rows:
        texts: list[str] = []
        for cell in row:
            style = cell.style or styles.get(len(texts), "")
            texts.append(convert(cell.text, style).replace("|", "\\|"))
            texts += [""] * (cell.columns - 1)
        shown.append(texts)
    width = max(map(len, shown))
    shown[0] += [""] * (width - len(shown[0]))
    marked = ["| " + " | ".join(row) + " |" for row in shown]
    return "\n".join([marked[0], "|" + " --- |" * width, *marked[1:]])


def _cells(lines: Sequence[str], separator: str) -> Iterator[_Cell]:
    """Cells begin with an optional specification and a bar, anywhere in a line."""
    pattern = (
        _CELL
        if separator == "|"
        else re.compile(_CELL.pattern.removesuffix(r"\|") + re.escape(separator))
    )
    opened: tuple[str, str, int] | None = None
    text: list[str] = []
    for number, line in enumerate(lines):
        position = 0
        for found in pattern.finditer(line):
            if opened is not None:
                text.append(line[position : found.start()])
                yield from _copies(opened, text, separator)
            opened, text = (found[1] or "", found[3] or "", number), []
            position = found.end()
        text.append(line[position:] + "\n")
    if opened is not None:
        yield from _copies(opened, text, separator)


def _copies(opened: tuple[str, str, int], text: list[str], separator: str) -> Iterator[_Cell]:
    span, style, line = opened
    words = "".join(text).strip().replace(f"\\{separator}", separator)
    number = re.match(r"\d+", span)
    count = int(number[0]) if number else 1
    if span.endswith("*"):
        for _ in range(min(count, _MAX_COPIES)):
            yield _Cell(words, 1, style, line)
    else:
        yield _Cell(words, max(1, min(count, _MAX_COLUMNS)), style, line)


def _first_line(cells: Sequence[_Cell]) -> int:
    return sum(cell.columns for cell in cells if cell.line == cells[0].line) if cells else 1


def _rows(cells: Sequence[_Cell], width: int) -> Iterator[list[_Cell]]:
    row: list[_Cell] = []
    taken = 0
    for cell in cells:
        row.append(cell)
        taken += cell.columns
        if taken >= width:
            yield row
            row, taken = [], 0
    if row:
        yield row


def _width(cols: str) -> int:
    """The number of columns of `1,2a,3`, `3*` and `2*,1`."""
    if not cols:
        return 0
    counts = (_COLUMN.match(part.strip()) for part in re.split(r"[,;]", cols))
    return min(sum(int(count[1]) if count else 1 for count in counts), _MAX_COLUMNS)


def _styles(cols: str) -> dict[int, str]:
    """The styles of columns, such as `a` in `1,2a`."""
    found: dict[int, str] = {}
    place = 0
    for part in re.split(r"[,;]", cols)[:_MAX_COLUMNS]:
        repeated = _COLUMN.match(part.strip())
        style = part.strip()[-1:]
        for _ in range(min(int(repeated[1]), _MAX_COLUMNS) if repeated else 1):
            if style in set("ademshlv"):
                found[place] = style
            place += 1
    return found
