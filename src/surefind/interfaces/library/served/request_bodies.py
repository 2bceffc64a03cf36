"""A search as the body of a request."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from surefind.errors import InputError
from surefind.model import AUTO_LANGUAGE, AnyOf, Between, Condition, Query, Under

_FIELDS = (
    "top_k",
    "threshold",
    "mode",
    "group_by",
    "group_size",
    "diversity",
    "collapse",
    "expand",
    "neighbours",
    "max_tokens",
    "rerank",
    "highlight",
)


def search_body(query: Query, collection: str | None) -> dict[str, object]:
    """Everything but the text. Without a collection, the server uses its own."""
    body: dict[str, object] = {name: getattr(query, name) for name in _FIELDS}
    body["where"] = where_body(query.where)
    # An older server does not know these.
    if query.language != AUTO_LANGUAGE:
        body["language"] = query.language
    if query.history:
        body["history"] = [{"role": turn.role, "content": turn.text} for turn in query.history]
    if query.also_in:
        body["collections"] = list(query.collections)
    elif collection is not None:
        body["collection"] = collection
    return body


def where_body(conditions: Iterable[Condition]) -> dict[str, dict[str, Any]]:
    """Conditions by field and operator; InputError if one can't be combined with another."""
    body: dict[str, dict[str, Any]] = {}
    for condition in conditions:
        operators = body.setdefault(condition.key, {})
        for name, value in _operators(condition).items():
            if name in operators:
                raise InputError(
                    f"where: {condition.key} has two conditions of the same kind ({name}); a "
                    "server takes one, so combine them"
                )
            operators[name] = value
    return body


def _operators(condition: Condition) -> dict[str, Any]:
    match condition:
        case AnyOf(values=values, exclude=exclude):
            return {"not" if exclude else "any": list(values)}
        case Under(path=path):
            return {"under": path}
        case Between():
            bounds = {name: getattr(condition, name) for name in ("gte", "gt", "lte", "lt")}
            return {
                name: bound.isoformat() if isinstance(bound, datetime) else bound
                for name, bound in bounds.items()
                if bound is not None
            }
