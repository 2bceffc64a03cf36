"""Writes reports as JSON, and reads baselines."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter, ValidationError

from surefind.errors import InputError, NotComparable
from surefind.evaluation.report.report import SCHEMA, Report


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)


def report_json(report: Report) -> dict[str, Any]:
    values: dict[str, Any] = _adapter().dump_python(report, mode="json")
    return {"schema": values.pop("schema"), **values}


def report_text(report: Report) -> str:
    return json.dumps(report_json(report), ensure_ascii=False, indent=2) + "\n"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of reports, which the package also ships as a file."""
    schema = _adapter().json_schema(mode="serialization")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "A report of surefind validate",
    }
    return head | {name: value for name, value in schema.items() if name != "title"}


def shipped_schema() -> str:
    return (files("surefind.interfaces.reports") / "validation-report.schema.json").read_text(
        "utf-8"
    )


def read_report(source: str, content: bytes) -> Report:
    """Raises NotComparable for another version of the format, InputError for an invalid report."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not valid JSON: {error}") from error
    schema = values.get("schema") if isinstance(values, dict) else None
    if schema is None:
        raise InputError(
            f"{source} is not a report; save one with `surefind validate --save-baseline`"
        )
    if schema != SCHEMA:
        raise NotComparable(
            f"{source} has the format {schema!r}, but this surefind reads {SCHEMA!r}; save a new "
            "baseline with --save-baseline"
        )
    try:
        report = _adapter().validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{source}: not a complete report: {place}: {first['msg']}") from error
    _check_measures(source, report)
    return report


def _check_measures(source: str, report: Report) -> None:
    """Reject files with missing or invalid measures before they are compared."""
    names = report.means.values.keys()
    for test in report.tests:
        if test.measures and names - test.measures.keys():
            missing = ", ".join(sorted(names - test.measures.keys()))
            raise InputError(
                f"{source}: not a complete report: test {test.test_id!r} has no {missing}; save "
                "the baseline again with --save-baseline"
            )
        for name, value in test.measures.items():
            if not 0 <= value <= 1:
                raise InputError(
                    f"{source}: not a valid report: {name} of test {test.test_id!r} must be from 0 "
                    f"to 1, not {value:g}; save the baseline again with --save-baseline"
                )
