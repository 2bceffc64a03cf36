"""The YAML block that may open a Markdown page."""

import re
from collections.abc import Mapping

import yaml

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def split_front_matter(text: str) -> tuple[Mapping[str, object], str]:
    """(front matter, body). What opens like front matter and is none belongs to the body."""
    match = _BLOCK.match(text)
    if match is None:
        return {}, text
    try:
        values = yaml.safe_load(match.group(1))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    if values is None:
        values = {}
    if not isinstance(values, dict):
        return {}, text
    return {str(key): value for key, value in values.items()}, text[match.end() :]
