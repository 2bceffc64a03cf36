"""Target files: how to reach a target and read its answers, in YAML.

The file can be written by hand, or saved after the mapping of the results was inferred.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import decoded
from surefind.evaluation.golden.located_values import LocatedValue, read_yaml
from surefind.model import AnswerForm, ResultMapping, Role, TargetSpec

MAX_CONCURRENCY = 64
MAX_TIMEOUT_S = 600
MAX_RETRIES = 10
_KEYS = (
    "target",
    "name",
    "method",
    "headers",
    "body",
    "tool",
    "arguments",
    "results",
    "timeout_s",
    "retries",
    "concurrency",
    "requests_per_second",
)
ROLES = (
    Role.URL,
    Role.SOURCE_PATH,
    Role.ID,
    Role.DOCUMENT,
    Role.TITLE,
    Role.SECTION,
    Role.TEXT,
)
_RESULTS = ("form", "items", *(role.value for role in ROLES), "score", "similarity")
_METHODS = ("GET", "POST")


def read_target(source: str, content: bytes) -> TargetSpec:
    """InputError with the line for an unknown key or a value that can't be used."""
    root = read_yaml(source, decoded(source, content))
    if root is None:
        raise InputError(f"{source} is empty; a target file needs `target`")
    values = root.mapping("a target file", _KEYS)
    if "target" not in values:
        root.refuse("`target` is missing; write for example target: https://host/search")
    method = values["method"].text("method").upper() if "method" in values else ""
    if method and method not in _METHODS:
        values["method"].refuse(f"method must be one of {', '.join(_METHODS)}, not {method}")
    return TargetSpec(
        address=values["target"].text("target"),
        name=values["name"].text("name") if "name" in values else "",
        method=method,
        headers=_headers(values.get("headers")),
        body=values["body"].plain if "body" in values else None,
        tool=values["tool"].text("tool") if "tool" in values else "",
        arguments={name: one.plain for name, one in _inside(values, "arguments").items()},
        results=_mapping(values["results"]) if "results" in values else None,
        timeout_s=_number(values, "timeout_s", 30.0, MAX_TIMEOUT_S),
        retries=values["retries"].whole("retries", 0, MAX_RETRIES) if "retries" in values else 2,
        concurrency=values["concurrency"].whole("concurrency", 1, MAX_CONCURRENCY)
        if "concurrency" in values
        else 4,
        requests_per_second=_number(values, "requests_per_second", 0.0, 1000.0) or None,
    )


def _inside(values: Mapping[str, LocatedValue], key: str) -> Mapping[str, LocatedValue]:
    held = values.get(key)
    if held is None:
        return {}
    if not isinstance(held.value, Mapping):
        held.refuse(f"{key} must be a mapping, not {held.kind}")
    return held.value


def _headers(held: LocatedValue | None) -> Mapping[str, str]:
    if held is None:
        return {}
    headers: dict[str, str] = {}
    for name, one in _inside({"headers": held}, "headers").items():
        text = one.text(f"the header {name}")
        if not text.isprintable() or not name.isascii() or not name.isprintable():
            one.refuse(f"the header {name} must be one line of printable characters")
        headers[name] = text
    return headers


def _number(values: Mapping[str, LocatedValue], key: str, default: float, highest: float) -> float:
    held = values.get(key)
    if held is None:
        return default
    value = held.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        held.refuse(f"{key} must be a number, not {held.kind}")
    if not 0 < value <= highest:
        held.refuse(f"{key} must be above 0 and at most {highest:g}, not {held.written}")
    return float(value)


def _mapping(held: LocatedValue) -> ResultMapping:
    values = held.mapping("results", _RESULTS)
    form = AnswerForm.JSON
    if "form" in values:
        name = values["form"].text("form")
        if name not in set(AnswerForm):
            values["form"].refuse(f"form must be one of {', '.join(AnswerForm)}, not {name!r}")
        form = AnswerForm(name)
    keys = {role: _paths(values[role.value], role.value) for role in ROLES if role.value in values}
    return ResultMapping(
        form,
        _optional(values, "items") if "items" in values else None,
        keys,
        _optional(values, "score") or _optional(values, "similarity"),
        _optional(values, "similarity"),
    )


def _optional(values: Mapping[str, LocatedValue], key: str) -> str:
    held = values.get(key)
    return "" if held is None or held.value in {None, ""} else held.text(key)


def _paths(held: LocatedValue, key: str) -> tuple[str, ...]:
    if isinstance(held.value, tuple):
        return tuple(one.text(key) for one in held.value)
    return (held.text(key),)


def target_text(spec: TargetSpec) -> str:
    """The file of a target. Values that have their default are left out."""
    default = TargetSpec(spec.address)
    values: dict[str, object] = {"target": spec.address}
    for key in _KEYS[1:]:
        held = getattr(spec, key)
        if key != "results" and held != getattr(default, key):
            values[key] = dict(held) if isinstance(held, Mapping) else held
    if spec.results is not None:
        values["results"] = _results(spec.results)
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    return text


def _results(mapping: ResultMapping) -> dict[str, object]:
    if mapping.form is AnswerForm.TEXT:
        return {"form": mapping.form.value}
    values: dict[str, object] = {"items": mapping.items or ""}
    for role, keys in mapping.keys.items():
        values[role.value] = keys[0] if len(keys) == 1 else list(keys)
    if mapping.score:
        values["score"] = mapping.score
    if mapping.similarity:
        values["similarity"] = mapping.similarity
    return values
