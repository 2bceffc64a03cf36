"""A report as TREC run and qrels files, from which trec_eval computes the same numbers."""

import re
from collections.abc import Iterator

from surefind.evaluation.report.report import Report

_BLANK = re.compile(r"\s+")


def trec_run(report: Report) -> str:
    """trec_eval sorts by score alone, so the scores are distinct and decrease with the rank."""
    return "".join(f"{line}\n" for line in _run_lines(report))


def trec_qrels(report: Report) -> str:
    return "".join(f"{line}\n" for line in _qrels_lines(report))


def _run_lines(report: Report) -> Iterator[str]:
    for test in report.tests:
        labels = [label for hit in test.found for label in hit.labels]
        for rank, label in enumerate(labels, start=1):
            score = len(labels) - rank + 1
            yield f"{_word(test.test_id)} Q0 {_word(label)} {rank} {score} surefind"


def _qrels_lines(report: Report) -> Iterator[str]:
    for test in report.tests:
        for sought in test.sought:
            if not sought.stale:
                yield f"{_word(test.test_id)} 0 {_word(sought.label)} {sought.grade}"
        for label in test.known_wrong:
            yield f"{_word(test.test_id)} 0 {_word(label)} 0"


def _word(text: str) -> str:
    """Columns are separated by whitespace, so replace it."""
    return _BLANK.sub("_", text)
