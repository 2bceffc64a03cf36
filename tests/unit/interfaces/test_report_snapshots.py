"""Each form of one fixed report, to the letter, as it was looked at and found good.

After a change on purpose, `SUREFIND_WRITE_SNAPSHOTS=1 pytest` on this file writes them anew; look
at the difference before you commit it.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs  # schemathesis brings it
import pytest

from support.fakes import record
from surefind.evaluation.report.comparison import compare_reports
from surefind.evaluation.report.past_runs import remembered, trend_of
from surefind.evaluation.report.report import Outcome, Report
from surefind.evaluation.report.summary import with_comparison
from surefind.interfaces.reports import json_report as json_reports
from surefind.interfaces.reports.html import ReportExtras, html_page
from surefind.interfaces.reports.json_report import (
    json_schema,
    read_report,
    report_json,
    report_text,
    shipped_schema,
)
from surefind.interfaces.reports.junit import junit
from surefind.interfaces.reports.markdown import markdown
from surefind.interfaces.reports.terminal import terminal
from unit.interfaces.validation_reports import full_report, outcome, report

SNAPSHOTS = Path(__file__).parent / "snapshots"
SCHEMA_FILE = Path(json_reports.__file__).parent / "validation-report.schema.json"
WRITING = "SUREFIND_WRITE_SNAPSHOTS" in os.environ


def fixed() -> Report:
    """One of everything, beside a baseline that was better."""
    told = full_report()
    better = tuple(
        replace(test, outcome=Outcome.PASSED, measures={"nDCG@5": 1.0, "MRR": 1.0})
        if test.test_id == "half"
        else test
        for test in told.tests
    )
    before = replace(told, run_id="run-0", tests=better)
    return with_comparison(told, compare_reports(before, told))


def html_summary(told: Report) -> str:
    """What is on the page before its script runs, as lines of text."""
    earlier = replace(
        remembered(told), run_id="run-0", started_at=told.started_at - timedelta(days=1)
    )
    page = html_page(
        told, ReportExtras({"a": record(1, "The passage.")}, trend_of(told, [earlier]))
    )
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]+>", "\n", body).split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


FORMS: dict[str, Callable[[Report], str]] = {
    "terminal.txt": terminal,
    "report.json": report_text,
    "report.md": markdown,
    "junit.xml": junit,
    "html-summary.txt": html_summary,
}


@pytest.mark.parametrize("name", FORMS)
def test_a_report_looks_as_it_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = FORMS[name](fixed())
    if WRITING:
        SNAPSHOTS.mkdir(exist_ok=True)
        (SNAPSHOTS / name).write_text(text, "utf-8")
    assert text == (SNAPSHOTS / name).read_text("utf-8")


# --- the schema of the JSON -------------------------------------------------------------------


def test_the_shipped_schema_is_that_of_the_classes() -> None:
    written = json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n"
    if WRITING:
        SCHEMA_FILE.write_text(written, "utf-8")
    assert shipped_schema() == written


def complaints(values: Any) -> list[str]:
    schema = json.loads(shipped_schema())
    jsonschema_rs.meta.validate(schema)
    return [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(values)]


@pytest.mark.parametrize(
    "told",
    [
        fixed(),
        report(),
        report(outcome("a")),
        replace(full_report(), interrupted="it was stopped", store_away=True),
    ],
    ids=["full", "none", "one", "stopped"],
)
def test_every_report_is_as_the_schema_says(told: Report) -> None:
    values = json.loads(report_text(told))
    assert complaints(values) == []
    assert read_report("r", report_text(told).encode()) == told


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "surefind.validation/2"},
        {"verdict": "maybe"},
        {"mood": "good"},
        {"tests": [{}]},
        {"totals": {"total": "many"}},
        {"run_id": None},
    ],
    ids=str,
)
def test_other_json_than_reports_does_not_match_the_schema(change: dict[str, object]) -> None:
    assert complaints(report_json(fixed()) | change) != []


# --- JUnit, as continuous integration reads it ------------------------------------------------


def test_junit_follows_the_rules_that_its_readers_share() -> None:
    suite = ET.fromstring(junit(fixed()).encode())
    assert suite.tag == "testsuite"
    assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"} <= set(
        suite.attrib
    )
    cases = suite.findall("testcase")
    assert len({(case.attrib["classname"], case.attrib["name"]) for case in cases}) == len(cases)
    kinds = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    for tag, attribute in kinds.items():
        assert int(suite.attrib[attribute]) == sum(case.find(tag) is not None for case in cases)
    assert int(suite.attrib["tests"]) == len(cases)
    for case in cases:
        assert float(case.attrib["time"]) >= 0
        assert len(case) <= 1
        assert {child.tag for child in case} <= kinds.keys()
        for child in case:
            assert child.attrib["message"]
    assert next(iter(suite)).tag == "properties"
