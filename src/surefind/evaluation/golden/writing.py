"""Writes golden tests: new files, and one more test in an existing file.

An existing file keeps its comments, order and line endings. The result is parsed again and must
contain exactly the old tests and the new one.

The file is extended as text. ruamel.yaml, which keeps comments, would mix line endings, drop blank
lines and rewrite flow sequences elsewhere in the file, and needs seconds for 2,000 tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import yaml

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    ByName,
    BySource,
    Expectation,
)
from surefind.evaluation.golden.golden_set import (
    GoldenSet,
    GoldenTest,
    SuccessCriteria,
    TestKind,
    decoded,
    read_golden_lines,
    read_golden_yaml,
)
from surefind.model.strings import check_string

_LOADER: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = re.compile(r"[a-z][a-z0-9_-]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_ODD = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MARK = "\ufeff"
_MISREAD_BY_YAML = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\x85\u2028\u2029]")
"""Surrogate pairs, as JSON escapes them, and characters that only YAML treats as line ends."""


def new_file(tests: Iterable[GoldenTest], remarks: Sequence[str]) -> str:
    """`remarks` are the comment lines at the top."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in remarks)
    items = "\n".join(_item(test, 2) for test in tests)
    return f"{head}\ntests:\n{items}" if items else f"{head}\ntests: []\n"


def with_test(source: str, content: bytes, test: GoldenTest) -> bytes:
    """The file with the test appended to its list.

    If the test has default criteria, the file's criteria apply to it.
    """
    check_string("test_category", test.category)
    lines = source.casefold().endswith((".jsonl", ".ndjson"))
    read = read_golden_lines if lines else read_golden_yaml
    before = read(source, content) if content.strip() or not lines else GoldenSet(source, ())
    mark = _MARK if content.startswith(_MARK.encode()) else ""
    text = decoded(source, content)
    no_safe_place = InputError(
        f"can't safely add a test to {source}; add it by hand or use another --file"
    )
    try:
        added = _with_line(text, test) if lines else _with_item(text, test)
        if b"\r\n" in content:
            added = added.replace("\n", "\r\n")
        after = (mark + added).encode()
        is_safe = _is_one_more(before, read(source, after), test)
    except yaml.YAMLError as error:  # valid as events, invalid as a tree of nodes
        raise no_safe_place from error
    except InputError as error:
        raise InputError(f"can't add the test to {source}: {error}") from error
    if not is_safe:
        raise no_safe_place
    return after


def _is_one_more(before: GoldenSet, after: GoldenSet, test: GoldenTest) -> bool:
    last = after.tests[-1].criteria
    written = _criteria(test)
    criteria = SuccessCriteria(
        written.get("min_accuracy", last.min_accuracy),
        written.get("min_similarity_score", last.min_similarity_score),
    )
    return after == replace(before, tests=(*before.tests, replace(test, criteria=criteria)))


# --- YAML -------------------------------------------------------------------------------------


def _with_item(text: str, test: GoldenTest) -> str:
    """Uses offsets, because YAML has more kinds of line ends than Python's `split`."""
    root, tests = _nodes(text)
    remarked = "#" in text[tests.start_mark.index : tests.end_mark.index]
    if root.flow_style or (tests.flow_style and (tests.value or remarked)):
        return _with_flow_item(text, tests, test)
    if not tests.value:
        return _with_first_item(text, tests, test)
    last = _last_leaf(tests).end_mark
    at = last.index
    if last.column:
        line_end = text.find("\n", at)
        at = len(text) if line_end < 0 else line_end + 1
    head = text[:at] if text[:at].endswith("\n") else f"{text[:at]}\n"
    apart = "\n" if len(tests.value) > 1 and _is_after_a_blank_line(text, tests.value[-1]) else ""
    joined = f"{head}{apart}{_item(test, tests.start_mark.column)}{text[at:]}"
    return joined if joined.endswith("\n") else joined + "\n"


def _is_after_a_blank_line(text: str, node: yaml.Node) -> bool:
    above = text[: node.start_mark.index].split("\n")[-2:-1]
    return not any(line.strip() for line in above)


