"""Reads the test sets of other tools: promptfoo, docs-mcp-server, ragas, DeepEval and Quepid.

The tool is recognized by its keys. A test expects what the tool says about retrieval: judged URLs
or ids, or reference passages, which become quotations. Expected answers are not used.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByName,
    ByText,
    Expectation,
    squeezed,
)
from surefind.evaluation.golden.golden_set import (
    MAX_EXPECTED,
    MAX_ID_LENGTH,
    GoldenSet,
    GoldenTest,
    SuccessCriteria,
    TestKind,
    decoded,
    golden_of_lines,
    golden_of_yaml,
    limited,
)
from surefind.evaluation.golden.located_values import (
    LocatedValue,
    read_json_lines,
    read_yaml,
)
from surefind.evaluation.measures.ranking import MAX_GRADE
from surefind.model import Collapse, GroupBy

_IDS = ("test_id", "id", "question_id", "case_id", "name")
_CATEGORIES = ("test_category", "category", "intent", "synthesizer_name", "evolution_type")
_JUDGED = ("url", "docid", "doc_id", "document_id", "document", "id")
_GRADES = ("grade", "rating", "relevance", "score")

Fields = Mapping[str, LocatedValue]


@dataclass(frozen=True, slots=True)
class _Tool:
    """`marks` are keys of which a test has all of one group; `questions` hold the question.

    `judgements` hold graded results, `names` URLs or ids of expected ones, `passages` their texts.
    """

    name: str
    marks: tuple[frozenset[str], ...]
    questions: tuple[str, ...]
    judgements: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        return ", ".join((*self.judgements, *self.names, *self.passages))


_PROMPTFOO = _Tool(
    "promptfoo",
    (frozenset({"vars"}),),
    ("query", "question", "input", "q", "prompt"),
    judgements=("qrels",),
    names=("expected_urls", "urls", "url"),
    passages=("context", "contexts"),
)
_RAGAS = _Tool(
    "ragas",
    (
        frozenset({"user_input"}),
        frozenset({"question", "contexts"}),
        frozenset({"question", "ground_truth"}),
        frozenset({"question", "ground_truths"}),
        frozenset({"question", "reference_contexts"}),
        frozenset({"question", "reference_context_ids"}),
    ),
    ("user_input", "question"),
    names=("reference_context_ids",),
    passages=("reference_contexts", "contexts"),
)
_DEEPEVAL = _Tool(
    "DeepEval",
    (
        frozenset({"input", "context"}),
        frozenset({"input", "expected_output"}),
        frozenset({"input", "retrieval_context"}),
        frozenset({"input", "actual_output"}),
    ),
    ("input",),
    passages=("context",),
)
_TOOLS = (_PROMPTFOO, _RAGAS, _DEEPEVAL)


def read_any_yaml(source: str, content: bytes) -> GoldenSet:
    """Golden tests in YAML or JSON, or the test set of another tool."""
    root = read_yaml(source, decoded(source, content))
    items = _listed(root)
    tool = _tool_of(items)
    return golden_of_yaml(source, root) if tool is None else _converted(source, tool, items)


def read_any_lines(source: str, content: bytes) -> GoldenSet:
    """Golden tests in JSON lines, or the test set of another tool."""
    lines = list(read_json_lines(source, decoded(source, content)))
    tool = _tool_of(lines)
    return golden_of_lines(source, lines) if tool is None else _converted(source, tool, lines)


def read_csv(source: str, content: bytes) -> GoldenSet:
    """Ratings of Quepid, or a table of ragas or DeepEval. Lists in cells are JSON or Python."""
    rows = csv.DictReader(io.StringIO(decoded(source, content), newline=""), strict=True)
    try:
        names = [name.strip() for name in rows.fieldnames or ()]
        rows.fieldnames = names
        items = [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        raise InputError(f"{source}, line {rows.line_num}: invalid CSV: {error}") from error
    if not names:
        raise InputError(f"{source} is empty; a CSV file needs a line with the names of columns")
    if {"query", "docid", "rating"} <= {name.casefold() for name in names}:
        return _quepid(source, items)
    located = [_located_row(source, line, row) for line, row in items]
    tool = _tool_of(located) or next(
        (tool for tool in _TOOLS if any(mark <= set(names) for mark in tool.marks)), None
    )
    if tool is None:
        raise InputError(
            f"{source}, line 1: unknown columns {', '.join(names)}; use query, docid and rating "
            "(Quepid), user_input and reference_contexts (ragas), or input and context (DeepEval)"
        )
    return _converted(source, tool, located)


# --- which tool -------------------------------------------------------------------------------


def _listed(root: LocatedValue | None) -> Sequence[LocatedValue]:
    """The tests of a file: the root, or what other tools call them."""
    if root is None:
        return ()
    if isinstance(root.value, tuple):
        return root.value
    if not isinstance(root.value, Mapping):
        return ()
    for key in ("entries", "tests", "goldens", "samples", "test_cases"):
        held = root.value.get(key)
        if held is not None and isinstance(held.value, tuple):
            return held.value
    return ()


def _tool_of(items: Sequence[LocatedValue]) -> _Tool | None:
    """The tool whose keys the first test has; None for golden tests of surefind."""
    first = items[0].value if items else None
    if not isinstance(first, Mapping) or {"test_id", "query_text"} <= first.keys():
        return None
    for tool in _TOOLS:
        if any(mark <= first.keys() for mark in tool.marks):
            return tool
    return None


# --- tests ------------------------------------------------------------------------------------


def _converted(source: str, tool: _Tool, items: Sequence[LocatedValue]) -> GoldenSet:
    """No single test decides: a set may expect more passages than `top_k`."""
    taken: set[str] = set()
    tests = []
    for number, item in enumerate(items, start=1):
        if not isinstance(item.value, Mapping):
            item.refuse(f"a test of {tool.name} must be a mapping, not {item.kind}")
        fields = _fields(tool, item)
        question = _question(tool, item, fields)
        expected, wrong = _expectations(tool, fields)
        name = _unused(_name(fields, f"test-{number}"), taken)
        tests.append(_test(name, question, expected, wrong, _category(fields), item.line))
    return _measured(source, tests)


def _measured(source: str, tests: Sequence[GoldenTest]) -> GoldenSet:
    """If whole pages are judged, pages are ranked: a second passage of one takes no rank."""
    judged = [one for test in tests for one in (*test.expected, *test.known_wrong)]
    return GoldenSet(
        source,
        limited(source, tests),
        measured_only=True,
        collapse=Collapse.OFF,
        group_by=GroupBy.DOCUMENT if judged and all(map(_is_page, judged)) else None,
    )


def _is_page(one: Expectation) -> bool:
    if isinstance(one, ByAddress):
        return not one.heading and "#" not in one.url
    return isinstance(one, ByName)


def _test(
    name: str,
    question: str,
    expected: tuple[Expectation, ...],
    wrong: tuple[Expectation, ...],
    category: str,
    line: int,
) -> GoldenTest:
    criteria = SuccessCriteria(1 / len(expected)) if expected else SuccessCriteria()
    kind = TestKind.QUERY if wrong and not expected else TestKind.POSITIVE
    return GoldenTest(
        name, question, kind, expected, criteria, category, known_wrong=wrong, line=line
    )


def _fields(tool: _Tool, item: LocatedValue) -> Fields:
    """The keys of a test; those in promptfoo's `vars` and `metadata` as if they were its own."""
    assert isinstance(item.value, Mapping)
    fields = dict(item.value)
    for key in ("metadata", "additional_metadata", "vars") if tool is _PROMPTFOO else ():
        held = fields.get(key)
        if held is not None and isinstance(held.value, Mapping):
            fields |= held.value
    return fields


