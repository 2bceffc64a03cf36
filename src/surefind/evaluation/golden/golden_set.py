"""Golden sets: questions, what each must find, and when the results are good enough.

A YAML file is a list of tests, or a mapping with `tests` and settings that apply to all of them. In
a JSON Lines file each line is a test; the first line may hold the settings. A plain text file has
one question per line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    BySource,
    ByText,
    Expectation,
)
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.located_values import LocatedValue, read_json_lines, read_yaml
from surefind.evaluation.measures.ranking import MAX_CUTOFF, MAX_GRADE, Measure
from surefind.model import Collapse, GroupBy, Mode

EnumValue = TypeVar("EnumValue", bound=StrEnum)

MAX_BYTES = 32 * 2**20
MAX_TESTS = 100_000
MAX_EXPECTED = 1000
MAX_ID_LENGTH = 200
_DIGEST_LENGTH = 16

_CRITERIA = ("min_accuracy", "min_similarity_score")
_SETTINGS = (
    "version",
    "name",
    "top_k",
    "mode",
    "collapse",
    "group_by",
    "success_criteria",
    "measures",
    "fail_if",
    "warn_if",
)
_TEST = (
    "test_id",
    "query_text",
    "expected_results",
    "expect",
    "success_criteria",
    "test_category",
    "where",
    # Results of an earlier run, as `--tests-out` writes them; ignored.
    "executed_at",
    "result_accuracy",
)
_PLACES = ("chunk_id", "url", "source_path", "text")
_EXPECTED = (*_PLACES, "heading", "grade")


class TestKind(StrEnum):
    """A positive must find something, a negative must not, and a query only has to succeed."""

    __test__ = False

    POSITIVE = "positive"
    NEGATIVE = "negative"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class SuccessCriteria:
    """`min_similarity_score` is None if the tests set no threshold."""

    min_accuracy: float = 1.0
    min_similarity_score: float | None = None


@dataclass(frozen=True, slots=True)
class GoldenTest:
    """A positive test without `expected` is invalid when it runs.

    `known_wrong` holds what was judged as not relevant. `line` and `where_lines` locate the test
    and its conditions in the file; equality ignores them.
    """

    test_id: str
    query_text: str
    kind: TestKind = TestKind.POSITIVE
    expected: tuple[Expectation, ...] = ()
    criteria: SuccessCriteria = field(default_factory=SuccessCriteria)
    category: str = ""
    where: tuple[str, ...] = ()
    known_wrong: tuple[Expectation, ...] = ()
    line: int = field(default=0, repr=False, compare=False)
    where_lines: tuple[int, ...] = field(default=(), repr=False, compare=False)

    @property
    def digest(self) -> str:
        """Covers everything that affects the outcome, so not the category."""
        question = (self.test_id, self.query_text, self.kind, self.criteria, self.where)
        judgements = (sorted(map(repr, self.expected)), sorted(map(repr, self.known_wrong)))
        return hashlib.sha256(repr((question, judgements)).encode()).hexdigest()[:_DIGEST_LENGTH]

    @property
    def is_empty(self) -> bool:
        """Whether it is a positive test without expectations."""
        return self.kind is TestKind.POSITIVE and not self.expected


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """`top_k`, `mode`, `collapse` and `group_by` are None if the file leaves them to the caller.

    In a set that is `measured_only`, no single test fails the run: only the measures count.
    `measure_lines` has the file and line of each measure, including those in rules.
    """

    name: str
    tests: tuple[GoldenTest, ...]
    measures: tuple[Measure, ...] = ()
    gates: tuple[QualityRule, ...] = ()
    top_k: int | None = None
    mode: Mode | None = None
    measured_only: bool = False
    collapse: Collapse | None = None
    group_by: GroupBy | None = None
    measure_lines: Mapping[Measure, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """Covers the questions and their expectations: runs with equal digests are comparable."""
        tests = "\n".join(sorted(map(repr, self.tests)))
        return hashlib.sha256(tests.encode()).hexdigest()


def decoded(source: str, content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise InputError(
            f"{source} has {len(content):,} bytes; at most {MAX_BYTES:,} are allowed; split it"
        )
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source}, line {line}: not UTF-8; save the file as UTF-8") from error


def read_golden_yaml(source: str, content: bytes) -> GoldenSet:
    return golden_of_yaml(source, read_yaml(source, decoded(source, content)))


def golden_of_yaml(source: str, root: LocatedValue | None) -> GoldenSet:
    if root is None or root.value is None:
        raise InputError(f"{source} is empty; a golden file needs a list of tests")
    if isinstance(root.value, Sequence) and not isinstance(root.value, str):
        return _golden_set(source, {}, root.items("tests"))
    values = root.mapping("a golden file", (*_SETTINGS, "tests"))
    if "tests" not in values:
        root.refuse("the list of tests is missing; add `tests`")
    return _golden_set(source, values, values["tests"].items("tests"))


def read_golden_lines(source: str, content: bytes) -> GoldenSet:
    return golden_of_lines(source, list(read_json_lines(source, decoded(source, content))))


def golden_of_lines(source: str, lines: list[LocatedValue]) -> GoldenSet:
    if not lines:
        raise InputError(f"{source} is empty; write one test per line")
    values: Mapping[str, LocatedValue] = {}
    first = lines[0].value
    if isinstance(first, Mapping) and first and not {"test_id", "query_text"} & first.keys():
        values = lines.pop(0).mapping("the first line", _SETTINGS)
    return _golden_set(source, values, lines)


def read_questions(source: str, content: bytes) -> GoldenSet:
    """One question per line; blank lines and lines starting with # are skipped."""
    lines = enumerate(decoded(source, content).split("\n"), start=1)
    questions = [(number, line.strip()) for number, line in lines]
    if not any(line for _, line in questions):
        raise InputError(f"{source} is empty; write one question per line")
    tests = [
        GoldenTest(f"line-{number}", line, TestKind.QUERY, line=number)
        for number, line in questions
        if line and not line.startswith("#")
    ]
    return GoldenSet(source, limited(source, tests))


