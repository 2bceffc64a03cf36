"""Expands the directives of a reStructuredText page that read other files of the project.

The page stays reStructuredText: the directives are replaced by what they would show. Directives in
code and comments stay unchanged.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions
from surefind.text.sites.sphinx.excerpts import (
    NotFoundError,
    Options,
    included_text,
    literal_lines,
)

_DIRECTIVE = re.compile(r"([ \t]*)\.\. ([A-Za-z][\w:.+-]*?)::(?:[ \t]+(\S.*))?$")
_EXPLICIT = re.compile(r"[ \t]*\.\.(?:[ \t]|$)")
_NO_COMMENT = re.compile(r"[ \t]*\.\. (?:_|\[[^\]]+\]|\|[^|]+\||[A-Za-z][\w:.+-]*::|__(?:[ :]|$))")
_OPTION = re.compile(r"[ \t]+:([\w-]+):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*(?:(?:[-*+\u2022]|\(?(?:\d+|[A-Za-z#])[.)])[ \t]+)*")
_CODE = {"code", "code-block", "code-tab", "doctest", "graphviz", "highlight", "ipython", "math"}
_CODE |= {"mermaid", "parsed-literal", "plantuml", "productionlist", "prompt", "raw", "sourcecode"}
_CODE |= {"testcode", "testoutput", "testsetup", "testcleanup", "uml"}
_MAX_LINES = 400_000
_INDENT = "   "


@dataclass(frozen=True, slots=True)
class FoundDirective:
    """A directive as written; `content` is dedented."""

    margin: str
    name: str
    argument: str
    options: Options
    content: Sequence[str]

    def written(self, name: str, argument: str, content: Sequence[str]) -> list[str]:
        """Another directive that replaces this one."""
        options = [f":{key}: {value}" for key, value in self.options.items()]
        head = f"{self.margin}.. {name}:: {argument}".rstrip()
        inside = [*options, "", *content]
        return [head, *(f"{self.margin}{_INDENT}{line}".rstrip() for line in inside), ""]


Document = Callable[[FoundDirective], list[str] | None]
"""The reStructuredText of an autodoc directive; None if its object was not found."""


class Expansion:
    """Expands one page, in the folder of its file or that of the site."""

    def __init__(
        self, inclusions: Inclusions, document: Document, rewrite: Callable[[str], str] = str
    ) -> None:
        """`rewrite` changes lines of text."""
        self._inclusions = inclusions
        self._document = document
        self._rewrite = rewrite
        self._lines = 0

    def expanded(self, lines: Sequence[str]) -> list[str]:
        done: list[str] = []
        number, code_margin = 0, -1  # lines that are indented deeper are code or a comment
        while number < len(lines):
            line = lines[number]
            indent = _width(line)
            if not line.strip() or (code_margin >= 0 and indent > code_margin):
                done.append(line)
                number += 1
                continue
            code_margin = -1
            found = _DIRECTIVE.match(line)
            if found is not None and self._reads(found[2]):
                end = _end_of(lines, number, indent)
                done += self._shown(_directive(found, lines[number + 1 : end]))
                number = end
                continue
            code_margin = _code_margin(line, found)
            done.append(line if found and code_margin >= 0 else self._rewrite(line))
            number += 1
        return done

    def _reads(self, name: str) -> bool:
        return name in {"include", "literalinclude", "csv-table"} or name.startswith("auto")

    def _shown(self, directive: FoundDirective) -> list[str]:
        try:
            if directive.name == "include":
                return self._included(directive)
            if directive.name == "literalinclude":
                return self._code(directive)
            if directive.name == "csv-table":
                return self._table(directive)
        except NotFoundError as error:
            self._inclusions.warn(directive.argument, str(error))
            return []
        shown = self._document(directive)
        if shown is None:
            return directive.written(directive.name, directive.argument, directive.content)
        return [f"{directive.margin}{line}".rstrip() for line in ("", *shown, "")]

    def _included(self, directive: FoundDirective) -> list[str]:
        if directive.argument.startswith("<"):  # a file of docutils itself
            return []
        lines = self._taken(directive.argument)
        if lines is None:
            return []
        try:
            chosen = included_text(lines, directive.options)
            if directive.options.keys() & {"literal", "code"}:
                kept = {"caption": directive.options.get("caption", "")}
                shown = FoundDirective(directive.margin, "", "", _filled(kept), ())
                return shown.written("code-block", directive.options.get("code", ""), chosen)
            chosen = self.expanded(chosen)
        finally:
            self._inclusions.close()
        return [f"{directive.margin}{line}".rstrip() for line in (*chosen, "")]

    def _code(self, directive: FoundDirective) -> list[str]:
        lines = self._taken(directive.argument)
        if lines is None:
            return []
        self._inclusions.close()
        options = directive.options
        caption = options.get("caption", "") or directive.argument * ("caption" in options)
        shown = FoundDirective(directive.margin, "", "", _filled({"caption": caption}), ())
        language = options.get("language", "")
        return shown.written("code-block", language, literal_lines(lines, options))

    def _table(self, directive: FoundDirective) -> list[str]:
        name = directive.options.get("file")
        content: Sequence[str] | None = directive.content
        if name:
            content = self._taken(name)
            if content is None:
                return []
            self._inclusions.close()
        options = {key: value for key, value in directive.options.items() if key != "file"}
        shown = FoundDirective(directive.margin, "", "", options, ())
        return shown.written("csv-table", directive.argument, content or ())

    def _taken(self, name: str) -> list[str] | None:
        """Relative to the page; with a slash, to the site's folder."""
        base = IncludeFolder("") if name.startswith("/") else IncludeFolder(beside_page=True)
        lines = self._inclusions.take(name.lstrip("/"), (base,))
        self._lines += len(lines or ())
        if self._lines > _MAX_LINES:
            self._inclusions.close()
            raise NotFoundError("but exceeds the limit of included text")
        return lines