def _question(tool: _Tool, item: LocatedValue, fields: Fields) -> str:
    for key in tool.questions:
        held = fields.get(key)
        if held is not None and held.value is not None:
            if isinstance(held.value, tuple):
                held.refuse(f"{key} is a conversation; only single questions can be searched for")
            return held.text(key)
    known = " or ".join(tool.questions)
    return item.refuse(f"the test has no question; {tool.name} has it in {known}")


def _name(fields: Fields, otherwise: str) -> str:
    for key in _IDS:
        held = fields.get(key)
        if (
            held is not None
            and isinstance(held.value, str | int)
            and not isinstance(held.value, bool)
        ):
            name = "".join(one for one in squeezed(str(held.value)) if one.isprintable())
            return name[:MAX_ID_LENGTH] or otherwise
    return otherwise


def _unused(name: str, taken: set[str]) -> str:
    """Names need not be unique in other tools."""
    candidate, number = name, 2
    while candidate in taken:
        candidate = f"{name[: MAX_ID_LENGTH - 8]} ({number})"
        number += 1
    taken.add(candidate)
    return candidate


def _category(fields: Fields) -> str:
    for key in _CATEGORIES:
        held = fields.get(key)
        if held is not None and isinstance(held.value, str) and held.value.strip():
            return squeezed(held.value)
    return ""


# --- expectations -----------------------------------------------------------------------------


