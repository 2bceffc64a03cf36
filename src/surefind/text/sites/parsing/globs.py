"""Globs that site configurations use to include and exclude pages."""

import re

_MAX_LENGTH = 200  # longer globs, or those with more stars, could be slow to match
_MAX_STARS = 12
_PART = re.compile(r"\*\*/|\*\*+|\*|\?|\{[^{}]*\}|\[!?[^\]\[\\]+\]|.", re.DOTALL)


def glob_expression(pattern: str, *, braces: bool) -> str | None:
    """The regular expression of a glob, without anchors; None if it is not supported."""
    if len(pattern) > _MAX_LENGTH or pattern.count("*") > _MAX_STARS:
        return None
    # `a/**` is everything below `a`; `**/` is any number of folders.
    expression = "".join(_part_expression(part, braces=braces) for part in _PART.findall(pattern))
    try:
        re.compile(expression)
    except re.error:  # a reversed range
        return None
    return expression


def _part_expression(part: str, *, braces: bool) -> str:
    if part == "**/":
        return "(?:.*/)?"
    if part.startswith("*"):
        return "[^/]*" if part == "*" else ".*"
    if part == "?":
        return "[^/]"
    if len(part) > 1 and part[0] == "[":
        return f"[^/{part[2:]}" if part[1] == "!" else part.replace("[^", r"[\^")
    if braces and len(part) > 1:
        choices = part[1:-1].split(",")
        return f"(?:{'|'.join(_brace_choice(choice) for choice in choices)})"
    return re.escape(part)


def _brace_choice(choice: str) -> str:
    return "".join(_part_expression(part, braces=False) for part in _PART.findall(choice))
