"""A report as JUnit XML, for continuous integration."""

import re
from xml.etree import ElementTree as ET

from surefind.evaluation.report.report import Outcome, Report, TestOutcome
from surefind.evaluation.report.wording import compared

# Characters that XML 1.0 can't represent.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """Failed tests are failures, errors are errors, and tests without a verdict are skipped."""
    totals = report.totals
    run = report.completed_at - report.started_at
    suite = ET.Element(
        "testsuite",
        name=_text(report.golden),
        tests=str(totals.total + 1),
        failures=str(totals.failed + (report.verdict.value == "fail")),
        errors=str(totals.error),
        skipped=str(
            totals.stale
            + totals.invalid
            + totals.not_run
            + (report.verdict.value == "inconclusive")
        ),
        time=f"{run.total_seconds():.3f}",
        timestamp=report.started_at.isoformat(),
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in report.means.values.items():
        ET.SubElement(properties, "property", name=name, value=f"{value:.6f}")
    for test in report.tests:
        _case(suite, test)
    _verdict(suite, report)
    notes = [f"warning: {warning}" for warning in report.warnings]
    if report.comparison is not None:
        notes += compared(report.comparison)
    if notes:
        ET.SubElement(suite, "system-out").text = _text("\n".join(notes))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, test: TestOutcome) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        name=_text(test.test_id),
        classname=_text(test.category or test.kind.value),
        time=f"{(test.latency_ms or 0.0) / 1000:.6f}",
    )
    if test.outcome is Outcome.PASSED:
        return
    tag = {Outcome.FAILED: "failure", Outcome.ERROR: "error"}.get(test.outcome, "skipped")
    element = ET.SubElement(case, tag, message=_text(test.message or test.outcome.value))
    if tag != "skipped":
        element.set("type", test.cause or test.outcome.value)
    element.text = _text(_details(test))


def _verdict(suite: ET.Element, report: Report) -> None:
    """Rules, hashes and the baseline concern the whole run, which gets its own test case."""
    case = ET.SubElement(suite, "testcase", name="the whole run", classname="verdict", time="0")
    tag = {"fail": "failure", "inconclusive": "skipped"}.get(report.verdict.value)
    if tag is not None:
        element = ET.SubElement(case, tag, message=_text("; ".join(report.reasons)))
        element.text = _text("\n".join(report.reasons))


def _details(test: TestOutcome) -> str:
    lines = [f"query: {test.query_text}"]
    for sought in test.sought:
        place = f"found at rank {sought.rank}" if sought.rank else sought.message or "not found"
        lines.append(f"expected: {sought.expectation}: {place}")
    lines += [f"hit {hit.rank}: {hit.chunk_id} {hit.url} {hit.score:.3f}" for hit in test.found]
    return "\n".join(lines)


def _text(value: str) -> str:
    return _UNWRITABLE.sub("\ufffd", value)
