"""Renders one passage, which may begin in the middle of a code block or a table."""

import re

from surefind.interfaces.rendering.elements import Element, Nodes, text_of
from surefind.interfaces.rendering.rendered_markdown import render
from surefind.text.html.to_markdown import readable

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\||$)")
_HEADING = re.compile(r"h[1-6]")


def rendered_passage(text: str, breadcrumb: str = "", content_type: str = "") -> Nodes:
    """Without the headings at its beginning, which the breadcrumb repeats."""
    source = _with_opening(readable(text), content_type)
    nodes = render(source)
    titles = {_squeezed(title) for title in breadcrumb.split(" > ")}
    first = 0
    while first < len(nodes) and _repeats(nodes[first], titles):
        first += 1
    return nodes[first:] if first < len(nodes) else nodes


def _repeats(node: Element | str, titles: set[str]) -> bool:
    return (
        isinstance(node, Element)
        and _HEADING.fullmatch(node.tag) is not None
        and _squeezed(text_of(node.nodes)) in titles
    )


def _squeezed(title: str) -> str:
    return " ".join(title.split()).casefold()


def _with_opening(text: str, content_type: str) -> str:
    """Add the opening of a code block or the head of a table that an earlier passage has."""
    fences = _FENCE.findall(text)
    if fences:
        marks, info = fences[0]
        begins_inside = len(fences) % 2 == 1 and not info.strip()
        return f"{marks}\n{text}" if begins_inside else text
    if content_type == "code":
        longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
        marks = "`" * max(3, longest + 1)
        return f"{marks}\n{text}\n{marks}"
    lines = text.lstrip("\n").split("\n", 2)
    if lines[0].lstrip().startswith("|") and not any(map(_TABLE_RULE.match, lines[1:2])):
        columns = max(1, lines[0].strip().strip("|").count("|") + 1)
        return "\n".join(("| " * columns + "|", "|---" * columns + "|", text.lstrip("\n")))
    return text
