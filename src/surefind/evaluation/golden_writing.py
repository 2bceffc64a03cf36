"""Golden tests as text: new files, and one more test in a file that somebody wrote by hand.

A file is added to, never written anew: its comments, its order and its line ends stay. What comes
out is read again and must hold the old tests and the new one, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import yaml

from surefind.errors import InputError
from surefind.evaluation.expectations import ByAddress, ByChunk, ByName, BySource, Expectation
from surefind.evaluation.golden import (
    GoldenSet,
    GoldenTest,
    TestKind,
    decoded,
    read_golden_lines,
    read_golden_yaml,
)

_LOADER: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = re.compile(r"[a-z][a-z0-9_-]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_ODD = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MARK = "\ufeff"


def new_file(tests: Iterable[GoldenTest], remarks: Sequence[str]) -> str:
    """`remarks` are lines of comment, for the top."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in remarks)
    items = "\n".join(_item(test, 2) for test in tests)
    return f"{head}\ntests:\n{items}" if items else f"{head}\ntests: []\n"


def with_test(source: str, content: bytes, test: GoldenTest) -> bytes:
    """The file with one more test at the end of its list."""
    lines = source.casefold().endswith((".jsonl", ".ndjson"))
    read = read_golden_lines if lines else read_golden_yaml
    before = read(source, content) if content.strip() or not lines else GoldenSet(source, ())
    mark = _MARK if content.startswith(_MARK.encode()) else ""
    text = decoded(source, content)
    added = _with_line(text, test) if lines else _with_item(text, test)
    if b"\r\n" in content:
        added = added.replace("\n", "\r\n")
    after = (mark + added).encode()
    wanted = replace(before, tests=(*before.tests, test))
    try:
        is_safe = read(source, after) == wanted
    except InputError as error:
        raise InputError(f"one more test does not fit into {source}: {error}") from error
    if not is_safe:
        raise InputError(f"{source}: there is no safe place for one more test; add it by hand")
    return after


# --- YAML -------------------------------------------------------------------------------------


def _with_item(text: str, test: GoldenTest) -> str:
    root, tests = _nodes(text)
    lines = text.split("\n")
    if root.flow_style or (tests.flow_style and tests.value):
        return _with_flow_item(lines, tests, test)
    if not tests.value:
        return _with_first_item(lines, tests, test)
    last = _last_leaf(tests).end_mark
    at = last.line + 1 if last.column else last.line
    if at >= len(lines):
        lines.append("")
    item = _item(test, tests.start_mark.column).rstrip("\n")
    above = tests.value[-1].start_mark.line - 1
    lines.insert(at, f"\n{item}" if len(tests.value) > 1 and not lines[above].strip() else item)
    joined = "\n".join(lines)
    return joined if joined.endswith("\n") else joined + "\n"


def _with_flow_item(lines: list[str], tests: yaml.SequenceNode, test: GoldenTest) -> str:
    """In brackets, a test is written as JSON."""
    written = json.dumps(values_of(test), ensure_ascii=False)
    line, column = tests.start_mark.line, tests.start_mark.column + 1
    if tests.value:
        line, column = tests.value[-1].end_mark.line, tests.value[-1].end_mark.column
        written = f", {written}"
    lines[line] = f"{lines[line][:column]}{written}{lines[line][column:]}"
    return "\n".join(lines)


def _with_first_item(lines: list[str], tests: yaml.SequenceNode, test: GoldenTest) -> str:
    """Empty brackets become a list."""
    begin, end = tests.start_mark, tests.end_mark
    head, tail = lines[begin.line][: begin.column], lines[end.line][end.column :]
    lines[begin.line : end.line + 1] = [f"{head.rstrip()}{tail}", _item(test, 2).rstrip("\n")]
    return "\n".join(lines)


def _nodes(text: str) -> tuple[yaml.MappingNode, yaml.SequenceNode]:
    """The whole, and its list of tests."""
    root = yaml.compose(text, Loader=_LOADER)
    return root, next(value for key, value in root.value if key.value == "tests")


def _last_leaf(node: yaml.Node) -> yaml.Node:
    """Only its end is where it seems: that of a block reaches to whatever comes next."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _item(test: GoldenTest, indent: int) -> str:
    """A test as an item of a block list."""
    values = values_of(test)
    lines = [f"test_id: {_scalar(values['test_id'])}", f"query_text: {_quoted(test.query_text)}"]
    if test.kind is TestKind.NEGATIVE:
        lines.append("expect: none")
    if "expected_results" in values:
        lines.append("expected_results:")
        lines += [f"  - {_flow(one)}" for one in values["expected_results"]]
    if "success_criteria" in values:
        lines.append(f"success_criteria: {_flow(values['success_criteria'])}")
    if test.category:
        lines.append(f"test_category: {_scalar(test.category)}")
    if test.where:
        lines.append(f"where: [{', '.join(map(_quoted, test.where))}]")
    margin = " " * indent
    return f"{margin}- " + f"\n{margin}  ".join(lines) + "\n"


def _flow(values: dict[str, Any]) -> str:
    told = ", ".join(f"{key}: {_scalar(value)}" for key, value in values.items())
    return f"{{{told}}}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value not in _WORDS
        return value if plain else _quoted(value)
    return json.dumps(value)


def _quoted(value: str) -> str:
    """As JSON, which YAML reads too, but for what only YAML takes for the end of a line."""
    written = json.dumps(value, ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match.group()):04x}", written)


# --- JSON -------------------------------------------------------------------------------------


def _with_line(text: str, test: GoldenTest) -> str:
    joined = text if text.endswith("\n") or not text else text + "\n"
    return joined + json.dumps(values_of(test), ensure_ascii=False) + "\n"


def values_of(test: GoldenTest) -> dict[str, Any]:
    """As golden files spell it; what is as usual is left out."""
    values: dict[str, Any] = {"test_id": test.test_id, "query_text": test.query_text}
    if test.kind is TestKind.NEGATIVE:
        values["expect"] = "none"
    if test.expected:
        values["expected_results"] = [_expected(one) for one in test.expected]
    criteria: dict[str, float] = {}
    if test.criteria.min_accuracy != 1.0:
        criteria["min_accuracy"] = test.criteria.min_accuracy
    if test.criteria.min_similarity_score is not None:
        criteria["min_similarity_score"] = test.criteria.min_similarity_score
    if criteria:
        values["success_criteria"] = criteria
    if test.category:
        values["test_category"] = test.category
    if test.where:
        values["where"] = list(test.where)
    return values


def _expected(one: Expectation) -> dict[str, Any]:
    values: dict[str, Any]
    if isinstance(one, ByAddress):
        values = {"url": one.url}
    elif isinstance(one, BySource):
        values = {"source_path": one.source_path}
    elif isinstance(one, ByChunk):
        values = {"chunk_id": one.chunk_id}
    elif isinstance(one, ByName):
        raise InputError(f"{one}: a document of a judged collection has no place in a golden file")
    else:
        values = {"text": one.text}
    heading = getattr(one, "heading", "")
    if heading:
        values["heading"] = heading
    if one.grade != 1:
        values["grade"] = one.grade
    return values
