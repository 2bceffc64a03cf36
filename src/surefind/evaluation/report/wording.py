"""Phrases that all human-readable reports share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from surefind.evaluation.golden.gates import RuleSeverity
from surefind.evaluation.report.report import Comparison, Report, TestChange
from surefind.evaluation.statistics.significance import Verdict

SHORT = 200
_NAMED = 5


def in_short(text: str, length: int = SHORT) -> str:
    """Shorten a text to one line.

    >>> in_short("one  two three", 9)
    'one two …'
    """
    # Cut first, so that megabytes of text are not split into words.
    flat = " ".join(text[: 10 * length].split())
    is_whole = len(flat) <= length and len(text) <= 10 * length
    return flat if is_whole else f"{flat[: length - 1]}…"


def passed_by(report: Report) -> str:
    """Why a run passed despite failed tests; empty if no test failed or the run did not pass."""
    if report.verdict is not Verdict.PASS or not report.totals.failed:
        return ""
    has_rules = any(gate.severity is RuleSeverity.FAIL for gate in report.gates)
    return " by its rules" if has_rules else ", because no single test decides"


def values_of(change: TestChange, measure: str, arrow: str = "->") -> str:
    """Both values of the measure, if both are known."""
    if change.value_before is None or change.value_after is None:
        return ""
    return f", {measure} {change.value_before:.3f} {arrow} {change.value_after:.3f}"


def compared(comparison: Comparison, against: str = "the baseline") -> Iterator[str]:
    """The result of a comparison, in the same words in every report."""
    better, worse = len(comparison.better), len(comparison.worse)
    yield (
        f"compared with {against}: {comparison.evidence}: {better} better, {worse} worse, "
        f"{comparison.same} the same"
    )
    if comparison.compared:
        yield (
            f"at most {100 * comparison.worse_at_most:.1f} % of similar queries got worse, with "
            "95 % confidence"
        )
    if lost := comparison.lost_entirely:
        yield f"{lost} of the worse tests found something before and {_find(lost)} nothing now"
    if comparison.became_stale:
        yield f"became stale since the baseline: {_ids(comparison.became_stale)}"
    left_out = (
        ("not in the baseline", comparison.added),
        ("changed since the baseline", comparison.changed),
        ("only in the baseline", comparison.vanished),
    )
    for what, tests in left_out:
        if tests:
            yield f"not compared, {what}: {_few(tests)}"


def _find(count: int) -> str:
    return "finds" if count == 1 else "find"


def _ids(changes: Sequence[TestChange]) -> str:
    return _few([one.test_id for one in changes])


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(in_short(name) for name in names[:_NAMED])
    left = len(names) - _NAMED
    count = f"{len(names)} test{'' if len(names) == 1 else 's'}"
    return f"{count} ({shown}{f' and {left} more' if left > 0 else ''})"
