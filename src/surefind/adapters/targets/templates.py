"""Fills the question, the number of results and environment variables into a request."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from surefind.errors import InputError
from surefind.model import JsonValue, TargetQuery

_PLACE = re.compile(r"\{(query|top_k)\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def filled(template: JsonValue, query: TargetQuery) -> JsonValue:
    """A string that is only `{top_k}` becomes a number."""
    if isinstance(template, dict):
        return {key: filled(value, query) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, query) for value in template]
    if template == "{top_k}":
        return query.top_k
    if isinstance(template, str):
        values = {"query": query.text, "top_k": str(query.top_k)}
        return _PLACE.sub(lambda match: values[match[1]], template)
    return template


def filled_url(template: str, query: TargetQuery) -> str:
    values = {"query": quote(query.text, safe=""), "top_k": str(query.top_k)}
    return _PLACE.sub(lambda match: values[match[1]], template)


def has_place(template: JsonValue, name: str) -> bool:
    if isinstance(template, dict):
        return any(has_place(value, name) for value in template.values())
    if isinstance(template, list):
        return any(has_place(value, name) for value in template)
    return isinstance(template, str) and f"{{{name}}}" in template


def expanded(template: JsonValue, environment: Mapping[str, str]) -> JsonValue:
    """Replace `${NAME}` by the environment variable. InputError if it is not set."""
    if isinstance(template, dict):
        return {key: expanded(value, environment) for key, value in template.items()}
    if isinstance(template, list):
        return [expanded(value, environment) for value in template]
    if not isinstance(template, str):
        return template

    def value_of(match: re.Match[str]) -> str:
        value = environment.get(match[1])
        if not value:
            raise InputError(
                f"the target needs the environment variable {match[1]}, which is not set"
            )
        return value

    return _VARIABLE.sub(value_of, template)


def expanded_headers(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers.items():
        text = str(expanded(value, environment)).strip()
        if not text.isprintable() or not text.isascii():
            raise InputError(
                f"the header {name} of the target must be one line of printable ASCII characters"
            )
        found[name] = text
    return found
