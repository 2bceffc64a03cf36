"""A report as JSON and back: what `--json` prints, and what a baseline is read from."""

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
    """What every report of this version is like. The package ships it as a file, for others."""
    told = _adapter().json_schema(mode="serialization")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "A report of surefind validate",
    }
    return head | {name: value for name, value in told.items() if name != "title"}


def shipped_schema() -> str:
    return (files("surefind.interfaces.reports") / "validation-report.schema.json").read_text(
        "utf-8"
    )


def read_report(source: str, content: bytes) -> Report:
    """A report of another version is not comparable; what is no report is the caller's mistake."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: it is no JSON: {error}") from error
    schema = values.get("schema") if isinstance(values, dict) else None
    if schema is None:
        raise InputError(
            f"{source}: it is no report; `surefind validate --save-baseline` makes one"
        )
    if schema != SCHEMA:
        raise NotComparable(
            f"{source}: it is of the form {schema!r}, this surefind reads {SCHEMA!r}"
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
    """A file that was edited by hand must not fail in the middle of a comparison."""
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
                    f"{source}: not a valid report: {name} of test {test.test_id!r} is {value:g}, "
                    "it must be from 0 to 1; save the baseline again with --save-baseline"
                )
