"""A result: what was measured, with what, on what, and what can't be compared; three files each.

`NAME.json` holds everything, `NAME.md` the tables with their notes, `NAME-*.svg` the plots.
"""

import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.support.drawing import Chart

Row = dict[str, object]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def number(value: float) -> str:
    """Three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """The columns are the keys of all rows, in the order in which they are met."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += [f"| {' | '.join(_cell(row.get(name)) for name in names)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, float) else str(value)


@dataclass
class Result:
    name: str
    title: str
    data: str
    settings: dict[str, object]
    versions: dict[str, str]
    machine: dict[str, object]
    tables: dict[str, list[Row]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    measured: list[Row] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    made_at: str = field(default_factory=lambda: time.strftime("%Y-%m-%d", time.gmtime()))

    def markdown(self) -> str:
        parts = [f"# {self.title}", self.data]
        for title, rows in self.tables.items():
            parts += [f"## {title}", table(rows)]
        parts += [f"![{chart.title}]({self.file_of(chart)})" for chart in self.charts]
        parts += ["## Notes", "\n".join(f"- {note}" for note in self.notes)]
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        versions = ", ".join(f"{name} {value}" for name, value in sorted(self.versions.items()))
        parts += [f"Settings: {settings}.", f"Versions: {versions}.", f"Machine: {self.machine}."]
        return "\n\n".join(parts) + "\n"

    def file_of(self, chart: Chart) -> str:
        return f"{self.name}-{chart.slug}.svg"

    def keep(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1)
        (folder / f"{self.name}.json").write_text(text + "\n")

    def write(self, folder: Path) -> None:
        self.keep(folder)
        (folder / f"{self.name}.md").write_text(self.markdown())
        for chart in self.charts:
            (folder / self.file_of(chart)).write_text(chart.svg())


def read(folder: Path, name: str) -> Result | None:
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    values = json.loads(path.read_text())
    values["charts"] = [Chart(**chart) for chart in values["charts"]]
    return Result(**values)
