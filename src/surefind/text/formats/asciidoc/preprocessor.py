"""Expands includes and conditionals, line by line, before a document is parsed.

Included files are read by a function that refuses those outside the project. Without one, includes
are left out.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from surefind.errors import InputError
from surefind.text.formats.asciidoc.attributes import ENTRY, Attributes

ReadFile = Callable[[str], "str | None"]
"""Reads a file by its path below the site's root; InputError, with the reason, if refused."""

_DIRECTIVE = re.compile(r"(include|ifdef|ifndef|ifeval|endif)::([^\[]*)\[(.*)\][ \t]*$")
_ESCAPED = re.compile(r"\\(?=(?:include|ifdef|ifndef|ifeval|endif)::)")
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^,]*))")
_TAG = re.compile(r"\b(tag|end)::(\S+?)\[\]")
_COMPARISON = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|\S+)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*$")
_VERBATIM = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,})[^`]*$")
_MAX_DEPTH = 20
_MAX_INCLUDES = 2_000
_MAX_LINES = 1_000_000


def expand_asciidoc(
    path: str, text: str, read: ReadFile | None = None
) -> tuple[str, tuple[str, ...]]:
    """(text without directives, warnings) of the document at `path`."""
    if "::" not in text:
        return text, ()
    reader = _Preprocessor(read)
    lines = list(reader.lines(text.splitlines(), path, 0))
    return "\n".join([*lines, ""]), tuple(reader.warnings)


@dataclass
class _Condition:
    holds: bool
    outer: bool


class _Preprocessor:
    def __init__(self, read: ReadFile | None) -> None:
        self._read = read
        self._attributes = Attributes()
        self._includes = 0
        self._written = 0
        self._offset = 0
        self._verbatim = ""
        self.warnings: dict[str, None] = {}

    def lines(self, lines: Iterable[str], path: str, depth: int) -> Iterator[str]:
        conditions: list[_Condition] = []
        for line in lines:
            found = _DIRECTIVE.match(line) if "::" in line else None
            if found is not None and found[1] != "include":
                text = self._condition(found, conditions)
                if text is not None:
                    yield from self._line(text)
            elif conditions and not (conditions[-1].holds and conditions[-1].outer):
                continue
            elif found is not None:
                yield from self._included(found[2], found[3], path, depth)
            else:
                # Escapes are kept for the reader, which has no function that reads files.
                yield from self._line(line if self._read else _ESCAPED.sub("", line))

    def _line(self, line: str) -> Iterator[str]:
        self._written += 1
        if self._written > _MAX_LINES:
            raise InputError("its includes expand to more than a million lines; split it")
        entry = ENTRY.match(line) if line.startswith(":") and not self._verbatim else None
        if entry is not None:
            self._attributes.set(entry[1], entry[2] or "")
        fence = _VERBATIM.match(line)
        if fence is not None and self._verbatim in {"", fence[1]}:
            self._verbatim = "" if self._verbatim else fence[1]
        yield line

    # --- conditionals ---

    def _condition(self, found: re.Match[str], conditions: list[_Condition]) -> str | None:
        """Open or close a condition; the text of one that is on a single line and holds."""
        kind, names, text = found.groups()
        outer = all(one.holds and one.outer for one in conditions[-1:])
        if kind == "endif":
            if conditions:
                conditions.pop()
            return None
        holds = self._compares(text) if kind == "ifeval" else self._defines(names)
        holds = holds != (kind == "ifndef")
        if text and kind != "ifeval":
            return text if holds and outer else None
        conditions.append(_Condition(holds, outer))
        return None

    def _defines(self, names: str) -> bool:
        if "+" in names:
            return all(name in self._attributes for name in names.split("+"))
        return any(name in self._attributes for name in names.split(","))

    def _compares(self, expression: str) -> bool:
        found = _COMPARISON.match(self._attributes.expand(expression))
        if found is None:
            return False
        left, sign, right = _value(found[1]), found[2], _value(found[3])
        if sign in {"==", "!="}:
            return (left == right) == (sign == "==")
        if isinstance(left, str) != isinstance(right, str):
            return False
        less, more = left < right, left > right  # type: ignore[operator]
        return {"<": less, ">": more, "<=": not more, ">=": not less}[sign]

    # --- includes ---

    def _included(self, target: str, listed: str, path: str, depth: int) -> Iterator[str]:
        name = self._attributes.expand(target.strip())
        options = {
            found[1]: next(filter(None, found.groups()[1:]), "")
            for found in _ATTRIBUTE.finditer(listed)
        }
        text, place = self._text_of(name, path, depth, optional="optional" in listed)
        if text is None:
            return
        lines = _selected(text.splitlines(), options)
        offset, before = options.get("leveloffset", ""), self._offset
        if offset:
            self._offset = _moved(before, offset)
            yield f":leveloffset: {self._offset}"
            yield ""
        yield from self.lines(lines, place, depth + 1)
        if offset:
            self._offset = before
            yield ""
            yield f":leveloffset: {before}"
            yield ""

    def _text_of(
        self, name: str, path: str, depth: int, *, optional: bool
    ) -> tuple[str | None, str]:
        self._includes += 1
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if self._read is None:
            return None, place
        if "://" in name or name.startswith("/") or not name:
            self._warn(name, "which is not a file of the project")
        elif depth >= _MAX_DEPTH or self._includes > _MAX_INCLUDES:
            self._warn(name, "because its includes are too many or too deep")
        else:
            try:
                text = self._read(place)
            except InputError as error:
                self._warn(name, str(error))
                return None, place
            if text is None and not optional:
                self._warn(name, "which does not exist")
            return text, place
        return None, place

    def _warn(self, name: str, reason: str) -> None:
        self.warnings[f"it includes {name[:200]}, {reason}"] = None


def _value(text: str) -> str | float:
    if text[:1] in {'"', "'"}:
        return text[1:-1]
    try:
        return float(text)
    except ValueError:
        return text


def _moved(level: int, offset: str) -> int:
    try:
        number = int(offset)
    except ValueError:
        return level
    moved = level + number if offset.strip()[:1] in {"+", "-"} else number
    return max(-6, min(6, moved))


def _selected(lines: list[str], options: dict[str, str]) -> list[str]:
    """The lines in the given ranges or tags; lines that mark tags are never text."""
    if "lines" in options:
        lines = [line for start, end in _ranges(options["lines"]) for line in lines[start:end]]
    tags = [tag for tag in re.split(r"[;,]", options.get("tag") or options.get("tags", "")) if tag]
    lines = _tagged(lines, [tag.strip() for tag in tags])
    if options.get("indent", "").isdecimal():
        margin = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
        lines = [" " * min(int(options["indent"]), 40) + line[margin:] for line in lines]
    return lines


def _ranges(text: str) -> Iterator[tuple[int, int | None]]:
    for part in re.split(r"[;,]", text)[:1_000]:
        first, dots, last = part.strip().partition("..")
        if not first.isdecimal():
            continue
        start = max(0, int(first) - 1)
        if not dots:
            yield start, start + 1
        else:
            yield start, int(last) if last.isdecimal() else None


def _tagged(lines: list[str], tags: list[str]) -> list[str]:
    wanted = {tag for tag in tags if not tag.startswith("!")}
    refused = {tag[1:] for tag in tags if tag.startswith("!")}
    everything = not wanted or bool({"*", "**"} & wanted)
    kept, opened = [], list[str]()
    for line in lines:
        mark = _TAG.search(line) if "[]" in line else None
        if mark is None:
            inside = everything or any(tag in wanted for tag in opened)
            if inside and not any(tag in refused for tag in opened):
                kept.append(line)
        elif mark[1] == "tag":
            opened.append(mark[2])
        elif mark[2] in opened:
            opened.remove(mark[2])
    return kept
