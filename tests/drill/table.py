"""What the drill counts, and the table that it prints."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Harm(StrEnum):
    """LOST: something that was acknowledged, or the way to go on. UNCLEAN: a traceback, a crash,
    a hang, an error that gives no reason, or a server that refuses what it should answer."""

    LOST = "lost"
    HALF = "half-published"
    DIFFERENT = "different from a fresh build"
    SILENT = "silent wrong answers"
    UNCLEAN = "unclean errors"


@dataclass
class Tally:
    """One line of the table; `interrupted` counts the commands that did not come to their end."""

    mishap: str
    cycles: int = 0
    interrupted: int = 0
    findings: list[tuple[Harm, str]] = field(default_factory=list)

    def report(self, harm: Harm, message: str) -> None:
        self.findings.append((harm, message))

    def count(self, harm: Harm) -> int:
        return sum(found is harm for found, _ in self.findings)


def table(tallies: Sequence[Tally]) -> str:
    """As Markdown, so that it can be pasted into a page."""
    total = Tally("all", sum(tally.cycles for tally in tallies))
    total.findings = [found for tally in tallies for found in tally.findings]
    heads = ("mishap", "cycles", *Harm)
    rows = [
        (tally.mishap, str(tally.cycles), *(str(tally.count(harm)) for harm in Harm))
        for tally in (*tallies, total)
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [_row(heads, widths), _rule(widths), *(_row(row, widths) for row in rows)]
    return "\n".join(lines)


def _row(cells: Iterable[str], widths: Sequence[int]) -> str:
    first, *numbers = zip(cells, widths, strict=True)
    aligned = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in numbers)]
    return f"| {' | '.join(aligned)} |"


def _rule(widths: Sequence[int]) -> str:
    first, *numbers = widths
    return f"|{'-' * (first + 2)}|{'|'.join('-' * (width + 1) + ':' for width in numbers)}|"