def _directive(found: re.Match[str], below: Sequence[str]) -> FoundDirective:
    options: dict[str, str] = {}
    number, last = 0, ""
    for number, line in enumerate(below):  # noqa: B007 - the content begins at the last number
        option = _OPTION.match(line)
        if option is not None:
            last = option[1].lower()
            options[last] = (option[2] or "").strip()
        elif last and line.strip():
            options[last] = f"{options[last]} {line.strip()}".strip()
        else:
            break
    else:
        number = len(below)
    content = list(below[number:])
    least = min((_width(line) for line in content if line.strip()), default=0)
    dedented = [line.expandtabs(8)[least:] for line in content]
    argument = (found[3] or "").strip()
    return FoundDirective(found[1], found[2], argument, options, dedented)


def _end_of(lines: Sequence[str], start: int, indent: int) -> int:
    """The number of the first line after a directive's block, without blank lines at its end."""
    end = start + 1
    for number in range(start + 1, len(lines)):
        if lines[number].strip():
            if _width(lines[number]) <= indent:
                break
            end = number + 1
    return end


def _code_margin(line: str, directive: re.Match[str] | None) -> int:
    """The indentation of a line that opens code or a comment; -1 for other lines."""
    if directive is not None:
        return _width(line) if directive[2] in _CODE else -1
    if _EXPLICIT.match(line):
        return -1 if _NO_COMMENT.match(line) else _width(line)
    if line.rstrip().endswith("::"):
        item = _ITEM.match(line)
        return len(item[0].expandtabs(8)) if item else 0
    return -1


def _width(line: str) -> int:
    expanded = line.expandtabs(8) if "\t" in line else line
    return len(expanded) - len(expanded.lstrip(" "))


def _filled(options: Options) -> Options:
    return {key: value for key, value in options.items() if value}


def opening_end(lines: Sequence[str]) -> int:
    """The number of lines that a field list at the start takes."""
    return next(_after_fields(lines), 0)


def _after_fields(lines: Sequence[str]) -> Iterator[int]:
    inside = False
    for number, line in enumerate(lines):
        if re.match(r":[^:\n]+:(?:\s|$)", line):
            inside = True
        elif line.strip() and not (inside and line[0] in " \t"):
            yield number if inside else 0
            return
