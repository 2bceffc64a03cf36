"""Renders a whole page in sections with anchors, and marks one of its passages."""

import bisect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from surefind.interfaces.rendering.elements import Element, Nodes, text_of
from surefind.interfaces.rendering.rendered_markdown import Resolve, render
from surefind.text.markdown.blocks import outline

_HEADING = re.compile(r"h[1-6]")


@dataclass(frozen=True, slots=True)
class PassageAnchor:
    """An anchor that the collection knows; `start` is the offset of its passage in the page."""

    name: str
    title: str
    start: int


def rendered_page(
    text: str,
    anchors: Sequence[PassageAnchor],
    resolve: Resolve,
    passage: tuple[int, int] | None = None,
) -> Nodes:
    """One `section` per heading. The blocks of `passage`, (start, end), have the class `found`."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    names = _names(text, anchors, starts)
    nodes = render(text, resolve)
    if passage is not None:
        first, last = (bisect.bisect_right(starts, offset) - 1 for offset in passage)
        nodes = tuple(_found(node, first, last) for node in nodes)
    return tuple(_sections(nodes, names))


def _names(text: str, anchors: Sequence[PassageAnchor], starts: Sequence[int]) -> dict[int, str]:
    """The anchor of each heading, by line: the collection's own, or GitHub's."""
    headings = outline(text).headings
    lines = [bisect.bisect_right(starts, heading.start) - 1 for heading in headings]
    names = dict(zip(lines, (heading.anchor for heading in headings), strict=True))
    first_uses = {anchor.name: anchor for anchor in reversed(anchors) if anchor.name}
    for anchor in first_uses.values():
        for heading, line in zip(headings, lines, strict=True):
            if heading.start >= anchor.start and heading.title == anchor.title:
                names[line] = anchor.name
                break
    return names


def _found(node: Element | str, first: int, last: int) -> Element | str:
    if isinstance(node, str) or node.line is None or not first <= node.line <= last:
        return node
    classes = " ".join(filter(None, (node.attributes.get("class"), "found")))
    return Element(node.tag, node.nodes, {**node.attributes, "class": classes}, node.line)


def _sections(nodes: Iterable[Element | str], names: dict[int, str]) -> Iterable[Element]:
    used: set[str] = set()
    name, inside = "", list[Element | str]()
    for node in nodes:
        if isinstance(node, Element) and _HEADING.fullmatch(node.tag):
            if inside:
                yield _section(name, inside)
            name, inside = "", []
            named = names.get(node.line, "") if node.line is not None else ""
            if named and named not in used and text_of(node.nodes).strip():
                used.add(named)
                name = named
        inside.append(node)
    if inside:
        yield _section(name, inside)


def _section(name: str, nodes: Sequence[Element | str]) -> Element:
    return Element("section", tuple(nodes), {"id": name} if name else {})
