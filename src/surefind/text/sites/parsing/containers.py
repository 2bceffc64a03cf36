"""Containers such as `::: tip Title` become a line with their label, and their content stays.

Also alerts such as `> [!NOTE]`. Code is unchanged.
"""

import re
from collections.abc import Callable

_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_OPENING = re.compile(
    r"([ \t>]*):{3,}[ \t]*([a-z][\w-]*)(?:\[(.*?)\])?[ \t]*(?:\{[^{}]*\})?[ \t]*(.*?)[ \t]*"
    r"(?:\{[^{}]*\})?$",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"[ \t>]*:{3,}[ \t]*$")
_ALERT = re.compile(r"([ \t]*(?:>[ \t]?)+)\[!([a-z][\w-]*)\][+-]?[ \t]*(.*)$", re.IGNORECASE)
_UNLABELLED = {"code-group", "raw", "v-pre", "tabs", "tab", "steps"}
LineRule = Callable[[str], str | None]
"""A line as it is read; None drops it."""


def without_containers(text: str, rule: LineRule = str, *, colons: bool = True) -> str:
    """`rule` is applied to the lines outside of code; without `colons`, only alerts count."""
    done: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line) if "`" in line or "~" in line else None
        if fence:
            done.append(line)
            words = line.strip(" \t>")
            if words.startswith(fence) and not words.strip(fence[0]):
                fence = ""
        elif mark is not None:
            fence = mark[1]
            done.append(line)
        else:
            done += _shown(line, rule, colons=colons)
    return "\n".join(done)


def _shown(line: str, rule: LineRule, *, colons: bool) -> list[str]:
    if colons and ":::" in line:
        opening = _OPENING.match(line)
        if opening is not None:
            label = _label(opening[2], (opening[3] or opening[4] or "").strip())
            return [opening[1].rstrip(), f"{opening[1]}{label}", opening[1].rstrip()]
        if _CLOSING.match(line):
            return [line.partition(":::")[0].rstrip()]
    if "[!" in line:
        alert = _ALERT.match(line)
        if alert is not None:
            return [f"{alert[1]}{_label(alert[2], alert[3].strip())}", alert[1].rstrip()]
    shown = rule(line)
    return [] if shown is None else [shown]


def _label(kind: str, title: str) -> str:
    """`Warning: Title`, as in other sites' admonitions."""
    kind = "" if kind.lower() in _UNLABELLED else kind.replace("-", " ").capitalize()
    return ": ".join(filter(None, dict.fromkeys((kind, title))))
