"""Reads published test collections: BEIR's queries and qrels, TREC's topics and qrels.

A document of a test collection is matched to the page with that name, or the chunk with that id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByName
from surefind.evaluation.golden.golden_set import (
    GoldenSet,
    GoldenTest,
    SuccessCriteria,
    TestKind,
    decoded,
    limited,
)
from surefind.evaluation.golden.located_values import read_json_lines
from surefind.evaluation.measures.ranking import MAX_GRADE
from surefind.model import Collapse, GroupBy

Grades = Mapping[str, Mapping[str, int]]
"""Query id -> document id -> grade."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(?:\.0*)?")
_TOPIC = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(num|title)>(.*?)(?=<|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER_LABEL = re.compile(r"^\s*(?:Number|Topic)\s*:\s*", re.IGNORECASE)


def read_beir_queries(source: str, content: bytes) -> dict[str, str]:
    """Lines of `{"_id": …, "text": …}`; other keys are ignored."""
    queries: dict[str, str] = {}
    for line in read_json_lines(source, decoded(source, content)):
        if not isinstance(line.value, Mapping) or not {"_id", "text"} <= line.value.keys():
            line.refuse("a query needs an _id and a text")
        name = line.value["_id"].identifier("_id")
        if name in queries:
            line.refuse(f"duplicate query {name!r}")
        queries[name] = line.value["text"].text("text")
    return queries


def read_qrels(source: str, content: bytes) -> Grades:
    """Read BEIR's three columns with a header, or TREC's four. Other lines are errors."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(decoded(source, content).split("\n"), start=1):
        columns = line.split("\t") if "\t" in line else line.split()
        columns = [column.strip() for column in columns]
        if not any(columns) or (number == 1 and columns[-1].casefold() == "score"):
            continue
        if len(columns) not in {3, 4} or not all(columns) or not _WHOLE.fullmatch(columns[-1]):
            raise InputError(
                f"{source}, line {number}: a judgement needs a query, a document and a grade, "
                "with or without TREC's unused second column"
            )
        query, document, grade = columns[0], columns[-2], int(float(columns[-1]))
        if grade > MAX_GRADE:
            raise InputError(
                f"{source}, line {number}: the highest grade is {MAX_GRADE}, not {grade}"
            )
        known = grades.setdefault(query, {})
        if known.setdefault(document, grade) != grade:
            raise InputError(f"{source}, line {number}: {query} {document} has two grades")
    if not grades:
        raise InputError(f"{source} is empty; write one judgement per line")
    return grades


def read_topics(source: str, content: bytes) -> dict[str, str]:
    """Read TREC's tagged topics, or lines with an id, a tab and a question."""
    text = decoded(source, content)
    pairs = _tagged(source, text) if "<top>" in text.casefold() else _tabbed(source, text)
    queries: dict[str, str] = {}
    for name, question in pairs:
        if name in queries:
            raise InputError(f"{source}: duplicate topic {name!r}")
        queries[name] = question
    return queries


def _tagged(source: str, text: str) -> Iterable[tuple[str, str]]:
    for match in _TOPIC.finditer(text):
        fields = {name.casefold(): value for name, value in _FIELD.findall(match.group(1))}
        name = _NUMBER_LABEL.sub("", fields.get("num", "")).strip()
        question = re.sub(r"^\s*Topic:", "", fields.get("title", ""), flags=re.IGNORECASE)
        if not name or not question.strip():
            line = text.count("\n", 0, match.start()) + 1
            raise InputError(f"{source}, line {line}: the topic has no number or no title")
        yield name, " ".join(question.split())


def _tabbed(source: str, text: str) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        name, tab, question = line.partition("\t")
        if not line.strip():
            continue
        if not tab or not name.strip() or not question.strip():
            raise InputError(f"{source}, line {number}: a topic needs an id, a tab and a question")
        yield name.strip(), question.strip()


def judged_set(name: str, queries: Mapping[str, str], grades: Grades) -> GoldenSet:
    """Build a golden set of all queries. Those without a relevant document count as unjudged."""
    unknown = [query for query in grades if query not in queries]
    if unknown:
        raise InputError(
            f"{name}: the query {unknown[0]!r} has judgements but no text; use the qrels that "
            "belong to these queries"
        )
    tests = [_test(query, text, grades.get(query, {})) for query, text in queries.items()]
    # Identical documents are judged separately, so collapsing would hide judged hits.
    # Whole documents are judged, so a second passage of one must not take a rank.
    return GoldenSet(
        name,
        limited(name, tests),
        measured_only=True,
        collapse=Collapse.OFF,
        group_by=GroupBy.DOCUMENT,
    )


def _test(query: str, text: str, grades: Mapping[str, int]) -> GoldenTest:
    expected = tuple(ByName(document, grade) for document, grade in grades.items() if grade > 0)
    wrong = tuple(ByName(document, 0) for document, grade in grades.items() if grade == 0)
    kind = TestKind.POSITIVE if expected else TestKind.QUERY
    # A query can have more relevant documents than top_k, so one found document is enough.
    criteria = SuccessCriteria(1 / len(expected)) if expected else SuccessCriteria()
    return GoldenTest(query, text, kind, expected, criteria, known_wrong=wrong)
