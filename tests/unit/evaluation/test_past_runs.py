"""Runs are kept with their collection, and those that may be compared make a trend."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.files.run_files import KEPT, MAX_BYTES, RunFiles
from surefind.errors import InputError, StoreError
from surefind.evaluation.report.past_runs import PastRun, remembered, trend_of, trends
from surefind.evaluation.statistics.significance import Verdict
from surefind.interfaces.reports.past_runs import history_json, history_text, sparkline
from surefind.model import Mode
from unit.interfaces.validation_reports import BEGIN, full_report, outcome, report

TOLD = report(outcome("a"), outcome("b", 0.5))


def past(number: int, value: float = 0.5, **changes: object) -> PastRun:
    run = replace(
        remembered(TOLD),
        run_id=f"run-{number}",
        started_at=BEGIN + timedelta(minutes=number),
        means={"nDCG@5": value, "MRR": value},
    )
    return replace(run, **changes)  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(DataFolder(tmp_path), kept=5)


def folder(tmp_path: Path) -> Path:
    return tmp_path / "collections" / "docs" / "runs"


async def test_what_is_kept_is_what_comes_back_oldest_first(files: RunFiles) -> None:
    told = remembered(full_report())
    later = past(9, verdict=Verdict.INCONCLUSIVE, interrupted="it was stopped")
    await files.keep(later)
    await files.keep(told)
    assert await files.runs("docs") == ([told, later], [])


async def test_a_new_collection_has_no_past_runs(files: RunFiles) -> None:
    assert await files.runs("docs") == ([], [])
    with pytest.raises(InputError, match="invalid collection name"):
        await files.runs("../docs")


async def test_the_oldest_are_let_go(files: RunFiles, tmp_path: Path) -> None:
    for number in range(8):
        await files.keep(past(number))
    runs, _ = await files.runs("docs")
    assert [run.run_id for run in runs] == [f"run-{number}" for number in range(3, 8)]
    assert len(list(folder(tmp_path).iterdir())) == 5
    assert KEPT == 200


async def test_runs_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    stores = [RunFiles(DataFolder(tmp_path)) for _ in range(4)]
    same = [past(number, started_at=BEGIN) for number in range(20)]
    await asyncio.gather(*(stores[at % 4].keep(run) for at, run in enumerate(same)))
    runs, damaged = await stores[0].runs("docs")
    assert {run.run_id for run in runs} == {run.run_id for run in same}
    assert damaged == []


async def test_damaged_files_are_reported_and_skipped(files: RunFiles, tmp_path: Path) -> None:
    await files.keep(past(1))
    [good] = folder(tmp_path).iterdir()
    content = good.read_text()
    named = {
        "half": content[: len(content) // 2],
        "empty": "",
        "huge": " " * (MAX_BYTES + 1),
        "newer": content.replace("surefind.run/1", "surefind.run/2"),
        "more": json.dumps(json.loads(content) | {"mood": "good"}),
    }
    for name, text in named.items():
        (folder(tmp_path) / f"20260101T000000.000000Z-{name}.json").write_text(text)
    (folder(tmp_path) / "notes.txt").write_text("not ours")
    (folder(tmp_path) / "20260101T000000.000000Z-folder.json").mkdir()
    files = RunFiles(DataFolder(tmp_path), kept=50)
    runs, damaged = await files.runs("docs")
    assert [run.run_id for run in runs] == ["run-1"]
    assert len(damaged) == len(named) + 1
    assert any("mood: " in line for line in damaged)
    assert any("it is too large for a run" in line for line in damaged)
    await files.keep(past(2))
    assert len((await files.runs("docs"))[0]) == 2


async def test_a_folder_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    blocked = tmp_path / "collections" / "docs"
    blocked.mkdir(parents=True)
    (blocked / "runs").write_text("a file stands in the way")
    with pytest.raises(StoreError, match="runs"):
        await RunFiles(DataFolder(tmp_path)).keep(past(1))


# --- trends -----------------------------------------------------------------------------------


def test_only_comparable_runs_are_joined() -> None:
    runs = [
        past(1, 0.5),
        past(2, 0.6, golden_digest="other"),
        past(3, 0.7, top_k=9),
        past(4, 0.8, mode=Mode.DENSE),
        past(5, 0.9, interrupted="it was stopped"),
        past(6, 0.55),
    ]
    [trend] = trends(runs)
    assert [run.run_id for run in trend.runs] == ["run-1", "run-6"]
    assert (trend.name, trend.values) == ("nDCG@5", (0.5, 0.55))


def test_the_trend_is_by_a_measure_that_all_have() -> None:
    [trend] = trends([past(1), past(2, means={"MRR": 0.25, "P@5": 0.1})])
    assert (trend.name, trend.values) == ("MRR", (0.5, 0.25))
    [plain] = trends([past(1, means={}), past(2, means={})])
    assert (plain.name, plain.values) == ("passed", (1.0, 1.0))
    assert trends([past(1), past(2, means={})]) == ()
    [apart] = trends([past(1, means={"R@5": 0.5}), past(2, means={"P@5": 0.5})])
    assert apart.name == "passed"


def test_the_latest_way_of_asking_comes_first() -> None:
    runs = [past(n, golden=name, golden_digest=name) for n, name in enumerate("abab")]
    assert [trend.golden for trend in trends(runs)] == ["b", "a"]


def test_a_report_is_the_latest_of_its_trend_and_counts_once() -> None:
    now = remembered(TOLD)
    earlier = [past(-2), past(-1)]
    trend = trend_of(TOLD, [*earlier, now])
    assert trend is not None
    assert [run.run_id for run in trend.runs] == ["run--2", "run--1", "run-1"]
    assert trend_of(TOLD, []) is None
    assert trend_of(replace(TOLD, interrupted="it was stopped"), earlier) is None


# --- shown ------------------------------------------------------------------------------------


def test_the_terminal_lists_runs_and_draws_trends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    shown = history_text([past(1, 0.25), past(2, 0.5, interrupted="gone"), past(3, 0.75)])
    lines = shown.splitlines()
    assert "2026-01-02 03:05" in lines[2]
    assert "nDCG@5 0.2500" in lines[2]
    assert "(ended early)" in lines[3]
    assert lines[-1] == (
        "golden.yaml (hybrid, top 5): nDCG@5 ▁█ 0.2500 -> 0.7500 (+0.5000 over 2 runs)"
    )
    assert "->" not in history_text([past(1)])


def test_json_has_runs_and_trends() -> None:
    told = history_json([past(1, 0.25), past(2, 0.5)])
    assert told["schema"] == "surefind.history/1"
    assert [run["run_id"] for run in told["runs"]] == ["run-1", "run-2"]
    assert told["trends"][0]["values"] == [0.25, 0.5]
    assert told["trends"][0]["runs"] == ["run-1", "run-2"]
    json.dumps(told)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ((0.0, 0.5, 1.0), "▁▅█"),
        ((0.9, 0.9), "▅▅"),
        ((0.900, 0.901), "▄▅"),
        ((0.0, 0.0), "▁▁"),
        ((1.0, 1.0), "▅▅"),
    ],
)
def test_a_sparkline_shows_differences_and_does_not_blow_up_tiny_ones(
    values: tuple[float, ...], drawn: str
) -> None:
    assert sparkline(values) == drawn
