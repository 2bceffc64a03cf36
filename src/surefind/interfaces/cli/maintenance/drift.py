"""`surefind drift`: do users find less than before?"""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, note, run, show, show_json
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.services.demand.drift import Drift, LogPeriod, Shift

EXAMPLES = examples(
    "surefind drift",
    "surefind drift --days 1 --before 7 --alert-if 'thin_rate > 0.3'",
    page="commands/drift/",
)


def drift(
    days: Annotated[int, typer.Option(min=1, max=3650, help="Length of the latest period.")] = 7,
    before: Annotated[
        int, typer.Option(min=1, max=3650, help="Length of the period before it, in days.")
    ] = 28,
    alert_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Raise an alert, as in 'thin_rate > 0.3'; may be repeated. [default: more thin "
            "evidence, less similarity or a lower measure]",
        ),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compare recent searches and validations with earlier ones.

    Exit codes: 0 no alert, 1 an alert, 2 invalid input, 4 the query log can't be read.
    """
    from surefind.interfaces.failures import FAILED
    from surefind.services.demand.drift import DEFAULT_RULES, AlertRule, DriftOptions

    rules = tuple(AlertRule.parse(rule) for rule in alert_if or DEFAULT_RULES)
    now = datetime.now(UTC)
    middle = now - timedelta(days=days)
    options = DriftOptions(middle - timedelta(days=before), middle, now, rules)

    async def work(application: "Application") -> tuple["Drift", list[str]]:
        found, damaged = await application.maintenance.drift(options)
        return found, list(damaged)

    found, damaged = run(work, collection=collection, data_dir=data_dir)
    for line in damaged:
        note(f"skipped an unreadable record of an earlier run: {line}")
    if as_json:
        show_json(_json(found))
    else:
        _show(found)
    raise typer.Exit(FAILED if found.alerts else 0)


def _show(found: "Drift") -> None:
    show(f"{found.collection}")
    for name, period in (("before", found.before), ("now", found.now)):
        show(f"  {name:<7} {_period(period)}")
    for name, shift in (("thin evidence", found.thin_rate), ("similarity", found.similarity)):
        show(f"  {name:<13} {_shift(shift)}")
    for one in found.measures:
        show(
            f"  {one.golden} ({one.place}): {one.measure} {one.latest:.4f}, "
            f"mean of {one.runs - 1} earlier {one.before:.4f}"
        )
    for alert in found.alerts:
        show(f"ALERT {alert}")
    if not found.alerts:
        show("no alert")


def _period(period: "LogPeriod") -> str:
    when = f"{period.since:%Y-%m-%d} to {period.until:%Y-%m-%d}: {period.searches} searches"
    if period.thin_rate is None:
        return f"{when}, too few to judge"
    similarity = "" if period.similarity is None else f", mean similarity {period.similarity:.3f}"
    return f"{when}, {period.thin_rate:.0%} with thin evidence{similarity}"


def _shift(shift: "Shift | None") -> str:
    if shift is None:
        return "unknown: too few searches"
    return f"{shift.value:+.3f} (95 % interval {shift.low:+.3f} to {shift.high:+.3f})"


def _json(found: "Drift") -> dict[str, Any]:
    values = asdict(found)
    for period in (values["before"], values["now"]):
        period["since"] = period["since"].isoformat()
        period["until"] = period["until"].isoformat()
    return values
