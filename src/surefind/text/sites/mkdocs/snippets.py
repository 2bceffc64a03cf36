"""PyMdown's snippets: `--8<-- "file"` includes a file, some of its lines, or a named section.

A block between two scissors lines has one file per line.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions

_SCISSORS = re.compile(r"""([ \t]*)(;*)-+8<-+(?:[ \t]+("[^"\n]+"|'[^'\n]+'))?$""")
_SECTION = re.compile(
    r"(?<![;-])(;*+)-++8<-++[ \t]++\[[ \t]*+(start|end)[ \t]*+:[ \t]*+([a-z][-\w]*+)[ \t]*+\]",
    re.IGNORECASE | re.ASCII,
)
_PART = re.compile(r":(?:(-?\d*(?::-?\d*)?(?:,-?\d*(?::-?\d*)?)*)|([A-Za-z][-\w]*))$", re.ASCII)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_TAB = 4
_NAME_LENGTH = 500


@dataclass(frozen=True, slots=True)
class SnippetOptions:
    """`inside_bases` rejects files outside the bases; `appended` is added to every page."""

    bases: tuple[IncludeFolder, ...]
    appended: tuple[str, ...] = ()
    inside_bases: bool = True
    dedents: bool = False


def expand_snippets(text: str, options: SnippetOptions, inclusions: Inclusions) -> str:
    lines = text.split("\n")
    if options.appended:
        lines += ["", "", "--8<--", *"\n\n".join(options.appended).split("\n"), "--8<--", ""]
    return "\n".join(_Snippets(options, inclusions).expanded(lines))


class _Snippets:
    def __init__(self, options: SnippetOptions, inclusions: Inclusions) -> None:
        self._options = options
        self._inclusions = inclusions

    def expanded(self, lines: Sequence[str]) -> list[str]:
        done: list[str] = []
        marks = [_SCISSORS.match(line) if "8<" in line else None for line in lines]
        bare = sum(mark is not None and not mark[2] and not mark[3] for mark in marks)
        in_block = False
        for line, mark in zip(lines, marks, strict=True):
            if mark is None:
                done += self._in_block(line) if in_block else _without_sections(line)
            elif mark[2]:  # escaped
                done.append(line.replace(";", "", 1))
            elif mark[3] is None and (in_block or bare > 1):
                in_block = not in_block
                bare -= 1
            elif mark[3] is None:  # an unclosed block would swallow the rest of the page
                done.append(line)
            elif not in_block:
                done += self._taken(mark[3][1:-1].strip(), mark[1])
        return done

    def _in_block(self, line: str) -> list[str]:
        name = line.strip()
        return self._taken(name, line[: len(line) - len(line.lstrip())]) if name else [""]

    def _taken(self, name: str, indent: str) -> list[str]:
        if name.startswith(";") or len(name) > _NAME_LENGTH:  # disabled, or not a valid name
            return []
        part = _PART.search(name)
        lines = self._lines_of(name[: part.start()].strip() if part else name)
        if lines is None:
            return []
        if part is not None:
            lines = _of_section(lines, part[2]) if part[2] else _of_lines(lines, part[1])
            if not lines:
                self._inclusions.warn(name, "which has no such section or lines")
            if self._options.dedents:
                lines = textwrap.dedent("\n".join(lines)).split("\n")
        lines = self.expanded(lines)
        self._inclusions.close()
        indent = indent.expandtabs(_TAB)
        return [indent + line for line in lines]

    def _lines_of(self, path: str) -> list[str] | None:
        if not path or _ADDRESS.match(path):
            self._inclusions.warn(path, "which is a URL" if path else "which is empty")
            return None
        return self._inclusions.take(
            path, self._options.bases, inside_base=self._options.inside_bases
        )


def _without_sections(line: str) -> list[str]:
    """Drop section markers; unescape escaped ones."""
    mark = _SECTION.search(line) if "8<" in line else None
    if mark is None:
        return [line]
    return [line[: mark.start()] + line[mark.start() + 1 :]] if mark[1] else []


def _of_section(lines: Sequence[str], name: str) -> list[str]:
    """The lines of a section, without the markers of nested sections."""
    found: list[str] = []
    inside = False
    for line in lines:
        mark = _SECTION.search(line) if "8<" in line else None
        if mark is None or mark[1]:
            found += [line] if inside else []
        elif mark[3] == name:
            if mark[2].lower() == "end":
                break
            inside = True
    return found


def _of_lines(lines: Sequence[str], ranges: str) -> list[str]:
    """`3` starts at the third line, `:3` ends there; negative numbers count from the end."""
    found: list[str] = []
    for span in ranges.split(","):
        first, _, last = span.partition(":")
        start = _number(first) or 1
        end = _number(last) or len(lines)
        start = max(1, len(lines) + 1 + start) if start < 0 else start
        end = len(lines) + 1 + end if end < 0 else end
        found += lines[start - 1 : max(0, end)]
    return found


def _number(digits: str) -> int:
    return int(digits[:9]) if digits.strip("-") else 0
