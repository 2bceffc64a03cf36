"""Infers from sample answers where a retriever's results are, and what their keys mean."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from surefind.errors import TargetError
from surefind.mapping.inference import Inference, RoleChoice, infer
from surefind.mapping.names import words_of
from surefind.mapping.paths import MAX_DEPTH, joined, leaves
from surefind.mapping.results import (
    MAX_RESULTS,
    PLAIN,
    Item,
    in_brief,
    is_number,
    items_at,
    linked_results,
    number_at,
    parsed,
    says_nothing_found,
)
from surefind.model import AnswerForm, JsonValue, ResultMapping, Role

_ROLES = (Role.URL, Role.SOURCE_PATH, Role.ID, Role.DOCUMENT, Role.TITLE, Role.SECTION, Role.TEXT)
_IDENTITIES = (Role.URL, Role.SOURCE_PATH, Role.ID, Role.DOCUMENT)
_MOST_LISTS = 30
_SCORES = {
    "similarity": 1.0,
    "cosine": 1.0,
    "score": 0.95,
    "relevance": 0.9,
    "rrf": 0.8,
    "bm25": 0.8,
    "confidence": 0.7,
    "distance": 0.6,
    "weight": 0.4,
}
_SIMILARITIES = {"similarity", "cosine"}
_HAS_SCORE = re.compile("|".join(_SCORES), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScoreChoice:
    """The key of the score, empty if there is none."""

    key: str = ""
    evidence: tuple[str, ...] = ()
    is_similarity: bool = False


@dataclass(frozen=True, slots=True)
class ResultInference:
    """The mapping, and what it was inferred from: `results` results in `answers` answers."""

    mapping: ResultMapping
    answers: int
    results: int
    choices: tuple[RoleChoice, ...] = ()
    score: ScoreChoice = ScoreChoice()

    @property
    def evidence(self) -> tuple[str, ...]:
        """A line for each role: the key, why it was chosen, and an example."""
        if self.mapping.form is AnswerForm.TEXT:
            return (f"results: the links in the text, {self.results} in {self.answers} answers",)
        place = self.mapping.items or "the answer itself"
        lines = [f"results: {place}, {self.results} in {self.answers} answers"]
        for choice in self.choices:
            reasons = ", ".join(choice.evidence)
            lines.append(f"{choice.role}: {' or '.join(choice.keys)} ({reasons}): {choice.example}")
            close = [one.path for one in choice.runners_up if not one.same]
            if choice.ambiguous and close:
                lines.append(f"{choice.role}: could also be {close[0]}")
        if not any(choice.role in _IDENTITIES for choice in self.choices):
            lines.append("nothing identifies a page, so only expected texts can be found")
        if self.score.key:
            lines.append(f"score: {self.score.key} ({', '.join(self.score.evidence)})")
        return tuple(lines)


def infer_results(
    answers: Sequence[JsonValue], given: ResultMapping | None = None
) -> ResultInference:
    """Infer the mapping from answers to several questions.

    `given` may fix parts of it: the list, or the keys of some roles. TargetError if nothing
    identifies the results, or there are none.
    """
    given = given or ResultMapping()
    decoded = [parsed(answer) for answer in answers]
    if given.form is AnswerForm.TEXT:
        return _from_text(decoded)
    paths = _lists(decoded) if given.items is None else [given.items]
    found = [
        candidate for path in paths if (candidate := _candidate(path, decoded, given)) is not None
    ]
    if found:
        return max(found, key=_worth)
    if any(isinstance(answer, str) for answer in decoded):
        return _from_text(decoded)
    shown = next((in_brief(answer) for answer in decoded), "nothing")
    if given.items is not None:
        raise TargetError(f"there are no results at {given.items}; an answer was {shown}")
    raise TargetError(
        "no list of results with a URL, a path or an id was found; set `results` in a target file. "
        f"An answer was {shown}"
    )


def _from_text(answers: Sequence[JsonValue]) -> ResultInference:
    texts = [answer for answer in answers if isinstance(answer, str)]
    results = sum(len(linked_results(text)) for text in texts)
    if not results:
        remark = next((text for text in texts if not says_nothing_found(text)), "")
        shown = f"an answer was {in_brief(remark)}" if remark else "no question had a result"
        raise TargetError(f"no results were found in {len(answers)} answers; {shown}")
    return ResultInference(ResultMapping(AnswerForm.TEXT), len(answers), results)


def _lists(answers: Sequence[JsonValue]) -> list[str]:
    paths = dict.fromkeys(path for answer in answers for path in _lists_in(answer))
    return list(paths)[:_MOST_LISTS]


def _lists_in(answer: JsonValue, parent: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of all lists of objects or strings, outermost first."""
    if depth > MAX_DEPTH:
        return
    if isinstance(answer, list):
        if any(isinstance(item, dict | str | list) for item in answer):
            yield parent
        if parent:
            inside = (item for item in answer[:MAX_RESULTS] if isinstance(item, dict))
            for item in inside:
                yield from _lists_in(item, f"{parent}[]", depth + 1)
    elif isinstance(answer, dict):
        for key, value in answer.items():
            yield from _lists_in(value, joined(parent, key), depth + 1)


