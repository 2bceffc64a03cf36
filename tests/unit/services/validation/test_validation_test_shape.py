"""The published shape of a validation test, to the letter: read as golden tests, and written."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from interfaces.contracts.field_tables import Field, bad_cases, good_cases, named
from surefind.contracts.implementation_tests import (
    AppliedCriteria,
    ValidationTest,
    validation_tests_of,
)
from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByChunk, BySource
from surefind.evaluation.golden.golden_set import (
    GoldenSet,
    GoldenTest,
    TestKind,
    read_golden_lines,
    read_golden_yaml,
)
from surefind.evaluation.report.report import Outcome
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

# The fields in the order in which they are published.
PUBLISHED = (
    "test_id",
    "query_text",
    "expected_results",
    "success_criteria",
    "test_category",
    "executed_at",
    "result_accuracy",
)
CRITERIA = ("min_accuracy", "min_similarity_score")
TEST = {
    "test_id": "t-1",
    "query_text": "Which voltage does it need?",
    "expected_results": ["install-power-irl42352eb-0", "install-0"],
    "success_criteria": {"min_accuracy": 0.8, "min_similarity_score": 0.5},
    "test_category": "factual",
    "executed_at": "2026-01-02T03:04:05Z",
    "result_accuracy": 0.5,
}
TEXTS = (Field("test_id", str), Field("query_text", str))
SHARES = (
    Field("min_accuracy", float, 1.0, 0.001, 1.0),
    Field("min_similarity_score", float, None, 0.0, 1.0),
)


def read(test: object) -> GoldenTest:
    [one] = read_golden_lines("tests.jsonl", json.dumps(test).encode()).tests
    return one


def test_the_written_shape_has_exactly_the_published_fields() -> None:
    assert tuple(ValidationTest.model_fields) == PUBLISHED
    assert tuple(AppliedCriteria.model_fields) == CRITERIA
    assert set(TEST) == set(PUBLISHED)


def test_it_is_read_as_it_is_published() -> None:
    test = read(TEST)
    assert (test.test_id, test.query_text) == (TEST["test_id"], TEST["query_text"])
    assert test.expected == (ByChunk("install-power-irl42352eb-0"), ByChunk("install-0"))
    assert (test.criteria.min_accuracy, test.criteria.min_similarity_score) == (0.8, 0.5)
    assert (test.kind, test.category) == (TestKind.POSITIVE, "factual")


@pytest.mark.parametrize("content", [[TEST], {"tests": [TEST]}], ids=["a list", "with more"])
def test_a_list_of_them_is_a_golden_file(content: object) -> None:
    golden = read_golden_yaml("tests.json", json.dumps(content).encode())
    assert golden.tests == (read(TEST),)


def test_a_list_twice_the_same_test_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"line \d+: test_id 't-1' is already used in line"):
        read_golden_yaml("tests.json", json.dumps([TEST, TEST], indent=1).encode())


@pytest.mark.parametrize("left_out", PUBLISHED[3:])
def test_what_a_run_fills_in_and_what_has_a_default_may_be_left_out(left_out: str) -> None:
    test = {name: value for name, value in TEST.items() if name != left_out}
    assert read(test).test_id == "t-1"


@pytest.mark.parametrize(
    ("test", "field"), [*bad_cases(TEXTS, TEST)], ids=lambda value: named(value)[:60]
)
def test_names_and_questions_must_be_text(test: dict[str, object], field: str) -> None:
    if field == "test_id" and isinstance(test.get(field), int) and test[field] is not True:
        assert read(test).test_id == str(test[field])  # a number is a name as well
        return
    with pytest.raises(InputError, match=field):
        read(test)


@pytest.mark.parametrize(
    ("criteria", "field"),
    [*bad_cases(SHARES, dict(TEST["success_criteria"]))],  # type: ignore[call-overload]
    ids=lambda value: named(value)[:60],
)
def test_criteria_must_be_within_their_ranges(criteria: dict[str, object], field: str) -> None:
    # NaN and Infinity are not JSON.
    with pytest.raises(InputError, match=rf"{field}|is not a number"):
        read({**TEST, "success_criteria": criteria})


@pytest.mark.parametrize(
    "criteria",
    [*good_cases(SHARES, dict(TEST["success_criteria"]))],  # type: ignore[call-overload]
    ids=named,
)
def test_the_bounds_themselves_are_fine(criteria: dict[str, object]) -> None:
    asked = read({**TEST, "success_criteria": criteria}).criteria
    otherwise = {field.name: field.default for field in SHARES}
    assert asdict(asked) == {**otherwise, **criteria}


# --- written ----------------------------------------------------------------------------------

PAGES = {"a.md": "# Cats\n\nall about cats", "b.md": "# Dogs\n\nall about dogs"}


async def test_a_run_is_written_so_that_it_can_be_run_again(
    home: Installation, tmp_path: Path
) -> None:
    await home.ingest(PAGES)
    golden = GoldenSet(
        "golden.yaml",
        (
            GoldenTest("cats", "all about cats", expected=(BySource("docs/a.md"),), category="c"),
            GoldenTest("both", "cats", expected=(BySource("docs/a.md"), BySource("docs/b.md"))),
            GoldenTest("gone", "cats", expected=(BySource("docs/gone.md"),)),
            GoldenTest("none", "jazz", TestKind.NEGATIVE),
        ),
        top_k=1,
    )
    validator = Validator(home.readers, home.searcher, "test")
    report = await validator.run(golden, RunRequest())
    written = validation_tests_of(report)
    assert [test.test_id for test in written] == ["cats", "both"]
    assert [test.result_accuracy for test in written] == [1.0, 0.5]
    assert [len(test.expected_results) for test in written] == [1, 2]
    assert written[0].test_category == "c"
    told = json.dumps([test.model_dump(mode="json") for test in written])
    again = await validator.run(read_golden_yaml("again.json", told.encode()), RunRequest(top_k=1))
    assert [test.outcome for test in again.tests] == [Outcome.PASSED, Outcome.FAILED]
    assert [test.accuracy for test in again.tests] == [1.0, 0.5]
