"""Turns the sections of Google's and NumPy's docstrings into field lists, as napoleon does."""

import re
from collections.abc import Sequence

_PARAMETERS = {"args", "arguments", "parameters", "params", "other parameters", "keyword args"}
_PARAMETERS |= {"keyword arguments"}
_RETURNS = {"returns": "returns", "return": "returns", "yields": "yields", "yield": "yields"}
_RAISES = {"raises", "warns"}
_VALUES = {"attributes", "methods"}
_RUBRICS = {"example", "examples", "notes", "references", "see also"}
_NOTES = {"note": "note", "warning": "warning", "warnings": "warning", "tip": "tip"}
_NOTES |= {"caution": "caution", "important": "important", "todo": "todo", "hint": "hint"}
_SECTIONS = {*_PARAMETERS, *_RETURNS, *_RAISES, *_VALUES, *_RUBRICS, *_NOTES}
_ITEM = re.compile(
    r"(\*{0,2}[\w.\\`, *]+?)\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?\s*:(?:\s+(.*))?$"
)
_UNDERLINE = re.compile(r"-{3,}\s*$")


def with_fields(lines: Sequence[str]) -> list[str]:
    """The lines of a docstring, without indentation of their own."""
    done: list[str] = []
    number = 0
    while number < len(lines):
        name = lines[number].strip().lower()
        below = lines[number + 1] if number + 1 < len(lines) else ""
        numpy = name in _SECTIONS and _UNDERLINE.match(below) is not None
        google = name.endswith(":") and name[:-1] in _SECTIONS and below[:1] in {" ", "\t"}
        if lines[number][:1] in {" ", ""} or not (numpy or google):
            done.append(lines[number])
            number += 1
            continue
        start = number + 1 + numpy
        end = _numpy_end(lines, start) if numpy else _google_end(lines, start)
        body = _dedented(lines[start:end])
        done += ["", *_section(name.rstrip(":"), body, numpy=numpy), ""]
        number = end
    return done


def _section(name: str, body: list[str], *, numpy: bool) -> list[str]:
    if name in _NOTES:
        return [f".. {_NOTES[name]}::", "", *(f"   {line}" for line in body)]
    if name in _RUBRICS:
        return [f".. rubric:: {name.title()}", "", *body]
    if name in _RETURNS and not numpy:
        return _returned(_RETURNS[name], body)
    fields: list[str] = []
    for head, inside in _items(body):
        fields += _numpy_field(name, head, inside) if numpy else _google_field(name, head, inside)
    return fields


def _items(body: Sequence[str]) -> list[tuple[str, list[str]]]:
    items: list[tuple[str, list[str]]] = []
    for line in body:
        if line[:1] not in {" ", ""}:
            items.append((line.strip(), []))
        elif items:
            items[-1][1].append(line.strip())
    return items


def _google_field(name: str, head: str, inside: list[str]) -> list[str]:
    found = _ITEM.match(head)
    if found is None:
        return [" ".join((head, *inside)), ""]
    words = " ".join(filter(None, (found[3], *inside)))
    return _field(name, found[1].strip(), found[2] or "", words)


def _numpy_field(name: str, head: str, inside: list[str]) -> list[str]:
    named, colon, kind = (part.strip() for part in head.partition(" : "))
    words = " ".join(filter(None, inside))
    if name in _RETURNS:
        kind = kind if colon else named
        return [f":{_RETURNS[name]}: {words}", f":rtype: {kind}"]
    return _field(name, named, kind, words)


def _field(section: str, name: str, kind: str, words: str) -> list[str]:
    if section in _RAISES:
        return [f":raises {name}: {words}"]
    field = "ivar" if section in _VALUES else "param"
    declared = [f":{'vartype' if field == 'ivar' else 'type'} {name}: {kind}"] if kind else []
    return [f":{field} {name}: {words}", *declared]


def _returned(field: str, body: Sequence[str]) -> list[str]:
    text = " ".join(line.strip() for line in body if line.strip())
    kind, colon, words = text.partition(": ")
    if colon and re.fullmatch(r"[\w.\[\], |`~:]+", kind) and len(kind.split()) < 4:
        return [f":{field}: {words}", f":rtype: {kind}"]
    return [f":{field}: {text}"]


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
