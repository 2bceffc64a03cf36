"""Splits docstrings in the styles of Google and NumPy into their sections."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PARAMETERS = {"args", "arguments", "parameters", "params", "other parameters", "keyword args"}
PARAMETERS |= {"keyword arguments"}
RETURNS = {"returns": "returns", "return": "returns", "yields": "yields", "yield": "yields"}
RAISES = {"raises", "warns"}
VALUES = {"attributes", "methods"}
RUBRICS = {"example", "examples", "notes", "references", "see also"}
NOTES = {"note": "note", "warning": "warning", "warnings": "warning", "tip": "tip"}
NOTES |= {"caution": "caution", "important": "important", "todo": "todo", "hint": "hint"}
_SECTIONS = {*PARAMETERS, *RETURNS, *RAISES, *VALUES, *RUBRICS, *NOTES}
_ITEM = re.compile(
    r"(\*{0,2}[\w.\\`, *]+?)\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?\s*:(?:\s+(.*))?$"
)
_UNDERLINE = re.compile(r"-{3,}\s*$")


@dataclass(frozen=True, slots=True)
class DocumentedField:
    """A parameter, an exception or another item of a section."""

    name: str
    type: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class DocstringSection:
    """`name` is lower case, and empty for text. `lines` are its content without indentation."""

    name: str
    lines: Sequence[str]
    is_numpy: bool = False

    @property
    def title(self) -> str:
        """`Args` are shown as parameters, and `Return` as what is returned."""
        if self.name in PARAMETERS:
            return "Other parameters" if self.name == "other parameters" else "Parameters"
        return RETURNS.get(self.name, self.name).capitalize()

    @property
    def fields(self) -> list[DocumentedField]:
        """The items; empty for sections of text, and for what a function returns by Google."""
        if self.name in {*PARAMETERS, *RAISES, *VALUES} or (self.is_numpy and self.name in RETURNS):
            read = _numpy_field if self.is_numpy else _google_field
            return [read(self.name, head, inside) for head, inside in _items(self.lines)]
        return []


def sections_of(lines: Sequence[str]) -> Iterator[DocstringSection]:
    """Sections and the text between them, of a docstring without indentation of its own."""
    text: list[str] = []
    number = 0
    while number < len(lines):
        name = lines[number].strip().lower()
        under = lines[number + 1] if number + 1 < len(lines) else ""
        below = next((line for line in lines[number + 1 : number + 3] if line.strip()), "")
        numpy = name in _SECTIONS and _UNDERLINE.match(under) is not None
        google = name.endswith(":") and name[:-1] in _SECTIONS and below[:1] in {" ", "\t"}
        if lines[number][:1] in {" ", ""} or not (numpy or google):
            text.append(lines[number])
            number += 1
            continue
        if text:
            yield DocstringSection("", text)
        start = number + 1 + numpy
        end = _numpy_end(lines, start) if numpy else _google_end(lines, start)
        yield DocstringSection(name.rstrip(":"), _dedented(lines[start:end]), numpy)
        text, number = [], end
    if text:
        yield DocstringSection("", text)


def _items(body: Sequence[str]) -> list[tuple[str, list[str]]]:
    items: list[tuple[str, list[str]]] = []
    for line in body:
        if line[:1] not in {" ", ""}:
            items.append((line.strip(), []))
        elif items:
            items[-1][1].append(line)
    return [(head, _dedented(inside)) for head, inside in items]


def _google_field(_: str, head: str, inside: list[str]) -> DocumentedField:
    found = _ITEM.match(head)
    if found is None:
        return DocumentedField("", "", [head, *inside])
    lines = [*filter(None, [found[3]]), *inside]
    return DocumentedField(found[1].strip(), found[2] or "", lines)


def _numpy_field(section: str, head: str, inside: list[str]) -> DocumentedField:
    named, colon, kind = (part.strip() for part in head.partition(" : "))
    if section in RETURNS:
        return DocumentedField(named if colon else "", kind if colon else named, inside)
    return DocumentedField(named, kind, inside)


def _google_end(lines: Sequence[str], start: int) -> int:
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end][:1] in {" ", "\t"}):
        end += 1
    return end


def _numpy_end(lines: Sequence[str], start: int) -> int:
    for number in range(start, len(lines) - 1):
        if lines[number].strip() and _UNDERLINE.match(lines[number + 1]):
            return number
    return len(lines)


def _dedented(lines: Sequence[str]) -> list[str]:
    least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[least:] for line in lines]
