"""A report as TREC's run and qrels: trec_eval over them gives the numbers of the report."""

import re
from collections.abc import Iterator

from surefind.evaluation.report.report import Report

_BLANK = re.compile(r"\s+")


def trec_run(report: Report) -> str:
    """trec_eval orders by score alone, so each line has one of its own that falls with the rank."""
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
    """The columns are divided by blanks."""
    return _BLANK.sub("_", text)
