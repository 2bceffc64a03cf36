"""Results that were made elsewhere: TREC runs and JSON Lines."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from surefind.adapters.files.golden_files import content_of
from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import decoded
from surefind.evaluation.golden.located_values import read_json_lines
from surefind.model import JsonValue, TargetQuery

_QUESTION_KEYS = (
    "test_id",
    "query_id",
    "qid",
    "question_id",
    "topic",
    "id",
    "query_text",
    "query",
    "question",
    "text",
)


class ResultFile:
    """Looks up each question by the id of its test, or else by its text."""

    is_timed = False
    takes_limit = False

    def __init__(self, name: str, answers: Mapping[str, JsonValue]) -> None:
        self._name = name
        self._answers = answers

    async def ask(self, query: TargetQuery) -> JsonValue:
        empty: JsonValue = []
        by_id = self._answers.get(query.test_id)
        return by_id if by_id is not None else self._answers.get(query.text, empty)

    def missing(self, queries: Sequence[TargetQuery]) -> list[str]:
        """The tests without results. InputError if there is none with results."""
        missing = [one.test_id for one in queries if not self._has(one)]
        if queries and len(missing) == len(queries):
            known = ", ".join(list(self._answers)[:3])
            raise InputError(
                f"{self._name} has no results for any of the {len(queries)} tests; it has those "
                f"of {known}, and the tests have ids such as {missing[0]}"
            )
        return missing

    def _has(self, query: TargetQuery) -> bool:
        return query.test_id in self._answers or query.text in self._answers


def trec_run(path: Path) -> ResultFile:
    """Lines of `query Q0 document rank score tag`, in trec_eval's order: by score, then by name."""
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(decoded(path.name, content_of(path)).split("\n"), start=1):
        columns = line.split()
        if not columns:
            continue
        place = f"{path.name}, line {number}"
        if len(columns) != 6:
            raise InputError(
                f"{place}: a line of a run needs six columns: query, Q0, document, rank, score and "
                "the name of the run"
            )
        query, _, document, _, written, _ = columns
        try:
            score = float(written)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise InputError(f"{place}: the score {written} is not a number")
        scores = found.setdefault(query, {})
        if document in scores:
            raise InputError(f"{place}: {query} has the document {document} twice")
        scores[document] = score
    if not found:
        raise InputError(f"{path.name} is empty; a run needs a line for each result")
    return ResultFile(path.name, {query: _ordered(scores) for query, scores in found.items()})


def _ordered(scores: Mapping[str, float]) -> JsonValue:
    by_name = sorted(scores.items(), reverse=True)
    return [
        {"id": name, "score": score} for name, score in sorted(by_name, key=lambda one: -one[1])
    ]


def result_lines(path: Path) -> ResultFile:
    """A question with its list of results per line, or one result per line."""
    answers: dict[str, list[JsonValue]] = {}
    key = ""
    for line in read_json_lines(path.name, decoded(path.name, content_of(path))):
        if not isinstance(line.value, Mapping):
            line.refuse("a line must be an object with a question and its results")
        key = key or next((name for name in _QUESTION_KEYS if name in line.value), "")
        if key not in line.value:
            line.refuse(
                f"the line has no {key}, unlike those before"
                if key
                else f"a line needs one of {', '.join(_QUESTION_KEYS)}"
            )
        values = line.value
        question = values[key].identifier(key)
        answers.setdefault(question, []).append(
            {name: one.plain for name, one in values.items() if name != key}
        )
    if not answers:
        raise InputError(f"{path.name} is empty; write one question or result per line")
    return ResultFile(path.name, {name: _joined(lines) for name, lines in answers.items()})


def _joined(lines: list[JsonValue]) -> JsonValue:
    """One line with a list of results, or several lines with one result each, by their rank."""
    first = lines[0]
    assert isinstance(first, dict)
    if len(lines) == 1 and any(isinstance(value, list) for value in first.values()):
        return first
    return {"results": sorted(lines, key=_rank)}


def _rank(line: JsonValue) -> float:
    rank = line.get("rank") if isinstance(line, dict) else None
    return float(rank) if isinstance(rank, int | float) else 0.0
