"""The examples in the pages: commands with what they print, and Python with what it prints."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGES = (PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md")))
PROMPT = "$ "

_FENCE = re.compile(
    r"^```(?P<language>\w*)\n(?P<body>.*?)^```$(?:\n\n```\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the page shows it; without shown output, its output is not compared."""

    text: str
    shown: str
    is_implied: bool = False


@dataclass(frozen=True)
class Example:
    """A block of a page. `start` and `end` are those of the block's text, or of its output."""

    heading: str
    body: str
    start: int
    end: int
    implied: str | None = None

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        if self.implied is not None:
            return (Command(self.implied, self.body, is_implied=True),)
        found: list[Command] = []
        for line in self.body.splitlines(keepends=True):
            if line.startswith(PROMPT):
                found.append(Command(line.removeprefix(PROMPT).rstrip("\n"), shown=""))
            else:
                found[-1] = replace(found[-1], shown=found[-1].shown + line)
        return tuple(found)


@dataclass(frozen=True)
class PythonExample(Example):
    """A program, with what the page says it prints, if it says so."""

    printed: str | None = None


def examples(text: str, implied: Mapping[str, str]) -> Iterator[Example]:
    """The examples of a page, in order.

    `implied` has, by the beginning of a block without a prompt, the command that prints it.
    """
    for block in _FENCE.finditer(text):
        headings = re.findall(r"^#+ (.+)$", text[: block.start()], re.MULTILINE)
        heading, body = headings[-1] if headings else "", block["body"]
        start, end = block.span("body")
        command = next((implied[first] for first in implied if body.startswith(first)), None)
        if block["language"] == "python":
            if block["printed"] is not None:
                start, end = block.span("printed")
            yield PythonExample(heading, body, start, end, printed=block["printed"])
        elif command is not None or body.startswith(PROMPT):
            yield Example(heading, body, start, end, command)