def _with_flow_item(text: str, tests: yaml.SequenceNode, test: GoldenTest) -> str:
    """Add a test to a flow list, as JSON; on its own line if the last test is."""
    written = json.dumps(values_of(test), ensure_ascii=False)
    written = _ODD.sub(_escaped, written)
    at = tests.start_mark.index + 1
    if tests.value:
        last = tests.value[-1]
        at = last.end_mark.index
        margin = text[: last.start_mark.index].rpartition("\n")[2]
        alone = "\n" in text[tests.start_mark.index : last.start_mark.index] and not margin.strip()
        written = f",\n{margin}{written}" if alone else f", {written}"
    return f"{text[:at]}{written}{text[at:]}"


def _with_first_item(text: str, tests: yaml.SequenceNode, test: GoldenTest) -> str:
    """Replace empty brackets with a block list."""
    head, tail = text[: tests.start_mark.index].rstrip(" "), text[tests.end_mark.index :]
    rest, line_end, more = tail.partition("\n")
    return f"{head}{rest}\n{_item(test, 2).rstrip()}{line_end}{more}"


def _nodes(text: str) -> tuple[yaml.CollectionNode, yaml.SequenceNode]:
    """The root, and its list of tests, which may be the root itself."""
    root = yaml.compose(_MISREAD_BY_YAML.sub(_as_long, text), Loader=_LOADER)
    if isinstance(root, yaml.SequenceNode):
        return root, root
    return root, next(value for key, value in root.value if key.value == "tests")


def _as_long(match: re.Match[str]) -> str:
    """Keep the length: only offsets matter here."""
    return "x" * len(match.group())


def _last_leaf(node: yaml.Node) -> yaml.Node:
    """The last scalar: its end mark is exact, while that of a block is the next token's start."""
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
    pairs = ", ".join(f"{key}: {_scalar(value)}" for key, value in values.items())
    return f"{{{pairs}}}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value not in _WORDS
        return value if plain else _quoted(value)
    return json.dumps(value)


def _quoted(value: str) -> str:
    """Quote as JSON, and escape the characters that only YAML treats as line ends."""
    return _ODD.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


# --- JSON -------------------------------------------------------------------------------------


def _with_line(text: str, test: GoldenTest) -> str:
    joined = text if text.endswith("\n") or not text else text + "\n"
    return joined + json.dumps(values_of(test), ensure_ascii=False) + "\n"


def values_of(test: GoldenTest) -> dict[str, Any]:
    """The keys and values of a golden file; defaults are omitted."""
    values: dict[str, Any] = {"test_id": test.test_id, "query_text": test.query_text}
    if test.kind is TestKind.NEGATIVE:
        values["expect"] = "none"
    if test.expected:
        values["expected_results"] = [_expected(one) for one in test.expected]
    if criteria := _criteria(test):
        values["success_criteria"] = criteria
    if test.category:
        values["test_category"] = test.category
    if test.where:
        values["where"] = list(test.where)
    return values


def _criteria(test: GoldenTest) -> dict[str, float]:
    """The criteria that differ from the defaults."""
    criteria: dict[str, float] = {}
    if test.criteria.min_accuracy != 1.0:
        criteria["min_accuracy"] = test.criteria.min_accuracy
    if test.criteria.min_similarity_score is not None:
        criteria["min_similarity_score"] = test.criteria.min_similarity_score
    return criteria


def _expected(one: Expectation) -> dict[str, Any]:
    values: dict[str, Any]
    if isinstance(one, ByAddress):
        values = {"url": one.url}
    elif isinstance(one, BySource):
        values = {"source_path": one.source_path}
    elif isinstance(one, ByChunk):
        values = {"chunk_id": one.chunk_id}
    elif isinstance(one, ByName):
        raise InputError(
            f"{one}: golden files can't name documents of a test collection; use a source_path"
        )
    else:
        values = {"text": one.text}
    heading = getattr(one, "heading", "")
    if heading:
        values["heading"] = heading
    if one.grade != 1:
        values["grade"] = one.grade
    return values
