"""Headings and tables of the documentation quote messages that surefind really prints.

In a quoted message, `…` replaces what differs from case to case. Every other part is word for word
in the source.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
MESSAGE_TABLE = re.compile(r"^\| message \|.*\n\|[-| ]+\n((?:\|.*\n)+)", re.MULTILINE)


@functools.cache
def printed() -> str:
    """Every string of the package, each on a line; `…` replaces what is inserted into it."""
    return "\n".join(printed_texts())


def printed_texts() -> Iterator[str]:
    for path in (PROJECT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (
                    part.value if isinstance(part, ast.Constant) else "…" for part in node.values
                )
                yield "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def quoted_messages() -> Iterator[tuple[str, str]]:
    """(page, message)"""
    for path in sorted((PROJECT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        messages = re.findall(r'(?m)^#+ "(.+)"$', text)
        for table in MESSAGE_TABLE.findall(text):
            messages += re.findall(r"(?m)^\| (``?)(.+?)\1 \|", table)
        for message in messages:
            quoted = message if isinstance(message, str) else message[1]
            yield path.relative_to(PROJECT).as_posix(), quoted


@pytest.mark.parametrize(("page", "message"), list(quoted_messages()))
def test_quoted_messages_exist(page: str, message: str) -> None:
    for part in filter(None, (part.strip() for part in message.split("…"))):
        assert part in printed(), f"{page} quotes {part!r}, which surefind does not print"
