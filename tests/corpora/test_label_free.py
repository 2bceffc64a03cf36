"""Tests without labels are valid, and the query log shows questions about other subjects."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(900)


def table_of(module: str, data: Path, cache: Path, *options: str) -> list[list[str]]:
    """The cells of all rows that a benchmark prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *options],
        cwd=ROOT,
        env=os.environ | {"SUREFIND_DATA": str(data), "BENCH_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = re.findall(r"^\| (.*) \|$", done.stdout, re.MULTILINE)
    return [row.split(" | ") for row in rows]


def test_tests_without_labels_order_configurations_as_judged_questions_do(
    data: Path, tmp_path: Path
) -> None:
    rows = table_of("bench.quality.label_free", data, tmp_path, "--only", "vite", "--tests", "40")
    taus = {row[0]: float(row[2]) for row in rows if row[0] in {"links", "headings", "symbols"}}
    assert len(taus) == 3
    assert min(taus.values()) > 0.3, taus


def test_gaps_has_the_questions_about_other_subjects(data: Path, tmp_path: Path) -> None:
    few = ("--questions", "200", "--seeds", "1", "--trees", "vite")
    rows = table_of("bench.quality.gaps", data, tmp_path, *few)
    [head] = [row for row in rows if row[0] == "gaps"]
    by_name = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    by_default, possible = by_name["below 0.5"], by_name["below 0.5, and possible"]
    assert float(by_default["unrelated, recall"]) >= 0.8, rows
    assert float(by_default["all, precision"]) >= 0.7, rows
    assert float(possible["headings, recall"]) > float(by_default["headings, recall"]), rows
    assert float(possible["headings, precision"]) >= 0.5, rows
