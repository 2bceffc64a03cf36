"""Tables for the terminal."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from surefind.evaluation.report.report import Breakdown, Report


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    whole: Sequence[int] = (),
    *,
    dense: bool = False,
) -> str:
    """A table as wide as the terminal. Long cells are folded, except in the `whole` columns.

    A `dense` table has less space between its columns.
    """
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0 if dense else 1))
    for number, name in enumerate(head):
        drawn.add_column(name, overflow="fold", no_wrap=number in whole)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    console = Console()
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


WORST_GROUPS = 8


def worst_groups(report: Report, breakdown: Breakdown) -> list[tuple[str, str, str]]:
    """The groups with the lowest first measure: name, passed tests, and that measure."""
    measure = next(iter(report.means.values), "")
    ranked = sorted(
        breakdown.groups,
        key=lambda one: (one.means.get(measure, 1.0), one.totals.passed / max(1, one.totals.total)),
    )
    return [
        (
            one.name,
            f"{one.totals.passed}/{one.totals.total}",
            f"{one.means[measure]:.3f}" if measure in one.means else "",
        )
        for one in ranked[:WORST_GROUPS]
    ]