def _candidate(
    path: str, answers: Sequence[JsonValue], given: ResultMapping
) -> ResultInference | None:
    lists = [items for answer in answers if (items := items_at(answer, path))]
    items = [item for held in lists for item in held]
    if not items:
        return None
    inference = infer(_distinct(items), given.keys)
    choices = tuple(_chosen(inference))
    if not any(choice.role in {*_IDENTITIES, Role.TEXT} for choice in choices):
        if not all(set(item) == {PLAIN} and len(str(item[PLAIN]).split()) == 1 for item in items):
            return None
        choices = (RoleChoice(Role.ID, (PLAIN,), 1.0, ("single words",), (), str(items[0][PLAIN])),)
    score = _score(lists, given)
    keys = {choice.role: choice.keys for choice in choices}
    return ResultInference(
        ResultMapping(
            items=path,
            keys=keys,
            score=score.key,
            similarity=given.similarity or (score.key if score.is_similarity else ""),
        ),
        len(answers),
        len(items),
        choices,
        score,
    )


def _distinct(items: Sequence[Item]) -> list[Item]:
    """Several questions may have the same result, which must not look like a repeated key."""
    seen: dict[object, Item] = {}
    for item in items:
        words = {path: value for path, value in leaves(item).items() if not is_number(value)}
        seen.setdefault(frozenset(words.items()), item)
    return list(seen.values())


def _chosen(inference: Inference) -> Iterator[RoleChoice]:
    for role in _ROLES:
        choice = inference.of(role)
        if choice.keys:
            yield choice


def _worth(found: ResultInference) -> tuple[float, int, int]:
    """Prefer results that are identified and have a text, then longer lists, then outer ones."""
    by_role = {choice.role: choice.score for choice in found.choices}
    identity = max((by_role.get(role, 0.0) for role in _IDENTITIES), default=0.0)
    worth = 2 * identity + by_role.get(Role.TEXT, 0.0) + 0.5 * bool(found.score.key)
    return worth, found.results, -(found.mapping.items or "").count(".")


# --- the score --------------------------------------------------------------------------------


def _score(lists: Sequence[Sequence[Item]], given: ResultMapping) -> ScoreChoice:
    if given.score:
        return ScoreChoice(given.score, ("given",), bool(given.similarity))
    paths = dict.fromkeys(
        path
        for items in lists
        for item in items
        for path, value in leaves(item).items()
        if is_number(value) and _HAS_SCORE.search(path)
    )
    known = [(_score_name(path), path) for path in paths]
    named = [(weight, path) for weight, path in known if weight]
    if not named:
        return ScoreChoice()
    _, path = max(named, key=lambda one: (one[0] + 0.5 * _is_sorted(lists, one[1]), one[1]))
    evidence = ["its name matches"]
    if _is_sorted(lists, path):
        evidence.append("sorted in every answer")
    values = [
        value for items in lists for item in items if (value := number_at(item, path)) is not None
    ]
    is_similarity = bool(_SIMILARITIES & set(words_of(path)[0])) and all(
        0 <= value <= 1 for value in values
    )
    if is_similarity:
        evidence.append("from 0 to 1, so thresholds apply")
    return ScoreChoice(path, tuple(evidence), is_similarity)


def _score_name(path: str) -> float:
    words = set(words_of(path)[0])
    return max((weight for word, weight in _SCORES.items() if word in words), default=0.0)


def _is_sorted(lists: Sequence[Sequence[Item]], path: str) -> bool:
    for items in lists:
        values = [value for item in items if (value := number_at(item, path)) is not None]
        if any(first < second for first, second in pairwise(values)) and any(
            first > second for first, second in pairwise(values)
        ):
            return False
    return True
