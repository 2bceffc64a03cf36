"""`surefind gaps`: what users ask and the documentation does not answer."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    Collection,
    DataDir,
    note,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from surefind.bootstrap import Application
    from surefind.model import Gap, GapReport

EXAMPLES = examples("surefind gaps", "surefind gaps --days 7 --at-least 2", page="commands/gaps/")
_WORDINGS = 3


def gaps(
    days: Annotated[
        int, typer.Option(min=1, max=3650, help="Read the log of this many days.")
    ] = 30,
    at_least: Annotated[int, typer.Option(min=1, help="Leave out gaps with fewer searches.")] = 1,
    below: Annotated[
        float,
        typer.Option(min=0, max=1, help="Questions below this confidence have thin evidence."),
    ] = 0.5,
    possible: Annotated[
        bool,
        typer.Option(
            "--possible",
            help="Also search again for the other questions, and list those that look unanswered.",
        ),
    ] = False,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="Maximum number of gaps to print.")
    ] = 20,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List what users ask and the documentation hardly answers.

    Similar questions are one gap. `surefind serve` keeps the log if query_log is set.
    """
    from surefind.interfaces.json_output.gaps import gaps_json
    from surefind.services.demand.gaps import GapOptions

    now = datetime.now(UTC)
    options = GapOptions(now - timedelta(days=days), now, below, at_least, possible)

    async def work(application: "Application") -> tuple["GapReport", bool]:
        return await application.maintenance.gaps(options), application.settings.query_log

    report, is_logging = run(work, collection=collection, data_dir=data_dir)
    if as_json:
        show_json(gaps_json(report, number))
    else:
        _show(report, days, number)
    if not report.searches and not is_logging:
        note("the query log is off; start the server with query_log = true in surefind.toml")


def _show(report: "GapReport", days: int, number: int) -> None:
    share = f" ({report.thin / report.judged:.0%})" if report.judged else ""
    show(
        f"{report.collection}, {days} days: {_counted(report.searches, 'search', 'searches')}, "
        f"{report.thin} with thin evidence{share}, {_counted(len(report.gaps), 'gap', 'gaps')}"
    )
    _show_gaps(report.gaps, report.collection, number)
    if report.possible:
        several = _counted(len(report.possible), "possible gap", "possible gaps")
        show(f"\n{several}, found by searching again:")
        _show_gaps(report.possible, report.collection, number)


def _show_gaps(gaps: "Sequence[Gap]", collection: str, number: int) -> None:
    for gap in gaps[:number]:
        show(f"\n{gap.count:>4} {gap.trend:<7}  {gap.questions[0]}")
        for question in gap.questions[1:_WORDINGS]:
            show(f"{'':14}{question}")
        if len(gap.questions) > _WORDINGS:
            show(f"{'':14}… and {len(gap.questions) - _WORDINGS} more")
        for page in gap.nearest[:1]:
            place = page.url.removeprefix(f"surefind://{collection}/")
            show(f"{'':14}nearest: {page.title}  {place}")
    if len(gaps) > number:
        show(f"\n{len(gaps) - number} more; print them with -n {len(gaps)}")


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
