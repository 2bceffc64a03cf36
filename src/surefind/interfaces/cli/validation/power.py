"""`surefind golden power`: how many questions a comparison needs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefind.interfaces.cli.console import AsJson, show, show_json

if TYPE_CHECKING:
    from surefind.evaluation.report.report import Report


def power(
    reports: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Two reports of the same tests, saved by `validate --save-baseline`, to learn how "
            "much questions vary.",
            show_default=False,
        ),
    ] = None,
    difference: Annotated[
        float, typer.Option(help="The difference of means to detect, such as 0.05.")
    ] = 0.05,
    chance: Annotated[
        float, typer.Option("--power", help="How likely it should be detected.")
    ] = 0.8,
    measure: Annotated[
        str | None, typer.Option(help="The measure of the reports. [default: their first]")
    ] = None,
    measures: Annotated[
        int, typer.Option(min=1, max=100, help="How many measures are compared at once.")
    ] = 1,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Golden tests, to say what their number can detect."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Calculate how many questions reveal a difference of a given size."""
    from surefind.adapters.files.golden_files import read_golden
    from surefind.evaluation.statistics.power import (
        SPREADS,
        difference_seen,
        queries_needed,
        spread_of,
    )
    from surefind.evaluation.statistics.significance import LEVEL

    learned = _differences(reports or [], measure) if reports else None
    spreads = SPREADS if learned is None else (spread_of(learned),)
    tests = None if file is None else len(read_golden(file).tests)
    rows: list[dict[str, Any]] = []
    for spread in spreads:
        needed = queries_needed(difference, spread, LEVEL, chance, measures).queries
        row: dict[str, Any] = {"spread": spread, "questions": needed}
        if tests is not None:
            row["detectable"] = difference_seen(tests, spread, LEVEL, chance, measures)
        rows.append(row)
    if as_json:
        show_json(
            {
                "difference": difference,
                "power": chance,
                "level": LEVEL,
                "measures": measures,
                "tests": tests,
                "learned_from": None if learned is None else len(learned),
                "rows": rows,
            }
        )
        return
    _show(rows, difference, chance, tests, learned)


def _show(
    rows: list[dict[str, Any]],
    difference: float,
    chance: float,
    tests: int | None,
    learned: list[float] | None,
) -> None:
    from surefind.interfaces.reports.tables import table

    head = ["spread", f"questions to detect {difference:g}"]
    if tests is not None:
        head.append(f"detectable with {tests} tests")
    cells = [
        (f"{row['spread']:.3f}", f"{row['questions']:,}")
        + ((f"{row['detectable']:.3f}",) if tests is not None else ())
        for row in rows
    ]
    show(table(head, cells))
    source = (
        "the standard deviation of the differences per question;\n"
        "for example 0.1 after a small change, and 0.4 between two systems"
        if learned is None
        else f"the standard deviation of the differences over {len(learned)} questions"
    )
    show(f"\nspread: {source}")
    show(f"detected {chance:.0%} of the time, at the 0.05 level")


def _differences(paths: list[Path], measure: str | None) -> list[float]:
    from surefind.errors import InputError
    from surefind.evaluation.report.side_by_side import side_by_side
    from surefind.evaluation.report.summary import by_id

    if len(paths) != 2:
        raise InputError(f"power needs two reports of the same tests, not {len(paths)}")
    first, second = (_report(path) for path in paths)
    compared = side_by_side([first, second])
    known = list(compared.targets[0].means)
    chosen = measure or compared.measure
    if chosen not in known:
        raise InputError(f"the reports have no measure {chosen}; they have {', '.join(known)}")
    before, after = by_id(first.tests), by_id(second.tests)
    left_out = set(compared.left_out)
    return [
        after[name].measures[chosen] - test.measures[chosen]
        for name, test in before.items()
        if name not in left_out
        and chosen in test.measures
        and name in after
        and chosen in after[name].measures
    ]


def _report(path: Path) -> "Report":
    from surefind.interfaces.cli.validation.report_files import content_of
    from surefind.interfaces.reports.json_report import read_report

    return read_report(str(path), content_of(path))