def _expectations(
    tool: _Tool, fields: Fields
) -> tuple[tuple[Expectation, ...], tuple[Expectation, ...]]:
    """What is relevant and what is not: graded results, else named ones, else passages."""
    readers: tuple[tuple[tuple[str, ...], Callable[[str, LocatedValue], Expectation]], ...] = (
        (tool.judgements, _judgement),
        (tool.names, lambda key, one: _named(one.identifier(key), 1)),
        (tool.passages, lambda key, one: ByText(one.text(key))),
    )
    for keys, reader in readers:
        for key in keys:
            items = _items(fields.get(key))
            found = _distinct(reader(key, one) for one in items)
            if found:
                return (
                    tuple(one for one in found if one.grade > 0),
                    tuple(one for one in found if one.grade == 0),
                )
    return (), ()


def _items(held: LocatedValue | None) -> Sequence[LocatedValue]:
    if held is None or held.value is None or held.value == "":
        return ()
    items = held.value if isinstance(held.value, tuple) else (held,)
    if len(items) > MAX_EXPECTED:
        held.refuse(f"{len(items)} expected results; at most {MAX_EXPECTED} are allowed")
    return [one for one in items if not (isinstance(one.value, str) and not one.value.strip())]


def _distinct(found: Iterable[Expectation]) -> list[Expectation]:
    """The same result may be listed twice; the first grade counts."""
    held: dict[str, Expectation] = {}
    for one in found:
        held.setdefault(one.text if isinstance(one, ByText) else str(one), one)
    return list(held.values())


def _judgement(key: str, place: LocatedValue) -> Expectation:
    if not isinstance(place.value, Mapping):
        place.refuse(f"{key}: each must have a url and a grade, not {place.kind}")
    values = place.value
    name = next((values[one] for one in _JUDGED if one in values), None)
    if name is None:
        place.refuse(f"{key}: the judgement has no url; it has {', '.join(values) or 'nothing'}")
    grade = next((values[one] for one in _GRADES if one in values), None)
    if grade is None:
        place.refuse(f"{key}: the judgement of {name.written} has no grade")
    return _named(name.identifier("url"), _grade(grade))


def _grade(held: LocatedValue) -> int:
    value = held.value
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            held.refuse(f"the grade must be a number, not {held.value!r}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        held.refuse(f"the grade must be a number, not {held.kind}")
    if value != int(value) or not -MAX_GRADE <= value <= MAX_GRADE:
        held.refuse(f"the grade must be a whole number up to {MAX_GRADE}, not {held.written}")
    return max(0, int(value))


def _named(name: str, grade: int) -> Expectation:
    return ByAddress(name, grade=grade) if "://" in name else ByName(name, grade)


# --- CSV --------------------------------------------------------------------------------------


def _located_row(source: str, line: int, row: Mapping[str, object]) -> LocatedValue:
    cells = {
        name: _cell(source, line, value.strip())
        for name, value in row.items()
        if isinstance(value, str) and value.strip()
    }
    return LocatedValue(source, line, cells)


def _cell(source: str, line: int, written: str) -> LocatedValue:
    if written[:1] == "[":
        for parse in (json.loads, ast.literal_eval):
            try:
                values = parse(written)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(values, list):
                members = (LocatedValue(source, line, str(one), str(one)) for one in values)
                return LocatedValue(source, line, tuple(members))
    return LocatedValue(source, line, written, written)


def _quepid(source: str, rows: Sequence[tuple[int, Mapping[str, object]]]) -> GoldenSet:
    """A rating per line. A query without ratings is kept, as unjudged."""
    lines: dict[str, int] = {}
    judged: dict[str, dict[str, int]] = {}
    for line, row in rows:
        cells = {
            name.casefold(): value.strip() for name, value in row.items() if isinstance(value, str)
        }
        query, document, rating = (cells.get(key, "") for key in ("query", "docid", "rating"))
        if not query:
            raise InputError(f"{source}, line {line}: the query is missing")
        lines.setdefault(query, line)
        grades = judged.setdefault(query, {})
        if not rating:
            continue
        if not document:
            raise InputError(f"{source}, line {line}: the docid is missing")
        grade = _grade(LocatedValue(source, line, rating, rating))
        if grades.setdefault(document, grade) != grade:
            raise InputError(f"{source}, line {line}: {document} has two ratings for {query!r}")
    taken: set[str] = set()
    tests = []
    for query, grades in judged.items():
        named = [_named(document, grade) for document, grade in grades.items()]
        expected = tuple(one for one in named if one.grade > 0)
        wrong = tuple(one for one in named if one.grade == 0)
        name = _unused(squeezed(query)[:MAX_ID_LENGTH], taken)
        kind = TestKind.POSITIVE if expected else TestKind.QUERY
        criteria = SuccessCriteria(1 / len(expected)) if expected else SuccessCriteria()
        line = lines[query]
        tests.append(
            GoldenTest(name, query, kind, expected, criteria, known_wrong=wrong, line=line)
        )
    if not tests:
        raise InputError(f"{source} has no ratings; write one per line")
    return _measured(source, tests)