def limited(source: str, tests: Sequence[GoldenTest]) -> tuple[GoldenTest, ...]:
    if len(tests) > MAX_TESTS:
        raise InputError(
            f"{source} has {len(tests):,} tests; at most {MAX_TESTS:,} are allowed; split it"
        )
    return tuple(tests)


def check_tests(golden: GoldenSet) -> None:
    """InputError if a set that was not read from a file holds no tests, or one of them twice."""
    if not golden.tests:
        raise InputError(f"{golden.name}: there are no tests")
    limited(golden.name, golden.tests)
    seen: set[str] = set()
    for test in golden.tests:
        if not isinstance(test, GoldenTest):
            raise InputError(f"{golden.name}: each must be a GoldenTest, not {test!r:.80}")
        if test.test_id in seen:
            raise InputError(f"{golden.name}: test_id {test.test_id!r} is used twice")
        seen.add(test.test_id)


# --- the whole file ---------------------------------------------------------------------------


def _golden_set(
    source: str, values: Mapping[str, LocatedValue], tests: Sequence[LocatedValue]
) -> GoldenSet:
    if "version" in values:
        values["version"].whole("version", 1, 1)
    criteria = _criteria(values.get("success_criteria"), SuccessCriteria())
    read = [_test(test, criteria) for test in tests]
    _check_ids(zip(read, tests, strict=True))
    top_k = values.get("top_k")
    measures = [(_measure(item), item) for item in _listed(values, "measures")]
    gates = [
        (_gate(severity, item), item)
        for severity in RuleSeverity
        for item in _listed(values, severity.value)
    ]
    named = [*((gate.measure, item) for gate, item in gates), *measures]
    return GoldenSet(
        name=values["name"].text("name") if "name" in values else source,
        tests=limited(source, read),
        measures=tuple(measure for measure, _ in measures),
        gates=tuple(gate for gate, _ in gates),
        measure_lines={
            one: f"{item.source}, line {item.line}" for one, item in named if one is not None
        },
        top_k=None if top_k is None else top_k.whole("top_k", 1, MAX_CUTOFF),
        mode=_one_of(Mode, values["mode"], "mode") if "mode" in values else None,
        collapse=_one_of(Collapse, values["collapse"], "collapse")
        if "collapse" in values
        else None,
        group_by=_one_of(GroupBy, values["group_by"], "group_by") if "group_by" in values else None,
    )


def _check_ids(tests: Iterable[tuple[GoldenTest, LocatedValue]]) -> None:
    lines: dict[str, int] = {}
    for test, place in tests:
        if test.test_id in lines:
            place.refuse(f"test_id {test.test_id!r} is already used in line {lines[test.test_id]}")
        lines[test.test_id] = place.line


def _listed(values: Mapping[str, LocatedValue], key: str) -> Sequence[LocatedValue]:
    """A list, or a single item without brackets."""
    held = values.get(key)
    if held is None:
        return ()
    return (held,) if isinstance(held.value, str) else held.items(key)


def _measure(item: LocatedValue) -> Measure:
    name = item.text("measures")
    try:
        return Measure.parse(name)
    except InputError as error:
        item.refuse(str(error))


