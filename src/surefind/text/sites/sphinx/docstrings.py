"""Turns the sections of Google's and NumPy's docstrings into field lists, as napoleon does."""

import re
from collections.abc import Sequence

from surefind.text.sites.parsing.docstring_sections import (
    NOTES,
    RAISES,
    RETURNS,
    RUBRICS,
    VALUES,
    DocstringSection,
    DocumentedField,
    sections_of,
)


def with_fields(lines: Sequence[str]) -> list[str]:
    """The lines of a docstring, without indentation of their own."""
    done: list[str] = []
    for section in sections_of(lines):
        done += ["", *_section(section), ""] if section.name else section.lines
    return done


def _section(section: DocstringSection) -> list[str]:
    name, lines = section.name, section.lines
    if name in NOTES:
        return [f".. {NOTES[name]}::", "", *(f"   {line}" for line in lines)]
    if name in RUBRICS:
        return [f".. rubric:: {name.title()}", "", *lines]
    if name in RETURNS and not section.is_numpy:
        return _returned(RETURNS[name], lines)
    return [line for field in section.fields for line in _field(name, field)]


def _field(section: str, field: DocumentedField) -> list[str]:
    name, kind = field.name, field.type
    words = " ".join(line.strip() for line in field.lines if line.strip())
    if section in RETURNS:
        return [f":{RETURNS[section]}: {words}", f":rtype: {kind}"]
    if not name:
        return [words, ""]
    if section in RAISES:
        return [f":raises {name}: {words}"]
    of_class = section in VALUES
    declared = [f":{'vartype' if of_class else 'type'} {name}: {kind}"] if kind else []
    return [f":{'ivar' if of_class else 'param'} {name}: {words}", *declared]


def _returned(field: str, body: Sequence[str]) -> list[str]:
    text = " ".join(line.strip() for line in body if line.strip())
    kind, colon, words = text.partition(": ")
    if colon and re.fullmatch(r"[\w.\[\], |`~:]+", kind) and len(kind.split()) < 4:
        return [f":{field}: {words}", f":rtype: {kind}"]
    return [f":{field}: {text}"]
