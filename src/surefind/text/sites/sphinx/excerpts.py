"""The part of a file that `include` and `literalinclude` show, by the options of the directive."""

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from surefind.text.sites.parsing.python_modules import parsed

Options = Mapping[str, str]


class NotFoundError(Exception):
    """The file has no such part; the message completes `it includes …,`."""


def included_text(lines: Sequence[str], options: Options) -> list[str]:
    """The text that docutils' `include` inserts: between lines, then between markers."""
    chosen = lines[_number(options.get("start-line")) : _number(options.get("end-line"))]
    text = "\n".join(chosen)
    after, before = options.get("start-after"), options.get("end-before")
    if after:
        _, found, text = text.partition(after)
        if not found:
            raise NotFoundError(f"which does not contain {after[:60]!r}")
    if before:
        text, found, _ = text.partition(before)
        if not found:
            raise NotFoundError(f"which does not contain {before[:60]!r}")
    return text.split("\n")


def literal_lines(lines: Sequence[str], options: Options) -> list[str]:
    """The lines that Sphinx's `literalinclude` shows; its filters apply in Sphinx's order."""
    found = list(lines)
    while found and not found[-1]:
        found.pop()
    if options.get("pyobject"):
        found = python_object(found, options["pyobject"])
    found = _ended(_started(found, options), options)
    if options.get("lines"):
        found = [found[number] for number in _numbers(options["lines"], len(found))]
        if not found:
            raise NotFoundError("which does not have these lines")
    if "dedent" in options:
        found = _dedented(found, options["dedent"])
    before, after = options.get("prepend"), options.get("append")
    return [*([before] if before else []), *found, *([after] if after else [])]


def python_object(lines: Sequence[str], name: str) -> list[str]:
    """The lines of a function, class or method with its decorators."""
    tree = parsed("\n".join(lines))
    if tree is None:
        raise NotFoundError("which is not valid Python")
    body: Sequence[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for part in name.strip().split("."):
        found = next((each for each in body if _defines(each, part)), None)
        if found is None:
            raise NotFoundError(f"which does not define {name[:60]!r}")
        body = found.body if isinstance(found, ast.ClassDef) else ()
    decorators = getattr(found, "decorator_list", [])
    first = min(node.lineno for node in (found, *decorators) if node is not None)
    return list(lines[first - 1 : getattr(found, "end_lineno", first)])


def _defines(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return statement.name == name
    return False


def _started(lines: list[str], options: Options) -> list[str]:
    marker = options.get("start-at") or options.get("start-after")
    if not marker:
        return lines
    for number, line in enumerate(lines):
        if marker in line:
            return lines[number if options.get("start-at") else number + 1 :]
    raise NotFoundError(f"which does not contain {marker[:60]!r}")


def _ended(lines: list[str], options: Options) -> list[str]:
    marker = options.get("end-at") or options.get("end-before")
    if not marker:
        return lines
    for number, line in enumerate(lines):
        if marker in line and (number or options.get("end-at")):
            return lines[: number + 1 if options.get("end-at") else number]
    raise NotFoundError(f"which does not contain {marker[:60]!r}")


def _numbers(written: str, size: int) -> Iterator[int]:
    """The positions of `1,3-5,8-`."""
    for span in written.split(","):
        first, dash, last = span.strip().partition("-")
        start = _number(first) or 1
        end = (_number(last) or size) if dash else start
        yield from range(start - 1, min(end, size))


def _dedented(lines: list[str], width: str) -> list[str]:
    if not width.strip():
        return textwrap.dedent("\n".join(lines)).split("\n")
    columns = _number(width) or 0
    return [line[columns:] for line in lines]


def _number(written: str | None) -> int | None:
    try:
        return int((written or "").strip()[:9])
    except ValueError:
        return None