def _gate(severity: RuleSeverity, item: LocatedValue) -> QualityRule:
    rule = item.text(severity.value)
    try:
        return QualityRule.parse(severity, rule)
    except InputError as error:
        item.refuse(f"{severity.value}: {error}")


def _one_of(kind: type[EnumValue], item: LocatedValue, key: str) -> EnumValue:
    # YAML reads `off` as false.
    name = "off" if item.value is False else item.text(key)
    if name not in set(kind):
        item.refuse(f"{key} must be one of {', '.join(kind)}, not {name!r}")
    return kind(name)


# --- one test ---------------------------------------------------------------------------------


def _test(place: LocatedValue, criteria: SuccessCriteria) -> GoldenTest:
    values = place.mapping("a test", _TEST)
    for key in ("test_id", "query_text"):
        if key not in values:
            place.refuse(f"the test has no {key}")
    test_id = values["test_id"].identifier("test_id")
    if len(test_id) > MAX_ID_LENGTH or not test_id.isprintable():
        values["test_id"].refuse(
            f"test_id must have at most {MAX_ID_LENGTH} characters, all of them printable"
        )
    expected = _expected(values)
    negative = _is_negative(values)
    if negative and expected:
        values["expect"].refuse("the test has both expect: none and expected_results; remove one")
    category = values.get("test_category")
    where = _listed(values, "where")
    return GoldenTest(
        test_id=test_id,
        query_text=values["query_text"].text("query_text"),
        kind=TestKind.NEGATIVE if negative else TestKind.POSITIVE,
        expected=expected,
        criteria=_criteria(values.get("success_criteria"), criteria),
        category=""
        if category is None or category.value is None
        else category.text("test_category"),
        where=tuple(item.text("where") for item in where),
        line=place.line,
        where_lines=tuple(item.line for item in where),
    )


def _criteria(place: LocatedValue | None, otherwise: SuccessCriteria) -> SuccessCriteria:
    if place is None:
        return otherwise
    values = place.mapping("success_criteria", _CRITERIA)
    accuracy, similarity = (values.get(key) for key in _CRITERIA)
    return SuccessCriteria(
        otherwise.min_accuracy if accuracy is None else _above_zero(accuracy, _CRITERIA[0]),
        otherwise.min_similarity_score if similarity is None else similarity.fraction(_CRITERIA[1]),
    )


def _above_zero(place: LocatedValue, name: str) -> float:
    """Reject zero, with which every test would pass."""
    value = place.fraction(name)
    if not value:
        place.refuse(f"{name} must be above 0.0, not {place.written}")
    return value


def _is_negative(values: Mapping[str, LocatedValue]) -> bool:
    if "expect" not in values:
        return False
    if values["expect"].value != "none":
        values["expect"].refuse("expect can only be none; use expected_results for answers")
    return True


def _expected(values: Mapping[str, LocatedValue]) -> tuple[Expectation, ...]:
    held = values.get("expected_results")
    if held is None or held.value is None:
        return ()
    items = held.items("expected_results")
    if len(items) > MAX_EXPECTED:
        held.refuse(f"expected_results has {len(items)} items; at most {MAX_EXPECTED} are allowed")
    read = tuple(_expectation(item) for item in items)
    for at, expectation in enumerate(read):
        if expectation in read[:at]:
            items[at].refuse(f"expected_results: duplicate {expectation}")
    return read


def _expectation(place: LocatedValue) -> Expectation:
    """Parse an expectation. Plain text is a chunk id, or a URL if it contains `://`."""
    if not isinstance(place.value, Mapping):
        name = place.identifier("expected_results")
        return ByAddress(name) if "://" in name else ByChunk(name)
    values = place.mapping("expected_results", _EXPECTED)
    named = [key for key in _PLACES if key in values]
    if len(named) != 1:
        place.refuse(f"expected_results: each needs exactly one of {', '.join(_PLACES)}")
    grade = values["grade"].whole("grade", 1, MAX_GRADE) if "grade" in values else 1
    heading = values["heading"].text("heading") if "heading" in values else ""
    place_name = values[named[0]]
    if heading and named[0] not in {"url", "source_path"}:
        values["heading"].refuse("heading needs a url or a source_path")
    if named[0] == "url":
        return ByAddress(place_name.text("url"), heading, grade)
    if named[0] == "source_path":
        return BySource(place_name.text("source_path"), heading, grade)
    if named[0] == "text":
        return ByText(place_name.text("text"), grade)
    return ByChunk(place_name.identifier("chunk_id"), grade)
