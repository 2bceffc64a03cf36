"""Reads the results in the answers of other retrievers, by a mapping."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace

from surefind.errors import InputError, TargetError
from surefind.mapping.paths import Leaf, is_missing, parts_of, read
from surefind.mapping.profiles import is_url
from surefind.mapping.records import text_in, value_of
from surefind.model import AnswerForm, JsonValue, PayloadMapping, ResultMapping, Role, TargetHit

Item = Mapping[str, object]

MAX_RESULTS = 1000
PLAIN = "value"
"""The key of a result that is only a string."""
_SHOWN = 120
_LINK = re.compile(r"https?://[^\s<>\[\]\"'`|]+")
_LABELLED = re.compile(
    r"^\W*(?:url|uri|link|source|page|file|path|href|reference|location)\W*[:=]\W*?"
    r"(https?://[^\s<>\[\]\"'`|]+|[^\s<>\[\]\"'`|*]+\.[A-Za-z]{1,5}(?:#\S*)?"
    r"|/[^\s<>\[\]\"'`|*]+)",
    re.IGNORECASE | re.MULTILINE,
)
_NOTHING = re.compile(
    r"\b(?:no|nothing|0|zero)\b[^.\n]{0,40}\b(?:result|match|document|page|hit|found)",
    re.IGNORECASE,
)
_BREADCRUMB = re.compile(r"\s+[>›»→|]\s+")  # noqa: RUF001 - signs of breadcrumbs
_LONGEST_REMARK = 400


def check_paths(mapping: ResultMapping) -> None:
    """InputError for a path that can't be followed."""
    keys = (key for keys in mapping.keys.values() for key in keys)
    for path in (mapping.items, mapping.score, mapping.similarity, *keys):
        try:
            parts_of(path or "x")
        except ValueError as error:
            raise InputError(f"results: {error}") from error


def items_at(answer: JsonValue, path: str) -> list[Item] | None:
    """The results at a path, each as an object; None if there is no list.

    A string becomes `{"value": …}`, and a pair of an object and a number, as some libraries return
    them, `{"result": …, "score": …}`.
    """
    held: list[JsonValue] = [answer]
    for step in parts_of(path) if path else ():
        name = step.removesuffix("[]")
        inner = [value[name] for value in held if isinstance(value, dict) and name in value]
        if held and not inner:
            return None
        held = inner
        if step.endswith("[]"):
            held = [item for value in inner if isinstance(value, list) for item in value]
    lists = [value for value in held if isinstance(value, list)]
    if held and not lists:
        return None
    return [_item(item) for value in lists for item in value][:MAX_RESULTS]


def _item(value: JsonValue) -> Item:
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and len(value) == 2 and is_number(value[1]):
        first = value[0] if isinstance(value[0], dict) else {"id": value[0]}
        return {"result": first, "score": value[1]}
    return {PLAIN: value} if isinstance(value, str) else {}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def results_of(answer: JsonValue, mapping: ResultMapping) -> tuple[TargetHit, ...]:
    """The results of an answer. TargetError if it does not have the shape of the mapping."""
    if mapping.form is AnswerForm.TEXT:
        return linked_results(answer if isinstance(answer, str) else _dumped(answer))
    answer = parsed(answer)
    items = items_at(answer, mapping.items or "")
    if items is None and says_nothing_found(answer):
        return ()
    if items is None:
        place = f"at {mapping.items}" if mapping.items else "in the answer"
        raise TargetError(f"there is no list {place}; the answer was {in_brief(answer)}")
    hits = tuple(_hit(item, mapping) for item in items)
    if hits and not any(hit.name or hit.text for hit in hits):
        keys = ", ".join(dict.fromkeys(key for keys in mapping.keys.values() for key in keys))
        raise TargetError(
            f"none of the {len(hits)} results has a value at {keys}; the first was "
            f"{in_brief(_dumped(items[0]))}"
        )
    return hits


def _hit(item: Item, mapping: ResultMapping) -> TargetHit:
    payload = dict(item)
    keys = PayloadMapping(mapping.keys)
    section = value_of(payload, keys, Role.SECTION)
    steps = section if isinstance(section, tuple) else _BREADCRUMB.split(str(section or ""))
    url = text_in(payload, keys, Role.URL).strip()
    identity = text_in(payload, keys, Role.ID) or text_in(payload, keys, Role.DOCUMENT)
    return TargetHit(
        id=identity.strip(),
        url=url,
        source_path=text_in(payload, keys, Role.SOURCE_PATH).strip(),
        title=text_in(payload, keys, Role.TITLE).strip(),
        headings=tuple(str(step) for step in steps if not is_missing(step)),
        text=text_in(payload, keys, Role.TEXT),
        score=number_at(payload, mapping.score),
        similarity=_similarity(number_at(payload, mapping.similarity)),
    )


def number_at(item: Item, path: str) -> float | None:
    value: Leaf | None = read(item, path) if path else None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if is_number(value) else None  # type: ignore[arg-type]


def _similarity(value: float | None) -> float | None:
    return value if value is not None and 0 <= value <= 1 else None


# --- text -------------------------------------------------------------------------------------


def parsed(answer: JsonValue) -> JsonValue:
    """JSON in a string, decoded; any other value unchanged."""
    if isinstance(answer, str) and answer.lstrip()[:1] in {"{", "["}:
        try:
            decoded: JsonValue = json.loads(answer)
        except (ValueError, RecursionError):
            return answer
        return decoded
    return answer


def linked_results(text: str) -> tuple[TargetHit, ...]:
    """A result for each distinct link: those after a label such as `Source:` if there are any.

    The text of a result begins after its link, or before it if the links come last.
    """
    found = [(match.start(), match.end(), match[1]) for match in _LABELLED.finditer(text)]
    if not found:
        found = [(match.start(), match.end(), match[0]) for match in _LINK.finditer(text)]
    if not found and text.strip() and not says_nothing_found(text):
        raise TargetError(f"the answer has no links; it was {in_brief(text)}")
    starts = [start for start, _, _ in found]
    ends = [*starts[1:], len(text)]
    leads = (
        not text[: starts[0]].strip() or len(text[found[-1][1] :].strip()) > 0 if found else True
    )
    hits: dict[str, TargetHit] = {}
    for number, (_, end, link) in enumerate(found):
        name = link.rstrip(".,;:!?)*_")
        before = text[found[number - 1][1] if number else 0 : starts[number]]
        passage = (text[end : ends[number]] if leads else before).strip()
        if name in hits:
            held = hits[name]
            hits[name] = replace(held, text=f"{held.text}\n{passage}".strip())
        elif is_url(name) or name.startswith("/"):
            hits[name] = TargetHit(url=name, text=passage)
        else:
            hits[name] = TargetHit(source_path=name, text=passage)
    return tuple(hits.values())[:MAX_RESULTS]


def says_nothing_found(answer: JsonValue) -> bool:
    """Whether a short remark says that there are no results, rather than that something failed."""
    remark = answer if isinstance(answer, str) else ""
    return 0 < len(remark) <= _LONGEST_REMARK and _NOTHING.search(remark) is not None


def in_brief(answer: JsonValue) -> str:
    shown = " ".join((answer if isinstance(answer, str) else _dumped(answer)).split())
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
