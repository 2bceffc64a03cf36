"""Expands `{! file !}` of mdx_include, and `{* file *}` of markdown-include-variants.

Of the latter's variants, only the named file is taken: the others repeat it for other versions.
"""

import re
from collections.abc import Iterator, Sequence

from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions

_INCLUDE = re.compile(
    r"(?P<escape>\\)?\{!(?P<recursive>[+-])?(?P<indents>>)?\s*+(?P<path>[^][|{}!\n]{1,500}?)"
    r"(?:\s*\[ln:(?P<lines>[\d.,-]{1,500})\])?\s*(?:\|[^|{}!\n]{1,100})?!\}"
)
_VARIANTS = re.compile(r"\{\*\s*+(\S{1,500})\s*+((?:\w+\[[^]\n]*\]\s*+)*)\*\}\s*")
_CHOSEN = re.compile(r"\bln\[([\d:,\s]*)\]")
_TITLE = re.compile(r"\btitle\[\"([^]\"\n]*)\"\]")


def expand_mdx_includes(
    text: str, bases: Sequence[IncludeFolder], inclusions: Inclusions, *, variants: bool
) -> str:
    lines = text.split("\n")
    if variants:
        lines = [taken for line in lines for taken in _with_variants(line, bases, inclusions)]
    return "\n".join(_expanded(lines, bases, inclusions))


def _expanded(
    lines: Sequence[str], bases: Sequence[IncludeFolder], inclusions: Inclusions
) -> Iterator[str]:
    for line in lines:
        if "{!" not in line:
            yield line
            continue
        done, end = [""], 0
        for statement in _INCLUDE.finditer(line):
            before = line[end : statement.start()]
            done[-1] += before
            end = statement.end()
            taken = _taken(statement, bases, inclusions)
            margin = before if statement["indents"] and before.isspace() else ""
            done[-1] += taken[0] if taken else ""
            done += [margin + each for each in taken[1:]]
        done[-1] += line[end:]
        yield from done


def _taken(
    statement: re.Match[str], bases: Sequence[IncludeFolder], inclusions: Inclusions
) -> list[str]:
    if statement["escape"]:
        return [statement[0][1:]]
    lines = inclusions.take(statement["path"].strip(), bases)
    if lines is None:
        return []
    if statement["lines"]:
        lines = _sliced(lines, statement["lines"].replace("-", ":"))
    if statement["recursive"] != "-":
        lines = list(_expanded(lines, bases, inclusions))
    inclusions.close()
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _with_variants(
    line: str, bases: Sequence[IncludeFolder], inclusions: Inclusions
) -> Sequence[str]:
    found = _VARIANTS.fullmatch(line) if line.startswith("{*") else None
    if found is None:
        return [line]
    lines = inclusions.take(found[1], bases)
    if lines is None:
        return []
    inclusions.close()
    chosen, title = _CHOSEN.search(found[2]), _TITLE.search(found[2])
    if chosen is not None:
        lines = _sliced(lines, chosen[1])
    while lines and not lines[-1].strip():
        lines.pop()
    language = found[1].rpartition(".")[2] if "." in found[1] else ""
    name = f' title="{title[1]}"' if title else ""
    return [f"```{language}{name}", *lines, "```"] if lines else []


def _sliced(lines: Sequence[str], ranges: str) -> list[str]:
    """`1:3,5,8:` counts from one; a part of a line counts as the whole."""
    found: list[str] = []
    for span in ranges.split(","):
        first, colon, last = span.strip().partition(":")
        start = _line_number(first) or 1
        end = _line_number(last) or len(lines) if colon else start
        found += lines[start - 1 : end]
    return found


def _line_number(text: str) -> int:
    digits = text.strip().partition(".")[0][:9]
    return int(digits) if digits.isdecimal() else 0
