"""Summaries of past runs, and the trends that they form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from surefind.evaluation.report.report import Report, Totals
from surefind.evaluation.statistics.significance import Verdict
from surefind.model import Mode

SCHEMA: Literal["surefind.run/1"] = "surefind.run/1"
_STRICT: Any = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class PastRun:
    """The numbers of a report without its tests. `means` is empty if nothing was judged.

    A run on a target has no collection and no mode.
    """

    __pydantic_config__ = _STRICT

    run_id: str
    started_at: datetime
    completed_at: datetime
    collection: str
    generation: int
    embedder: str
    mode: Mode | None
    top_k: int
    golden: str
    golden_digest: str
    totals: Totals
    means: Mapping[str, float]
    false_accept_rate: float | None
    p50_ms: float
    p95_ms: float
    verdict: Verdict
    reasons: tuple[str, ...]
    interrupted: str
    surefind_version: str
    schema: Literal["surefind.run/1"] = SCHEMA
    target: str = ""

    @property
    def place(self) -> str:
        """What was searched, as the history shows it."""
        return self.target or (self.mode.value if self.mode else "")

    @property
    def is_whole(self) -> bool:
        return not self.interrupted and self.totals.total > 0


def remembered(report: Report) -> PastRun:
    subject = report.subject
    return PastRun(
        run_id=report.run_id,
        started_at=report.started_at,
        completed_at=report.completed_at,
        collection=subject.collection,
        generation=subject.generation,
        embedder=subject.embedder,
        mode=subject.mode,
        top_k=subject.top_k,
        golden=report.golden,
        golden_digest=report.golden_digest,
        totals=report.totals,
        means=report.means.values,
        false_accept_rate=report.negatives.false_accept_rate,
        p50_ms=report.latency.p50_ms,
        p95_ms=report.latency.p95_ms,
        verdict=report.verdict,
        reasons=report.reasons,
        interrupted=report.interrupted,
        surefind_version=subject.surefind_version,
        target=subject.target,
    )


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs of the same questions with the same options, oldest first.

    `measure` is the first that all runs have; if there is none, it is empty and the trend shows
    the fraction of passed tests.
    """

    golden: str
    mode: Mode | None
    top_k: int
    measure: str
    runs: tuple[PastRun, ...]

    @property
    def name(self) -> str:
        return self.measure or "passed"

    @property
    def place(self) -> str:
        return self.runs[-1].place

    @property
    def values(self) -> tuple[float, ...]:
        if self.measure:
            return tuple(run.means[self.measure] for run in self.runs)
        return tuple(run.totals.passed / run.totals.total for run in self.runs)


def trends(runs: Iterable[PastRun]) -> tuple[Trend, ...]:
    """One trend for each set of options with two or more runs; that of the latest run first.

    Runs that ended early are excluded, because their numbers are not comparable.
    """
    grouped: dict[tuple[str, int, str, bool], list[PastRun]] = {}
    for run in sorted(runs, key=lambda run: run.started_at):
        if run.is_whole:
            key = (run.golden_digest, run.top_k, run.place, bool(run.means))
            grouped.setdefault(key, []).append(run)
    found = [_trend(group) for group in grouped.values() if len(group) > 1]
    return tuple(sorted(found, key=lambda one: one.runs[-1].started_at, reverse=True))


def trend_of(report: Report, runs: Iterable[PastRun]) -> Trend | None:
    """The trend whose latest run is this report, if there is one."""
    now = remembered(report)
    earlier = [run for run in runs if run.run_id != now.run_id]
    found = (one for one in trends([*earlier, now]) if one.runs[-1].run_id == now.run_id)
    return next(found, None)


def _trend(runs: Sequence[PastRun]) -> Trend:
    latest = runs[-1]
    shared = (name for name in latest.means if all(name in run.means for run in runs))
    return Trend(latest.golden, latest.mode, latest.top_k, next(shared, ""), tuple(runs))
