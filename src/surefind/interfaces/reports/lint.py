"""Lint findings for the terminal and as JSON."""

from collections.abc import Sequence
from typing import Any

from surefind.evaluation.golden.lint import LintFinding, errors_of

SCHEMA = "surefind.lint/1"


def lint_json(file: str, tests: int, findings: Sequence[LintFinding]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "file": file,
        "tests": tests,
        "findings": [
            {
                "severity": one.severity.value,
                "problem": one.problem.value,
                "test_id": one.test_id or None,
                "line": one.line or None,
                "message": one.message,
                "other_test_id": one.other or None,
                "other_line": one.other_line or None,
            }
            for one in findings
        ],
    }


def lint_text(file: str, tests: int, findings: Sequence[LintFinding]) -> str:
    """A line per finding, in the `file:line:` format that editors recognize."""
    lines = []
    for one in findings:
        place = f"{file}:{one.line}" if one.line else file
        problem = one.problem.value.replace("_", " ")
        named = f"{one.test_id}: " if one.test_id else ""
        lines.append(f"{place}: {one.severity.value}: {problem}: {named}{one.message}")
    errors = errors_of(findings)
    counts = {"test": tests, "error": errors, "warning": len(findings) - errors}
    lines.append(", ".join(f"{n} {one}" + ("" if n == 1 else "s") for one, n in counts.items()))
    return "\n".join(lines)
