"""Earlier runs for the terminal and as JSON."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from surefind.evaluation.report.past_runs import PastRun, Trend, trends
from surefind.interfaces.reports.tables import table

SCHEMA = "surefind.history/1"
_BARS = "▁▂▃▄▅▆▇█"
_LEAST_SPAN = 0.05


@cache
def _adapter() -> TypeAdapter[tuple[PastRun, ...]]:
    return TypeAdapter(tuple[PastRun, ...])


def history_json(runs: Sequence[PastRun]) -> dict[str, Any]:
    """Runs, oldest first, and trends with the IDs and values of their runs."""
    return {
        "schema": SCHEMA,
        "runs": _adapter().dump_python(tuple(runs), mode="json"),
        "trends": [
            {
                "golden": trend.golden,
                "golden_digest": trend.runs[-1].golden_digest,
                "mode": None if trend.mode is None else trend.mode.value,
                "target": trend.runs[-1].target,
                "top_k": trend.top_k,
                "measure": trend.name,
                "runs": [run.run_id for run in trend.runs],
                "values": list(trend.values),
            }
            for trend in trends(runs)
        ],
    }


def history_text(runs: Sequence[PastRun]) -> str:
    """A table of runs, latest last, and their trends."""
    rows = [
        (
            f"{run.started_at:%Y-%m-%d %H:%M}",
            str(run.generation or ""),
            run.golden,
            f"{run.place} {run.top_k}",
            f"{run.totals.passed}/{run.totals.total}",
            next((f"{name} {value:.4f}" for name, value in run.means.items()), ""),
            f"{run.verdict.value}{' (ended early)' if run.interrupted else ''}",
        )
        for run in runs
    ]
    head = ("when (UTC)", "gen.", "tests", "search", "passed", "measure", "verdict")
    lines = [_line(trend) for trend in trends(runs)]
    return "\n\n".join(
        [table(head, rows, whole=(0, 1, 3, 4, 5)), *(["\n".join(lines)] if lines else [])]
    )


def _line(trend: Trend) -> str:
    first, last = trend.values[0], trend.values[-1]
    name = f"{trend.golden} ({trend.place}, top {trend.top_k})"
    return (
        f"{name}: {trend.name} {sparkline(trend.values)} {first:.4f} -> {last:.4f} "
        f"({last - first:+.4f} over {len(trend.runs)} runs)"
    )


def sparkline(values: Sequence[float]) -> str:
    """A bar per value, on a scale that does not exaggerate small differences."""
    low, high = min(values), max(values)
    span = max(high - low, _LEAST_SPAN)
    low = min(low, max(0.0, (high + low - span) / 2))
    steps = (int((value - low) / span * len(_BARS) + 1e-9) for value in values)
    return "".join(_BARS[min(step, len(_BARS) - 1)] for step in steps)
