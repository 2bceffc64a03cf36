"""Parts of included files: ranges of lines, and regions between marker comments."""

import re
import textwrap
from collections.abc import Sequence

_REGION = re.compile(
    r"^\s*(?://|#|--|;;|<!--|/\*|::|[Rr][Ee][Mm])?\s*#?(end\s?)?region\b\s*([\w*-]*)", re.IGNORECASE
)


def line_range(lines: Sequence[str], first: str, last: str) -> list[str]:
    """Lines from `first` to `last`, which count from one; an empty number is the border."""
    start = max(1, _number(first) or 1)
    return list(lines[start - 1 : _number(last) or len(lines)])


def region(lines: Sequence[str], name: str) -> list[str] | None:
    """The lines of `#region name`, dedented and without markers; None if it is missing."""
    found: list[str] = []
    depth = 0
    for line in lines:
        mark = _REGION.match(line) if "region" in line.lower() else None
        if mark is None:
            found += [line] if depth else []
        elif mark[1]:
            if depth and mark[2] in {name, ""}:
                return textwrap.dedent("\n".join(found)).split("\n")
        elif mark[2] == name:
            depth += 1
    return textwrap.dedent("\n".join(found)).split("\n") if depth else None


def _number(digits: str) -> int:
    return int(digits[:9]) if digits.isdecimal() else 0
