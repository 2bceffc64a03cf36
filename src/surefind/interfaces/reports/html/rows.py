"""The tests as compact JSON for the page's script, with each passage only once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from surefind.evaluation.golden.golden_set import TestKind
from surefind.evaluation.report.report import ExpectationResult, Outcome, Report, TestOutcome
from surefind.interfaces.reports.html.markup import is_web_address, shortened
from surefind.model import ChunkRecord
from surefind.text.html.to_markdown import readable

MAX_TESTS = 20_000
"""More would make the page too slow; the JSON report has all tests."""
_PASSAGES_CHARS = 700_000
_MOST_CHARS, _FEWEST_CHARS = 1200, 160
_QUERY_CHARS = 2000


def chosen_tests(report: Report) -> Sequence[TestOutcome]:
    """All tests, or as many as fit, starting with those that did not pass."""
    if len(report.tests) <= MAX_TESTS:
        return report.tests
    good = {Outcome.PASSED, Outcome.NOT_RUN}
    return sorted(report.tests, key=lambda test: test.outcome in good)[:MAX_TESTS]


def embedded(report: Report, passages: Mapping[str, ChunkRecord]) -> str:
    """JSON that is safe inside a script element."""
    content = json.dumps(_values(report, passages), ensure_ascii=False, separators=(",", ":"))
    return content.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _values(report: Report, passages: Mapping[str, ChunkRecord]) -> dict[str, Any]:
    tests = chosen_tests(report)
    comparison = report.comparison
    changed: dict[str, str] = {}
    if comparison is not None:
        changed = {one.test_id: "better" for one in comparison.better}
        changed |= {one.test_id: "worse" for one in comparison.worse}
    chunks = _Chunks(passages, tests)
    rows = [_row(test, list(report.means.values), chunks, changed) for test in tests]
    return {
        "measures": list(report.means.values) if report.means.judged else [],
        "compared": comparison is not None,
        "tests": rows,
        "chunks": chunks.rows,
    }


class _Chunks:
    """The chunks of all tests, each once; tests refer to them by number."""

    def __init__(self, passages: Mapping[str, ChunkRecord], tests: Sequence[TestOutcome]) -> None:
        self.rows: list[list[str]] = []
        self._numbers: dict[str, int] = {}
        self._passages = passages
        self._length = max(
            _FEWEST_CHARS, min(_MOST_CHARS, _PASSAGES_CHARS // max(1, len(passages)))
        )
        self._found = {hit.chunk_id: hit for test in tests for hit in test.found}

    def number(self, chunk_id: str) -> int:
        if chunk_id not in self._numbers:
            self._numbers[chunk_id] = len(self.rows)
            self.rows.append(self._row_of(chunk_id))
        return self._numbers[chunk_id]

    def _row_of(self, chunk_id: str) -> list[str]:
        record, found = self._passages.get(chunk_id), self._found.get(chunk_id)
        url = record.link if record else found.url if found else ""
        place = record.breadcrumb or record.title if record else found.section if found else ""
        passage = shortened(readable(record.chunk.text), self._length) if record else ""
        return [chunk_id, url if is_web_address(url) else "", place, passage]


def _row(
    test: TestOutcome, measures: Sequence[str], chunks: _Chunks, changed: Mapping[str, str]
) -> list[Any]:
    return [
        test.test_id,
        shortened(test.query_text, _QUERY_CHARS),
        test.outcome.value,
        "" if test.kind is TestKind.POSITIVE else test.kind.value,
        test.category,
        test.cause,
        "" if any(one.message for one in test.sought) else test.message,
        [_short(test.measures[name]) for name in measures] if test.measures else [],
        _short(test.best_similarity),
        _short(test.latency_ms, 1),
        [_sought(one, chunks) for one in test.sought],
        [
            number
            for hit in test.found
            for number in (
                chunks.number(hit.chunk_id),
                _thousandths(hit.score),
                _thousandths(hit.similarity),
            )
        ],
        changed.get(test.test_id, ""),
    ]


def _sought(one: ExpectationResult, chunks: _Chunks) -> list[Any]:
    return [
        one.expectation,
        one.grade,
        one.rank or 0,
        int(one.stale),
        one.message,
        chunks.number(one.nearest) if one.nearest else -1,
    ]


def _thousandths(value: float | None) -> int | None:
    return None if value is None else round(value * 1000)


def _short(value: float | None, digits: int = 3) -> float | int | None:
    if value is None:
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded
