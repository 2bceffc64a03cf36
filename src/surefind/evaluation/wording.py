"""How reports for people put things; the JSON has everything as it is."""

from __future__ import annotations

from surefind.evaluation.gates import Severity
from surefind.evaluation.report import Report, TestChange
from surefind.evaluation.statistics import Verdict

SHORT = 200


def in_short(text: str, length: int = SHORT) -> str:
    """On one line, and no longer than anybody reads.

    >>> in_short("one  two three", 9)
    'one two …'
    """
    # A text of megabytes is not split into its words for the few that are shown.
    flat = " ".join(text[: 10 * length].split())
    is_whole = len(flat) <= length and len(text) <= 10 * length
    return flat if is_whole else f"{flat[: length - 1]}…"


def passed_by(report: Report) -> str:
    """What a pass goes by where tests failed; nothing where all is well, or nothing passed."""
    if report.verdict is not Verdict.PASS or not report.totals.failed:
        return ""
    has_rules = any(gate.severity is Severity.FAIL for gate in report.gates)
    return " by its rules" if has_rules else ", as no single test decides"


def values_of(change: TestChange, measure: str, arrow: str = "->") -> str:
    """Both values of the measure, where both are known."""
    if change.value_before is None or change.value_after is None:
        return ""
    return f", {measure} {change.value_before:.3f} {arrow} {change.value_after:.3f}"
